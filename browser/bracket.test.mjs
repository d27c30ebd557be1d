// The bracket of a knockout and of a double elimination: live, in the replay, in the report.

import assert from 'node:assert/strict';

import { assertFits, findings } from './support/judging.mjs';
import { played, standings } from './support/leagues.mjs';
import { managed } from './support/players.mjs';
import { over } from './support/reading.mjs';
import { controls, held } from './support/replaying.mjs';
import { reported, served } from './support/sites.mjs';
import { scene } from './support/scene.mjs';

const ties = (page) => page.locator('#bracket li.tie:not(.bye, .none)');
const stage = (page, name) => page.locator(`#bracket ol[aria-label="${name}"]`);

/** The name of the player that goes on from the first tie of a stage. */
const winner = (page, name) => stage(page, name).locator('.won .who').first().innerText();

scene('a bracket of nine has a box for each tie, and rests for the first seeds', async (scenery) => {
  const root = await played(scenery, '--players', '9', '--format', 'knockout', '--legs', '3', '--game', 'tic_tac_toe', '--seed', '7');
  const page = await scenery.visit((await served(scenery, root))());
  assert.equal(await ties(page).count(), 9, 'all but one lose a tie, and two play for the third place');
  assert.equal(await page.locator('#bracket li.tie.over').count(), 9);
  assert.equal(await page.locator('#bracket li.bye').count(), 7);
  const [first, second, third] = standings(root).map((row) => row.display_name);
  assert.equal(await winner(page, 'Final'), first);
  assert.deepEqual((await stage(page, 'Final').locator('.who').allInnerTexts()).sort(), [first, second].sort());
  assert.equal(await winner(page, 'Third place'), third);

  const game = stage(page, 'Final').getByRole('link').first();
  const [, match] = (await game.getAttribute('href')).split('match/');
  await game.click();
  await page.getByRole('heading', { level: 1 }).waitFor();
  assert.ok(page.url().endsWith(match));
});

scene('a double elimination has two brackets and a grand final', async (scenery) => {
  const root = await played(scenery, '--players', '6', '--format', 'double_elimination', '--seed', '7');
  const at = await served(scenery, root);
  const page = await scenery.visit(at(), { viewport: { width: 390, height: 844 } });
  const parts = await page.locator('#bracket h3').allInnerTexts();
  assert.deepEqual(parts, ['Winners’ bracket', 'Losers’ bracket', 'Grand final']);
  const [first] = standings(root).map((row) => row.display_name);
  const last = page.getByRole('region', { name: 'Grand final' }).locator('.won .who').last();
  assert.equal(await last.innerText(), first);

  await assertFits(page, 'the bracket on a phone');
  const box = page.getByRole('region', { name: 'Winners’ bracket' });
  await box.focus();
  await page.keyboard.press('ArrowRight');
  await page.waitForFunction((scrolled) => scrolled.scrollLeft > 0, await box.elementHandle());
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await findings(page), [], colorScheme);
  }

  const silent = await scenery.visit(at(), { javaScriptEnabled: false });
  assert.equal(await ties(silent).count(), await ties(page).count());
});

scene('open ties say whom they wait for, in a league that runs and in its replay', async (scenery) => {
  const names = ['Ada', 'Bela', 'Cleo', 'Dora', 'Edda'];
  let release;
  const until = new Promise((resolve) => { release = resolve; });
  const words = ['--players', '5', '--referees', '1', '--format', 'knockout'];
  const { root, endpoint, site } = await managed(scenery, { names, words, thinks: () => until });
  const page = await scenery.visit(site);
  scenery.start('referee', '--port', '0', '--manager', endpoint, '--root', root);
  const semifinal = stage(page, 'Semi-finals').locator('li').first();
  await semifinal.getByText('winner of 1').waitFor();
  await semifinal.getByText('Ada').waitFor();
  await stage(page, 'Third place').getByText('loser of 3').waitFor();
  await stage(page, 'Quarter-finals').getByRole('link', { name: 'R1M1: …' }).focus();
  release();

  await over(page);
  const focused = await page.evaluate(() => document.activeElement.getAttribute('href'));
  assert.ok(focused?.endsWith('/R1M1'), 'a link keeps the focus when the bracket is drawn anew');
  assert.equal(await page.locator('#bracket .awaited').count(), 0);
  await held(page);
  assert.equal(await ties(page).count(), 5);
  assert.equal(await page.locator('#bracket .won').count(), 0);
  await semifinal.getByText('winner of 1').waitFor();
  await controls(page).moment.press('End');
  await page.locator('#bracket .awaited').first().waitFor({ state: 'detached' });
});

scene('a report has the bracket too', async (scenery) => {
  const root = await played(scenery, '--players', '4', '--format', 'knockout', '--seed', '7');
  const page = await scenery.visit(await reported(scenery, root));
  assert.equal(await winner(page, 'Final'), standings(root)[0].display_name);
  const game = stage(page, 'Final').getByRole('link').first();
  const match = page.locator(await game.getAttribute('href'));
  await game.click();
  await match.waitFor();
});
