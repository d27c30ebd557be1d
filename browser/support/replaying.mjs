// The controls of a replay, and a walk through them.

import assert from 'node:assert/strict';

import { assertFinalTable, table } from './reading.mjs';

/** The controls of the replay on a page. */
export function controls(page) {
  const replay = page.locator('#replay');
  const button = (name) => replay.getByRole('button', { name });
  return {
    open: button(/^\W*replay/i),
    pause: button(/pause/i),
    play: button(/^\W*play/i),
    back: replay.getByRole('button', { name: 'Back', exact: true }),
    forward: button('Forward'),
    close: button('Back to now'),
    moment: replay.getByRole('slider'),
    speed: replay.getByRole('combobox'),
    label: replay.locator('#replay-label'),
  };
}

/** Opens the replay and holds it at its beginning. */
export async function held(page) {
  const { open, moment } = controls(page);
  await open.click();
  await moment.waitFor();
  // It plays by itself until the slider is touched.
  await moment.press('End');
  await moment.press('Home');
}

/** Plays a league back by hand and checks it at both ends. */
export async function replayed(page, root, results) {
  const { back, forward, close, moment, label } = controls(page);
  const sum = async () => (await table(page)).reduce((all, row) => all + row.played, 0) / 2;
  await held(page);
  const moments = Number(await moment.getAttribute('max'));
  assert.ok([results, results + 1].includes(moments), `${moments} moments: each result, the end`);
  assert.equal(await sum(), 0, 'nothing was played at the beginning');
  await forward.click();
  assert.equal(await sum(), 1);
  assert.match(await label.innerText(), /R1M\d/);
  const first = await label.innerText();
  await forward.click();
  assert.equal(await sum(), 2);
  assert.notEqual(await label.innerText(), first);
  await back.click();
  assert.equal(await sum(), 1);
  assert.equal(await label.innerText(), first);
  await moment.press('End');
  await assertFinalTable(page, root);
  await moment.press('Home');
  await close.click();
  await assertFinalTable(page, root);
}
