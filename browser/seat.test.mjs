// The seat of a person, on a phone: join with the link, choose, see the result.

import assert from 'node:assert/strict';

import { assertFits, findings } from './support/judging.mjs';
import { scene } from './support/scene.mjs';

const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

scene('a person joins by the link on a phone, plays and sees the result', async (stage) => {
  const root = stage.folder();
  const seats = ['--players', '2', '--people', '1', '--move-time', '10m', '--referees', '1', '--strategies', 'random'];
  const run = stage.start('run', '--root', root, '--ports', 'auto', '--game', 'tic_tac_toe', '--web', ...seats);
  const [, link] = await run.says(/join at (\S+)/);
  const page = await stage.visit(link, PHONE);
  assert.match(await page.getByLabel('Code').inputValue(), /^\w{4}-\w{4}$/);
  assert.ok(!page.url().includes('code='), 'the code leaves the address');
  assert.deepEqual(await findings(page), [], 'the form');
  await page.getByLabel('Your name').fill('Ada');
  await page.getByLabel('Your name').press('Enter');

  const over = page.getByRole('heading', { name: 'The league is over' });
  const moves = page.getByRole('group', { name: 'Your legal moves' }).getByRole('button');
  let looked = false;
  for (let turn = 0; turn < 9 && !(await over.isVisible()); turn += 1) {
    await moves.first().or(over).first().waitFor();
    if (await over.isVisible()) break;
    if (!looked) {
      await assertFits(page, 'the seat');
      assert.deepEqual(await findings(page), [], 'the seat');
      // The seat is there again when the page is loaded anew.
      await page.reload();
      await moves.first().waitFor();
      looked = true;
    }
    const wanted = await moves.first().getAttribute('data-number');
    await moves.first().press('Enter');
    const next = page.locator(`.moves button:not([data-number="${wanted}"])`);
    await next.first().or(over).first().waitFor();
  }
  await over.waitFor();
  assert.ok(looked, 'a turn was shown');
  await page.locator('.seat figure').waitFor(); // how it ended
  assert.match(await page.locator('.results li').innerText(), /^[WDL]\s+against/);
  await page.getByRole('link', { name: 'Standings' }).click();
  await page.locator('#standings-rows').getByText('human', { exact: true }).waitFor();
});

scene('the link of `league play` takes the seat at once, and the end of the league ends it', async (stage) => {
  const words = ['--game', 'tic_tac_toe', '--against', 'random', '--name', 'Ada'];
  const play = stage.start('play', '--root', stage.folder(), ...words);
  const [, link] = await play.says(/join at (\S+)/);
  const page = await stage.visit(link, PHONE);
  const over = page.getByRole('heading', { name: 'The league is over' });
  const moves = page.getByRole('group', { name: 'Your legal moves' }).getByRole('button');
  for (let turn = 0; turn < 9; turn += 1) {
    await moves.first().or(over).first().waitFor();
    if (await over.isVisible()) break;
    const wanted = await moves.first().getAttribute('data-number');
    await moves.first().press('Enter');
    const next = page.locator(`.moves button:not([data-number="${wanted}"])`);
    await next.first().or(over).first().waitFor();
  }
  await over.waitFor();
  assert.match(await play.succeeds(), /Ada \(human\)/);
});
