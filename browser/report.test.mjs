// A league as one file, opened from the disk.

import assert from 'node:assert/strict';

import { match, matches, played, reason } from './support/leagues.mjs';
import { assertFinalTable } from './support/reading.mjs';
import { reported } from './support/sites.mjs';
import { scene } from './support/scene.mjs';
import { replayed } from './support/replaying.mjs';

scene('one file holds the board, the matches, the check of draws and the replay', async (stage) => {
  const root = await played(stage, '--players', '4', '--seed', '7');
  // Whatever the page asks for besides itself is a complaint, and fails the scene.
  const page = await stage.visit(await reported(stage, root));
  await assertFinalTable(page, root);
  assert.equal(await page.locator('#match-R1M1').isVisible(), false);

  await page.locator('#board a[href="#match-R1M1"]').first().click();
  const shown = page.locator('#match-R1M1');
  await shown.waitFor();
  assert.equal(await page.locator('#board').isVisible(), false, 'one page at a time');
  const { transcript } = match(root, 'R1M1');
  await shown.getByText(reason(root, 'R1M1')).first().waitFor();
  await shown.locator('.draw-verdict.holds').waitFor();
  assert.equal(await shown.locator('.messages details').count(), transcript.length);
  await shown.locator('.messages summary').first().click();
  const said = await shown.locator('.messages pre').first().innerText();
  assert.deepEqual(JSON.parse(said), transcript[0].message);

  await shown.getByRole('link', { name: 'Agent Alpha' }).first().click();
  await page.locator('#player-P01').getByRole('heading', { level: 1 }).waitFor();
  await page.getByRole('link', { name: 'League', exact: true }).click();
  await page.locator('#board').waitFor();
  await replayed(page, root, matches(root).length);
});

scene('a report can be read without a script', async (stage) => {
  const root = await played(stage, '--players', '4');
  const page = await stage.visit(await reported(stage, root), { javaScriptEnabled: false });
  await assertFinalTable(page, root);
  await page.locator('#board a[href="#match-R2M1"]').first().click();
  const shown = page.locator('#match-R2M1');
  await shown.getByText(reason(root, 'R2M1')).first().waitFor();
  await shown.getByText('league export --match R2M1').waitFor();
});

scene('what is packed in a report is shown again after another page, and on the way back', async (stage) => {
  const root = await played(stage, '--players', '4', '--seed', '7');
  const page = await stage.visit(`${await reported(stage, root)}#match-R3M2`);
  const messages = page.locator('#match-R3M2 .messages details');
  await messages.first().waitFor();
  await page.locator('#match-R3M2').getByRole('link', { name: 'Round 3' }).click();
  await page.locator('#round-3').getByRole('link', { name: 'R3M1' }).click();
  await page.locator('#match-R3M1 .messages details').first().waitFor();
  await page.goBack();
  await page.goBack();
  await messages.first().waitFor();
  assert.equal(await messages.count(), match(root, 'R3M2').transcript.length);
});

scene('a report of a board game steps through it', async (stage) => {
  const root = await played(stage, '--players', '3', '--game', 'tic_tac_toe');
  const page = await stage.visit(`${await reported(stage, root)}#match-R1M1`);
  const viewer = page.locator('#match-R1M1 .positions');
  await viewer.getByRole('button', { name: 'First' }).click();
  await viewer.getByRole('button', { name: 'Forward' }).click();
  const grid = viewer.locator('svg.picture').filter({ visible: true });
  assert.equal(await grid.count(), 1);
  const marks = (await grid.locator('.cell text').allTextContents()).join('').trim();
  assert.match(marks.replaceAll(/\s/g, ''), /^[XO✕○×]$/i, 'one move was made');
});
