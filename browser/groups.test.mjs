// Tables of groups with who goes on, and ladders with movement: live, in the replay, in the report.

import assert from 'node:assert/strict';

import { assertFits, findings } from './support/judging.mjs';
import { played, standings } from './support/leagues.mjs';
import { managed } from './support/players.mjs';
import { over } from './support/reading.mjs';
import { controls, held } from './support/replaying.mjs';
import { reported, served } from './support/sites.mjs';
import { scene } from './support/scene.mjs';

const rungs = (page) => page.locator('#ladder-rows li');
const onward = (page) => page.locator('#groups tr.on');

scene('two of each group go on, in the page, its replay and the report', async (stage) => {
  const root = await played(stage, '--players', '6', '--format', 'groups', '--seed', '7');
  const [first] = standings(root).map((row) => row.display_name);
  for (const address of [(await served(stage, root))(), await reported(stage, root)]) {
    const page = await stage.visit(address);
    assert.equal(await page.locator('#groups table').count(), 2);
    assert.equal(await onward(page).count(), 4);
    assert.ok((await onward(page).allInnerTexts()).some((row) => row.includes(first)));
  }
  const page = await stage.visit((await served(stage, root))(), { viewport: { width: 390, height: 844 } });
  await assertFits(page, 'groups on a phone');
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await findings(page), [], colorScheme);
  }
  await held(page);
  assert.equal(await onward(page).count(), 0, 'at the beginning nothing is decided');
  await controls(page).moment.press('End');
  await onward(page).first().waitFor();
});

scene('a ladder has the order of the table, in the page, its replay and the report', async (stage) => {
  const root = await played(stage, '--players', '5', '--format', 'ladder', '--rounds', '4', '--seed', '7');
  const table = standings(root).map((row) => `ladder-${row.player_id}`);
  for (const address of [(await served(stage, root))(), await reported(stage, root)]) {
    const page = await stage.visit(address);
    assert.deepEqual(await rungs(page).evaluateAll((all) => all.map((rung) => rung.id)), table);
  }
  const page = await stage.visit((await served(stage, root))(), { viewport: { width: 390, height: 844 } });
  await assertFits(page, 'a ladder on a phone');
  assert.deepEqual(await findings(page), []);
  await held(page);
  const ids = await rungs(page).evaluateAll((all) => all.map((rung) => rung.id));
  assert.deepEqual(ids, [...ids].sort(), 'the ids are the first order');
  assert.equal(await rungs(page).locator('.stays').count(), 5);
});

scene('a ladder that is played shows who climbed', async (stage) => {
  const names = ['Ada', 'Bela', 'Cleo', 'Dora'];
  let release;
  const until = new Promise((resolve) => { release = resolve; });
  const words = ['--players', '4', '--referees', '1', '--format', 'ladder', '--rounds', '4'];
  const { root, endpoint, site } = await managed(stage, { names, words, thinks: () => until });
  const page = await stage.visit(site);
  stage.start('referee', '--port', '0', '--manager', endpoint, '--root', root);
  await rungs(page).nth(3).waitFor();
  assert.equal(await rungs(page).locator('.stays').count(), 4, 'nobody has climbed yet');
  release();
  await over(page);
  const table = standings(root).map((row) => `ladder-${row.player_id}`);
  await page.waitForFunction((ids) => {
    const shown = [...document.querySelectorAll('#ladder-rows li')].map((rung) => rung.id);
    return JSON.stringify(shown) === JSON.stringify(ids);
  }, table);
});
