// A league that is over, played back.

import assert from 'node:assert/strict';

import { played } from './support/leagues.mjs';
import { assertFinalTable } from './support/reading.mjs';
import { controls, held, replayed } from './support/replaying.mjs';
import { served } from './support/sites.mjs';
import { scene } from './support/scene.mjs';

scene('a league is replayed by hand, step by step and in one sweep', async (stage) => {
  const root = await played(stage, '--players', '6', '--seed', '7');
  const page = await stage.visit((await served(stage, root))());
  await replayed(page, root, 15);
});

scene('a replay is no end: neither bar nor verdict say so before it comes there', async (stage) => {
  const root = await played(stage, '--players', '4', '--seed', '7');
  const page = await stage.visit((await served(stage, root))());
  const touch = page.locator('#touch');
  await page.locator('#verdict.holds').waitFor();
  await touch.getByText('Final', { exact: true }).waitFor();
  await held(page);
  await touch.getByText('Replay', { exact: true }).waitFor();
  assert.equal(await page.locator('#verdict').innerText(), '');
  const { forward, close, moment, label } = controls(page);
  await forward.click();
  assert.match(await label.innerText(), /^1 of 6 results · R1M/);
  assert.equal(await page.locator('#verdict').innerText(), '');
  await moment.press('End');
  assert.match(await page.locator('#verdict').innerText(), /^✓ Verified/);
  await close.click();
  await touch.getByText('Final', { exact: true }).waitFor();
});

scene('a replay keeps to the speed that it says', async (stage) => {
  const root = await played(stage, '--players', '6', '--seed', '7');
  const page = await stage.visit((await served(stage, root))());
  await held(page);
  const { play, speed, moment } = controls(page);
  await speed.selectOption('4');
  const began = Date.now();
  await play.click();
  await page.waitForFunction((slider) => Number(slider.value) >= 8, await moment.elementHandle());
  const seconds = (Date.now() - began) / 1_000;
  assert.ok(seconds >= 1.9, `8 results at 4 a second take 2 s, and took ${seconds}`);
});

scene('a replay with more results a moment than the highest speed can be opened again and again', async (stage) => {
  const root = await played(stage, '--players', '4', '--seed', '7');
  const page = await stage.visit((await served(stage, root))());
  // So many results take too long to play; the film is told that it has them.
  await page.route('**/film.json', async (route) => {
    const film = await (await route.fetch()).json();
    for (const frame of film.frames) frame.results *= 10_000;
    await route.fulfill({ json: film });
  });
  const { close, speed, label } = controls(page);
  for (const _ of [1, 2]) {
    await held(page);
    assert.equal(await speed.inputValue(), '4096');
    assert.match(await label.innerText(), /^0 of [\d,]+ results/);
    await close.click();
  }
});

scene('a replay runs by itself to the last result', async (stage) => {
  const root = await played(stage, '--players', '6', '--seed', '7');
  const page = await stage.visit((await served(stage, root))());
  const { open, play, pause, speed, moment } = controls(page);
  await open.click();
  await speed.selectOption('64');
  if (!(await pause.isVisible())) await play.click();
  await page.waitForFunction((slider) => slider.value === slider.max, await moment.elementHandle());
  await assertFinalTable(page, root);
});
