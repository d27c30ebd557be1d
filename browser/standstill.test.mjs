// A league that nobody plays any more, and one that goes on.

import assert from 'node:assert/strict';

import { copied } from './support/leagues.mjs';
import { over, pageOf } from './support/reading.mjs';
import { scene } from './support/scene.mjs';
import { served } from './support/sites.mjs';

/** A league that was killed after its first result; gives its folder. */
async function killed(stage) {
  const root = stage.folder();
  const words = ['--players', '6', '--pace', '1500ms', '--ports', 'auto', '--root', root];
  const league = stage.start('run', ...words);
  await league.says(/^ 1\/15 /m);
  await league.kill();
  return root;
}

scene('a league that was killed stands still on the page, and is live again when it goes on', async (stage) => {
  const root = await killed(stage);
  const page = await stage.visit((await served(stage, root))());
  const touch = page.locator('#touch');
  await touch.getByText('Interrupted', { exact: true }).waitFor();
  await page.locator('#summary').getByText(/Interrupted in round \d, \d+ of 15 matches played/).waitFor();
  await page.locator('#summary').getByText(/league run --resume/).waitFor();
  const elapsed = await page.locator('#progress .elapsed').innerText();
  // A clock that ran on would show another second by then.
  await page.waitForFunction((since) => Date.now() - since > 2_500, Date.now());
  assert.equal(await page.locator('#progress .elapsed').innerText(), elapsed);

  const again = stage.start('run', '--resume', '--root', root);
  await touch.getByText('Live', { exact: true }).waitFor();
  assert.equal(await page.locator('.standstill').count(), 0);
  await over(page);
  await again.succeeds();
});

scene('a copy of an unfinished league stands still on every page', async (stage) => {
  const at = await served(stage, copied(stage, await killed(stage)));
  const page = await stage.visit(at('/round/1'));
  for (const path of ['/round/1', '/match/R1M1', '/player/P01', '/']) {
    await page.goto(at(path));
    await page.locator('.standstill').getByText(/Interrupted in round/).waitFor();
  }
});

scene('without a script a page is loaded anew until the league is over', async (stage) => {
  const words = ['--players', '4', '--manual', '--ports', 'auto', '--root', stage.folder()];
  const site = await pageOf(stage.start('run', ...words));
  const page = await stage.visit(site, { javaScriptEnabled: false });
  await page.waitForEvent('framenavigated');
  assert.equal(await page.locator('meta[http-equiv=refresh]').count(), 1);
});
