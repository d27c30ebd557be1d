// What a person reads on the pages, as plain values.

import assert from 'node:assert/strict';

import { standings } from './leagues.mjs';

/** How long a league may take to come as far as is waited for, in milliseconds. */
const LONGEST_LEAGUE = 240_000;

/** Waits until a program says where its page is, and gives the address. */
export async function pageOf(program) {
  const [, address] = await program.says(/(http:\/\/[^\s"/]+\/)(?=\s|"|$)/);
  return address;
}

/** The table as it stands on the board, cell by cell, under the words of its head. */
export async function table(page) {
  return page.locator('#standings-rows').evaluate((body) => {
    const word = (cell) => cell.querySelector('abbr')?.title ?? cell.textContent.trim();
    const heads = [...body.closest('table').querySelectorAll('thead th')].map(word);
    return [...body.rows].map((row, index) => {
      const cell = (head) => row.cells[heads.indexOf(head)];
      const number = (head) => Number(cell(head).textContent);
      return {
        // `=3` is a shared place; the order is that of the file.
        rank: cell('Rank').textContent.startsWith('=') ? index + 1 : number('Rank'),
        player: row.id.replace('row-', ''),
        name: cell('Player').querySelector('a').textContent,
        played: number('Played'),
        wins: number('Won'),
        draws: number('Drawn'),
        losses: number('Lost'),
        points: number('Points'),
      };
    });
  });
}

/** Fails unless the table on the page is the one in `standings.json`. */
export async function assertFinalTable(page, root) {
  const expected = standings(root).map((row) => ({
    rank: row.rank,
    player: row.player_id,
    name: row.display_name,
    played: row.played,
    wins: row.wins,
    draws: row.draws,
    losses: row.losses,
    points: row.points,
  }));
  assert.ok(expected.length > 1, 'a league of several players');
  assert.deepEqual(await table(page), expected);
}

/** Waits until a league on the page is over; several players may share the first place. */
export async function over(page) {
  await page.locator('.champion').waitFor({ timeout: LONGEST_LEAGUE });
}

/** Waits until the board shows so many results or more. */
export async function playedAtLeast(page, results) {
  await page.waitForFunction(
    (least) => document.querySelector('#progress progress')?.value >= least,
    results,
    { timeout: LONGEST_LEAGUE },
  );
}

/** Goes to a slide of the stage, which stays there. */
export async function slide(page, id) {
  const label = page.locator('#stage-label');
  await label.filter({ hasText: / of / }).waitFor();
  if (!(await label.textContent()).includes('paused')) await page.keyboard.press('Space');
  await label.filter({ hasText: 'paused' }).waitFor();
  const [, slides] = (await label.textContent()).match(/of (\d+)/);
  for (let step = 0; step < Number(slides); step += 1) {
    if ((await page.locator(`#slide-${id}.shown`).count()) === 1) return;
    await page.keyboard.press('ArrowRight');
  }
  await page.locator(`#slide-${id}.shown`).waitFor();
}

/**
 * Has the page note what happens to it from now on. The notes are gone if it is loaded anew.
 *
 * @see notes
 */
export async function takeNotes(page) {
  await page.evaluate(() => {
    const notes = { tiles: {}, orders: {}, played: {}, texts: {}, motion: 0 };
    globalThis.notes = notes;
    const look = () => {
      for (const tile of document.querySelectorAll('#tiles > *')) notes.tiles[tile.id] = true;
      const rows = [...document.querySelectorAll('#standings-rows > tr')];
      notes.orders[rows.map((row) => row.id).join()] = true;
      notes.texts[rows.map((row) => row.textContent).join()] = true;
      notes.played[document.querySelector('#progress progress')?.value ?? 0] = true;
      count();
    };
    const count = () => {
      const moving = document.getAnimations().filter((one) => one.playState === 'running');
      notes.motion = Math.max(notes.motion, moving.length);
    };
    const countOn = () => {
      count();
      requestAnimationFrame(countOn);
    };
    look();
    countOn();
    new MutationObserver(look).observe(document.body, {
      subtree: true,
      childList: true,
      characterData: true,
      attributes: true,
    });
  });
}

/** What the page has noted: tiles, orders of rows and counts of results that were ever shown. */
export async function notes(page) {
  const { tiles, orders, played, texts, motion } = await page.evaluate(() => globalThis.notes);
  return {
    tiles: Object.keys(tiles),
    orders: Object.keys(orders),
    texts: Object.keys(texts),
    played: Object.keys(played).map(Number),
    motion,
  };
}
