// A league that is being played, as people watch it.

import assert from 'node:assert/strict';

import { matches, played } from './support/leagues.mjs';
import { managed } from './support/players.mjs';
import {
  assertFinalTable,
  notes,
  over,
  pageOf,
  playedAtLeast,
  table,
  takeNotes,
} from './support/reading.mjs';
import { controls, held } from './support/replaying.mjs';
import { scene } from './support/scene.mjs';
import { served } from './support/sites.mjs';

/** The steps of a match: ask for the moves, draw the number, let the result stand. */
const STEPS = 3;

/** How often a step is tried that is not due yet. */
const MOST_TRIES = 100;

/** What a browser says of a server that is gone. */
const GONE = /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY/;

/**
 * Plays a league of 15 matches before a page, of which none is decided before it was seen there.
 * Gives the page when the league is over.
 */
async function watched(stage, settings) {
  const names = ['Ada', 'Bela', 'Cleo', 'Dora', 'Edda', 'Fips'];
  const words = ['--players', '6', '--referees', '1', '--seed', '7'];
  let page;
  const thinks = (match) => page.locator(`#tile-${match}`).waitFor();
  const { root, endpoint, site } = await managed(stage, { names, words, thinks });
  page = await stage.visit(site, settings);
  await takeNotes(page);
  assert.equal((await table(page)).length, 6, 'everybody is there before the first match');
  stage.start('referee', '--port', '0', '--manager', endpoint, '--root', root);
  await over(page);
  return { page, root };
}

scene('a league is watched live from its first match to its last', async (stage) => {
  const { page, root } = await watched(stage);
  await page.getByRole('heading', { name: 'Even/Odd League' }).waitFor();
  await page.getByRole('heading', { name: 'Standings' }).waitFor();
  const seen = await notes(page);
  assert.deepEqual([seen.played[0], seen.played.at(-1)], [0, 15]);
  assert.ok(seen.played.length > 4, `results came one after the other: ${seen.played}`);
  assert.equal(seen.tiles.length, 15, 'a tile came for every match');
  assert.equal(await page.locator('#tiles > *').count(), 0, 'and went');
  assert.ok(seen.texts.length > 4, 'rows changed');
  assert.ok(seen.orders.length > 1, 'rows moved');
  assert.ok(seen.motion > 0, 'and were seen to move');
  const bar = page.getByRole('progressbar', { name: 'Matches played' });
  assert.deepEqual(await bar.evaluate(({ value, max }) => [value, max]), [15, 15]);
  await page.locator('#verdict.holds').waitFor();
  await page.locator('#touch').getByText('Final', { exact: true }).waitFor();
  await assertFinalTable(page, root);
});

scene('rows do not glide for people who want no motion', async (stage) => {
  const { page } = await watched(stage, { reducedMotion: 'reduce' });
  const seen = await notes(page);
  assert.ok(seen.orders.length > 1, 'rows moved');
  assert.equal(seen.motion, 0);
});

scene('rows glide when they change places, and not when something comes to stand above them', async (stage) => {
  const page = await stage.visit((await served(stage, await played(stage)))());
  await page.locator('#verdict.holds').waitFor();
  const gliding = await page.evaluate(async () => {
    const { applyPatch } = await import('/assets/patch.js');
    const list = document.getElementById('standings-rows');
    // Only rows that can be seen glide, and the sentences above them are longer in some leagues.
    list.scrollIntoView({ block: 'center' });
    const keys = [...list.children].map((row) => row.id);
    const running = () => [...list.children].filter((row) => row.getAnimations().length > 0).length;
    const verdict = '<p id="verdict" class="verdict holds">All<br>of<br>it<br>holds.</p>';
    applyPatch({ set: { verdict }, lists: { 'standings-rows': keys } }, 60_000);
    const still = running();
    applyPatch({ lists: { 'standings-rows': keys.reverse() } }, 60_000);
    return [still, running(), keys.length];
  });
  assert.equal(gliding[0], 0, 'the list moved as a whole');
  assert.ok(gliding[1] >= gliding[2] - 1, `rows moved: ${gliding}`);
});

scene('a page out of touch says so, comes back by itself and has lost nothing', async (stage) => {
  const root = stage.folder();
  const words = ['--players', '6', '--pace', '2s', '--ports', 'auto', '--web'];
  const league = stage.start('run', ...words, '--root', root);
  const address = await pageOf(league);
  const page = await stage.visit(address, { forgiven: GONE });
  await takeNotes(page);
  const touch = page.locator('#touch');
  await playedAtLeast(page, 2);
  await page.locator('body[data-touch=live]').waitFor();

  await league.kill();
  await touch.getByText(/Out of touch since \d\d:\d\d:\d\d/).waitFor();
  await page.locator('body[data-touch=lost]').waitFor();
  assert.equal((await table(page)).length, 6, 'the table is still there');

  const faster = ['--resume', '--pace', '100ms', '--web'];
  const again = stage.start('run', ...faster, '--root', root);
  assert.equal(await pageOf(again), address, 'it came back at the same address');
  await page.locator('body[data-touch=live]').waitFor();
  await touch.getByText('Out of touch').waitFor({ state: 'detached' });
  await over(page);
  await again.says(/until Ctrl-C/);
  await assertFinalTable(page, root);
  const seen = await notes(page);
  assert.equal(seen.played.at(-1), 15, 'and was never loaded anew');
});

/** Starts a league in which every match waits; `decide` takes one to its end. */
async function stepped(stage, players) {
  const root = stage.folder();
  const words = ['--players', String(players), '--referees', '1', '--manual', '--web'];
  const league = stage.start('run', ...words, '--ports', 'auto', '--root', root);
  const site = await pageOf(league);
  const [, manager] = await league.says(/manager\s+(http\S+)/);
  const step = async (match) => {
    for (let tries = 0; ; tries += 1) {
      const program = stage.start('admin', 'step', match, '--manager', manager, '--root', root);
      try {
        return await program.succeeds();
      } catch (error) {
        // The players may still be thinking about the step before.
        if (tries === MOST_TRIES || !/try again in a moment/.test(error.message)) throw error;
      }
    }
  };
  const decide = async (match) => {
    for (let part = 0; part < STEPS; part += 1) await step(match);
  };
  return { league, root, site, step, decide };
}

scene('what happens during a replay waits until it is left', async (stage) => {
  const { site, decide } = await stepped(stage, 4);
  const page = await stage.visit(site);
  const other = await stage.visit(site);
  const results = async () => (await table(page)).reduce((sum, row) => sum + row.played, 0) / 2;
  await decide('R1M1');
  await playedAtLeast(page, 1);
  await held(page);
  assert.equal(await results(), 0);
  await decide('R1M2');
  await playedAtLeast(other, 2);
  assert.equal(await results(), 0, 'the replay goes on undisturbed');
  await controls(page).close.click();
  await playedAtLeast(page, 2);
  assert.deepEqual(await table(page), await table(other));
});

scene('the page of a match tells nothing of it before its end, and all of it then', async (stage) => {
  const { league, root, site, step } = await stepped(stage, 2);
  const page = await stage.visit(new URL('/match/R1M1', site).href);
  await page.getByText('Messages are shown when the match is over.').waitFor();
  for (let part = 0; part < STEPS; part += 1) {
    assert.equal(await page.locator('.messages details').count(), 0);
    await step('R1M1');
  }
  await page.locator('.messages details').first().waitFor();
  await page.getByText(/number was \d+/).first().waitFor();
  await league.says(/until Ctrl-C/);
  assert.deepEqual(matches(root), ['R1M1']);
});

scene('many tabs of one league load, and a hidden one holds no connection', async (stage) => {
  const at = await served(stage, await played(stage, '--players', '6', '--seed', '7'));
  const board = await stage.visit(at());
  await board.locator('#verdict.holds').waitFor();
  for (const match of ['R1M1', 'R1M2', 'R1M3', 'R2M1', 'R2M2', 'R2M3', 'R3M1', 'R3M2']) {
    const tab = await board.context().newPage();
    await tab.goto(at(`/match/${match}`));
    await tab.locator('#touch').getByText('Final', { exact: true }).waitFor();
  }

  const words = ['--players', '4', '--manual', '--ports', 'auto', '--root', stage.folder()];
  const page = await stage.visit(await pageOf(stage.start('run', ...words)));
  await page.locator('#touch').getByText('Live', { exact: true }).waitFor();
  const ended = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/feed'));
  const hide = (hidden) => {
    Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  };
  await page.evaluate(hide, true);
  await ended;
  const again = page.waitForResponse((response) => response.url().endsWith('/feed'));
  await page.evaluate(hide, false);
  assert.equal((await again).status(), 200);
});
