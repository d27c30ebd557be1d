// The rounds of a Swiss tournament in score groups, and ratings with their intervals.

import assert from 'node:assert/strict';

import { assertFits, findings } from './support/judging.mjs';
import { match, matches, played, standings } from './support/leagues.mjs';
import { controls, held } from './support/replaying.mjs';
import { reported, served } from './support/sites.mjs';
import { scene } from './support/scene.mjs';

const rows = (page) => page.locator('#score-rows tr[id^="score-P"]');
const groups = (page) => page.locator('#score-rows tr.group');

scene('each player has a row in its score group, with a cell for each round', async (stage) => {
  const root = await played(stage, '--players', '9', '--format', 'swiss', '--seed', '7');
  const page = await stage.visit((await served(stage, root))());
  const table = standings(root);
  const ids = await rows(page).evaluateAll((all) => all.map((row) => row.id.replace('score-', '')));
  assert.deepEqual(ids, table.map((row) => row.player_id));
  const points = [...new Set(table.map((row) => row.points))];
  const heads = await groups(page).allInnerTexts();
  assert.deepEqual(heads.map((text) => Number.parseInt(text, 10)), points);
  assert.equal(await page.locator('#cross-rows').isVisible(), false, 'who met whom is in the rounds');

  for (const id of matches(root).slice(0, 6)) {
    const { result } = match(root, id);
    for (const player of Object.keys(result.score)) {
      const cell = page.locator(`#score-${player} a[href$="/${id}"]`);
      const letter = await cell.locator('b').innerText();
      assert.equal(letter, { 3: 'W', 1: 'D', 0: 'L' }[result.score[player]], `${player} in ${id}`);
    }
  }
  const last = await rows(page).first().locator('.after').last().innerText();
  assert.equal(Number(last), table[0].points);
  const rests = table.filter((row) => row.byes > 0).length;
  assert.equal(await page.locator('#score-rows .bye').count(), rests);
});

scene('score groups and ratings are for everyone, and stay in their boxes on a phone', async (stage) => {
  const root = await played(stage, '--players', '6', '--format', 'swiss', '--seed', '7');
  const page = await stage.visit((await served(stage, root))(), { viewport: { width: 390, height: 844 } });
  await assertFits(page, 'a Swiss tournament');
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await findings(page), [], colorScheme);
  }
  await held(page);
  assert.equal(await groups(page).count(), 1, 'at the beginning all have the same points');
  assert.equal(await page.locator('#rating-rows').isVisible(), false);
  await controls(page).moment.press('End');
  assert.ok((await groups(page).count()) > 1);
  await page.locator('#rating-rows').waitFor();
});

scene('the interval of each player is drawn on one scale', async (stage) => {
  const root = await played(stage, '--players', '4', '--legs', '4', '--seed', '7');
  for (const address of [(await served(stage, root))(), await reported(stage, root)]) {
    const page = await stage.visit(address);
    const drawn = page.locator('#rating-rows tr');
    assert.equal(await drawn.count(), 4);
    const places = await drawn.evaluateAll((all) => all.map((row) => {
      const [low, high] = ['x1', 'x2'].map((name) => Number.parseFloat(row.querySelector('.span').getAttribute(name)));
      const { left } = row.querySelector('circle').getBoundingClientRect();
      return { low, high, left, elo: Number(row.querySelector('b').textContent.replace('−', '-')) };
    }));
    for (const [index, { low, high, left, elo }] of places.entries()) {
      assert.ok(low >= 0 && low < high && high <= 100, `${low} to ${high}`);
      const next = places[index + 1];
      if (next) assert.ok(elo >= next.elo && left >= next.left, 'the stronger stands above and to the right');
    }
  }
});
