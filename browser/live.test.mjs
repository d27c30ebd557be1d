// A league that is being played, as people watch it.

import assert from 'node:assert/strict';

import { matches } from './support/leagues.mjs';
import {
  assertFinalTable,
  notes,
  over,
  pageOf,
  playedAtLeast,
  table,
  takeNotes,
} from './support/reading.mjs';
import { scene } from './support/stage.mjs';

/** Six players, 15 matches in 5 rounds, slowly enough to be seen. */
const LEAGUE = ['run', '--players', '6', '--referees', '2', '--seed', '7', '--ports', 'auto'];
const SLOWLY = ['--pace', '400ms'];

/** What a browser says of a server that is gone. */
const GONE = /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY/;

scene('a league is watched live to its last match', async (stage) => {
  const root = stage.folder();
  const league = stage.start(...LEAGUE, ...SLOWLY, '--web', '--root', root);
  const page = await stage.visit(await pageOf(league));
  await takeNotes(page);
  await page.getByRole('heading', { name: 'Even/Odd League' }).waitFor();
  await page.getByRole('heading', { name: 'Standings' }).waitFor();
  await page.waitForFunction(() => document.querySelectorAll('#standings-rows > tr').length === 6);
  await over(page);

  const seen = await notes(page);
  assert.ok(seen.played.length > 3, `results came one after the other: ${seen.played}`);
  assert.ok(seen.played[0] < 15, 'the page was there before the end');
  assert.equal(seen.played.at(-1), 15);
  assert.ok(seen.tiles.length > 3, `tiles came: ${seen.tiles}`);
  assert.equal(await page.locator('#tiles > *').count(), 0, 'and went');
  assert.ok(seen.texts.length > 3, 'rows changed');
  assert.ok(seen.orders.length > 1, 'rows moved');
  assert.ok(seen.motion > 0, 'and were seen to move');
  const bar = page.getByRole('progressbar', { name: 'Matches played' });
  assert.deepEqual(await bar.evaluate(({ value, max }) => [value, max]), [15, 15]);
  await league.says(/until Ctrl-C/);
  await assertFinalTable(page, root);
  await page.getByText('Holds', { exact: false }).first().waitFor();
});

scene('rows do not glide for people who want no motion', async (stage) => {
  const root = stage.folder();
  const league = stage.start(...LEAGUE, '--pace', '200ms', '--web', '--root', root);
  const page = await stage.visit(await pageOf(league), { reducedMotion: 'reduce' });
  await takeNotes(page);
  await over(page);
  const seen = await notes(page);
  assert.ok(seen.orders.length > 1, 'rows moved');
  assert.equal(seen.motion, 0);
});

scene('a page out of touch says so, comes back by itself and has lost nothing', async (stage) => {
  const root = stage.folder();
  const league = stage.start(...LEAGUE, ...SLOWLY, '--web', '--root', root);
  const address = await pageOf(league);
  const page = await stage.visit(address, { forgiven: GONE });
  await takeNotes(page);
  const touch = page.locator('#touch');
  await playedAtLeast(page, 2);
  assert.equal(await page.locator('body').getAttribute('data-touch'), 'live');

  await league.kill();
  await touch.getByText(/Out of touch since \d\d:\d\d:\d\d/).waitFor();
  assert.equal(await page.locator('body').getAttribute('data-touch'), 'lost');
  assert.equal((await table(page)).length, 6, 'the table is still there');

  const again = stage.start('run', '--resume', ...SLOWLY, '--web', '--root', root);
  assert.equal(await pageOf(again), address, 'it came back at the same address');
  await page.locator('body[data-touch=live]').waitFor();
  await touch.getByText('Out of touch').waitFor({ state: 'detached' });
  await over(page);
  await again.says(/until Ctrl-C/);
  await assertFinalTable(page, root);
  const seen = await notes(page);
  assert.equal(seen.played.at(-1), 15, 'and was never loaded anew');
});

scene('the page of a match tells nothing of it before its end, and all of it then', async (stage) => {
  const root = stage.folder();
  const words = ['--players', '2', '--referees', '1', '--manual', '--ports', 'auto', '--web'];
  const league = stage.start('run', ...words, '--root', root);
  const address = await pageOf(league);
  const [, manager] = await league.says(/manager\s+(http\S+)/);
  const page = await stage.visit(new URL('/match/R1M1', address).href);
  await page.getByText('Nothing is told of a match before it is over.').waitFor();
  for (let step = 0; step < 3; step += 1) {
    assert.equal(await page.locator('.messages details').count(), 0);
    await stage.start('step', 'R1M1', '--manager', manager, '--root', root).succeeds();
  }
  await page.locator('.messages details').first().waitFor();
  await page.getByText(/number was \d+/).first().waitFor();
  await league.says(/until Ctrl-C/);
  assert.deepEqual(matches(root), ['R1M1']);
});
