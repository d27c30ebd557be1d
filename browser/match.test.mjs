// The page of a match: what was said, how it was drawn, and the game move by move.

import assert from 'node:assert/strict';

import { match, played } from './support/leagues.mjs';
import { served } from './support/sites.mjs';
import { scene } from './support/scene.mjs';

/** The most presses of a key until something has the focus. */
const MOST_PRESSES = 200;

scene('every message is a row of the diagram and opens as JSON', async (stage) => {
  const root = await played(stage, '--seed', '7');
  const page = await stage.visit((await served(stage, root))('/match/R1M1'));
  const { transcript } = match(root, 'R1M1');
  const rows = page.locator('.messages details');
  assert.ok(transcript.length > 8);
  assert.equal(await rows.count(), transcript.length);
  for (const [index, said] of transcript.entries()) {
    const row = rows.nth(index);
    const text = await row.locator('summary').innerText();
    assert.ok(text.includes(said.from) && text.includes(said.to), text);
    assert.ok(text.includes(said.message_type || 'answer'), text);
    assert.equal(await row.locator('summary svg .shaft').count(), 1, 'it has an arrow');
    assert.equal(await row.locator('pre').isVisible(), false);
    await row.locator('summary').click();
    assert.deepEqual(JSON.parse(await row.locator('pre').innerText()), said.message);
  }
});

scene('the browser draws the number again and says that it holds', async (stage) => {
  const at = await served(stage, await played(stage, '--players', '6'));
  const page = await stage.visit(at());
  for (const id of ['R1M1', 'R2M2', 'R5M3']) {
    await page.goto(at(`/match/${id}`));
    const verdict = page.locator('#draw-verdict');
    await page.locator('#draw-verdict:not(.unchecked)').waitFor();
    assert.match(await verdict.getAttribute('class'), /\bholds\b/, await verdict.innerText());
    assert.equal(await verdict.getAttribute('role'), 'status');
  }
});

scene('the browser checks the proofs of both players', async (stage) => {
  const at = await served(stage, await played(stage));
  const page = await stage.visit(at('/match/R1M1'));
  const verdict = page.locator('#proof-verdict');
  await page.locator('#proof-verdict:not(.unchecked)').waitFor();
  assert.match(await verdict.getAttribute('class'), /\bholds\b/, await verdict.innerText());
  assert.equal(await verdict.getAttribute('role'), 'status');
});

scene('moves of a game of turns are proven one after the other', async (stage) => {
  const root = await played(stage, '--players', '2', '--game', 'tic_tac_toe');
  const page = await stage.visit((await served(stage, root))('/match/R1M1'));
  await page.locator('#draw-verdict.holds').waitFor();
  await page.locator('#proof-verdict.holds').waitFor();
});

scene('a browser that lends no cryptography is no judge, and the page names another', async (stage) => {
  const at = await served(stage, await played(stage));
  const prepared = () => Object.defineProperty(crypto, 'subtle', { value: undefined });
  const page = await stage.visit(at('/match/R1M1'), { prepared });
  const verdict = page.locator('#draw-verdict');
  await verdict.getByText(/not checked.*cryptography/i).waitFor();
  assert.match(await verdict.innerText(), /league verify/);
  assert.doesNotMatch(await verdict.getAttribute('class'), /holds|broken/);
});

scene('a message can be opened with the keyboard alone', async (stage) => {
  const at = await served(stage, await played(stage));
  const page = await stage.visit(at('/match/R1M1'));
  const isMessage = () => document.activeElement?.matches('.messages summary') ?? false;
  let presses = 0;
  while (!(await page.evaluate(isMessage))) {
    assert.ok((presses += 1) < MOST_PRESSES, 'no message ever has the focus');
    await page.keyboard.press('Tab');
  }
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.notEqual(outline, 'none', 'one sees where the focus is');
  const message = page.locator('.messages details').first().locator('pre');
  assert.equal(await message.isVisible(), false);
  await page.keyboard.press('Enter');
  await message.waitFor();
  await page.keyboard.press('Enter');
  await message.waitFor({ state: 'hidden' });
});

scene('a board game is stepped through move by move', async (stage) => {
  const root = await played(stage, '--players', '2', '--game', 'tic_tac_toe', '--seed', '3');
  const page = await stage.visit((await served(stage, root))('/match/R1M1'));
  const viewer = page.locator('#positions');
  const button = (name) => viewer.getByRole('button', { name });
  const position = async () => {
    const grids = viewer.locator('svg.picture').filter({ visible: true });
    assert.equal(await grids.count(), 1, 'one position is shown at a time');
    const marks = await grids.locator('.cell text').allTextContents();
    assert.equal(marks.length, 9);
    return marks.map((mark) => mark.trim()).filter((mark) => mark !== '').length;
  };
  await button('First').click();
  assert.equal(await position(), 0);
  await button('Forward').click();
  assert.equal(await position(), 1);
  await button('Forward').click();
  assert.equal(await position(), 2);
  await button('Back').click();
  assert.equal(await position(), 1);
  await button('Last').click();
  const last = await position();
  assert.ok(last >= 5, `a game has five moves at least, and this has ${last}`);
  await button('First').click();
  await viewer.getByRole('combobox').selectOption({ index: 2 });
  await button('Play').click();
  await page.waitForFunction((marks) => {
    const grids = [...document.querySelectorAll('#positions svg.picture')];
    const shown = grids.find((grid) => grid.checkVisibility());
    return [...shown.querySelectorAll('.cell text')].filter((cell) => cell.textContent.trim()).length === marks;
  }, last);
});
