// The page of the organiser, and what viewers see of it; the page of a season.

import assert from 'node:assert/strict';

import { assertFits, findings } from './support/judging.mjs';
import { managed } from './support/players.mjs';
import { playedAtLeast, slide } from './support/reading.mjs';
import { scene } from './support/scene.mjs';

const WIDTHS = [390, 1280, 1920];

/** Presses a key until an element has the focus. */
async function focused(page, element, key = 'Tab') {
  const has = () => element.evaluate((one) => one === document.activeElement);
  for (let presses = 0; !(await has()); presses += 1) {
    assert.ok(presses < 200, `${element} never has the focus`);
    await page.keyboard.press(key);
  }
}

async function assertOpenToAll(page, name) {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await findings(page), [], `${name}, ${colorScheme}`);
  }
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    await assertFits(page, name);
  }
}

scene('the organiser logs in with the key, pauses by keyboard alone, and all see it', async (stage) => {
  const names = ['Ada', 'Bela', 'שלום עולם', 'Dora'];
  const words = ['--players', '4', '--referees', '1', '--round-every', '20m'];
  const { root, endpoint, site } = await managed(stage, { names, words });
  const board = await stage.visit(site);
  stage.start('referee', '--port', '0', '--manager', endpoint, '--root', root);
  await playedAtLeast(board, 2);
  const next = board.locator('#progress .facts > div').filter({ hasText: 'Next round' });
  await next.getByText(/^in 1\d min \d+ s$/).waitFor();
  const projector = await stage.visit(`${site}stage`);
  await slide(projector, 'next');
  await projector.locator('#slide-next .lead').getByText(/^in 1\d min/).waitFor();

  const key = (await stage.start('admin', 'key', '-q', '--manager', endpoint, '--root', root).succeeds()).trim();
  const page = await stage.visit(`${site}admin`, { forgiven: /403/ });
  await assertOpenToAll(page, 'the login');
  await focused(page, page.getByLabel('Key'));
  await page.keyboard.type(`${key}0`);
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('not the key').waitFor();
  await focused(page, page.getByLabel('Key'));
  await page.keyboard.type(key);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Levers' }).waitFor();
  await page.getByText('Being played', { exact: true }).waitFor();
  assert.equal(await page.locator('#touch').textContent(), '', 'it does not claim to be live or final');
  await assertOpenToAll(page, 'the levers');

  const pause = page.locator('details.lever').filter({ has: page.getByText('Pause', { exact: true }) }).first();
  await focused(page, pause.locator('summary'));
  await page.keyboard.press('Enter');
  await focused(page, pause.getByLabel('Reason'));
  await page.keyboard.type('lunch & rest');
  await page.keyboard.press('Enter');
  await page.getByRole('status').getByText(/pause/).waitFor();
  await page.getByText('Being played, paused').waitFor();
  const idle = page.locator('.idle > div').filter({ hasText: 'the league is already paused' });
  assert.equal(await idle.locator('dt').textContent(), 'Pause');
  assert.equal(await pause.count(), 0, 'a lever that does nothing is not offered');
  await board.locator('#summary').getByText('paused by the organiser').waitFor();
  await board.locator('details.acts summary').click();
  await board.locator('details.acts').getByText('lunch & rest').waitFor();
  await next.waitFor({ state: 'detached' });
  await projector.locator('#slide-next .lead').getByText('when the organiser goes on').waitFor();

  await page.getByRole('button', { name: 'Log out' }).click();
  await page.goto(`${site}admin`);
  await page.getByLabel('Key').waitFor();
});

scene('the season shows every player, open to all', async (stage) => {
  const names = ['Ada', 'שלום עולם', 'A player with a rather long name'];
  const { site } = await managed(stage, { names, words: ['--players', '4'] });
  const page = await stage.visit(site);
  await page.getByRole('link', { name: 'Season' }).click();
  const table = page.getByRole('region', { name: 'All-time table' });
  assert.deepEqual((await table.locator('tbody bdi').allTextContents()).sort(), [...names].sort());
  assert.equal(await page.locator('#touch').textContent(), '');
  await assertOpenToAll(page, 'the season');
});
