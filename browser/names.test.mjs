// Names and words that would rather be code: shown as text, and never run.

import assert from 'node:assert/strict';

import { MARK, NAMES } from './support/names.mjs';
import { players } from './support/players.mjs';
import { over, pageOf } from './support/reading.mjs';
import { reported, served } from './support/sites.mjs';
import { scene } from './support/stage.mjs';

/** Names that play, so that their words stand in messages: one of each kind. */
const PLAYING = [0, 2, 8, 10, 32, 34, 39, 43].map((index) => NAMES[index]);

/** Has a manager on a free port, with players of these names. */
async function managed(stage, names, ...words) {
  const root = stage.folder();
  const manager = stage.start('manager', '--port', '0', '--root', root, ...words);
  const [endpoint] = await manager.says(/http:\/\/\S+\/mcp/);
  const crowd = await players();
  stage.afterwards(() => crowd.close());
  await crowd.register(endpoint, names);
  return { root, endpoint, site: endpoint.replace(/mcp$/, '') };
}

/** Fails if anything ran; dialogs and requests to elsewhere fail the scene by themselves. */
async function assertNothingRan(page) {
  assert.equal(await page.evaluate((mark) => globalThis[mark], MARK), undefined);
}

/** Points at, focuses and opens all there is, since some code waits for that. */
async function poke(page) {
  for (const link of await page.locator('main a, main summary').all()) {
    if (!(await link.isVisible())) continue;
    await link.hover();
    await link.focus();
  }
}

/** The names in the table of the board. */
function shown(page) {
  return page.locator('#standings-rows th a').allTextContents();
}

scene('fifty hostile names are shown as they are, and none of them runs', async (stage) => {
  const { site, root } = await managed(stage, NAMES, '--players', '0');
  const page = await stage.visit(site);
  await page.waitForFunction(() => document.querySelectorAll('#standings-rows tr').length === 50);
  assert.deepEqual((await shown(page)).sort(), [...NAMES].sort());
  await poke(page);
  await assertNothingRan(page);
  await page.goto(`${site}player/P01`);
  await page.getByRole('heading', { level: 1, name: NAMES[0] }).waitFor();
  await assertNothingRan(page);

  const report = await stage.visit(await reported(stage, root));
  assert.deepEqual((await shown(report)).sort(), [...NAMES].sort());
  await assertNothingRan(report);
});

scene('hostile players play a league, and their words stay words', async (stage) => {
  const count = String(PLAYING.length);
  const words = ['--players', count, '--referees', '1'];
  const { site, endpoint, root } = await managed(stage, PLAYING, ...words);
  const page = await stage.visit(site);
  stage.start('referee', '--port', '0', '--manager', endpoint, '--root', root);
  await over(page);
  assert.deepEqual((await shown(page)).sort(), [...PLAYING].sort());
  await poke(page);
  await assertNothingRan(page);

  await page.goto(`${site}match/R1M1`);
  await page.locator('.messages summary').first().waitFor();
  for (const summary of await page.locator('.messages summary').all()) await summary.click();
  await page.locator('.messages pre').getByText('__pwned=').first().waitFor();
  await assertNothingRan(page);

  const at = await served(stage, root);
  const report = await stage.visit(await reported(stage, root));
  for (const place of [await stage.visit(at()), report]) {
    await place.locator('#replay').getByRole('button', { name: /replay/i }).first().click();
    await place.locator('#replay').getByRole('slider').press('End');
    assert.deepEqual((await shown(place)).sort(), [...PLAYING].sort());
    await assertNothingRan(place);
  }
  await report.locator('#board a[href="#match-R1M1"]').first().click();
  await report.locator('#match-R1M1 .messages summary').first().click();
  await assertNothingRan(report);
});
