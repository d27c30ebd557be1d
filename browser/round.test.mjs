// The page of a round: who meets whom, what is over, what is to come.

import assert from 'node:assert/strict';

import { match, played, reason } from './support/leagues.mjs';
import { managed } from './support/players.mjs';
import { served } from './support/sites.mjs';
import { scene } from './support/scene.mjs';

const rows = (page) => page.locator('table.round tbody tr');

scene('the rounds of a league that is over are found from its board', async (stage) => {
  const root = await played(stage, '--players', '5', '--seed', '7');
  const page = await stage.visit((await served(stage, root))());
  await page.getByRole('link', { name: 'All of round 5' }).click();
  await page.getByRole('heading', { level: 1, name: 'Round 5 of 5' }).waitFor();
  await page.getByRole('navigation', { name: 'Rounds' }).getByRole('link', { name: '2', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Round 2 of 5' }).waitFor();

  assert.equal(await rows(page).count(), 2);
  for (const id of ['R2M1', 'R2M2']) {
    const { score } = match(root, id).result;
    const row = rows(page).filter({ hasText: id });
    const seats = row.locator('td.who a');
    const ids = await seats.evaluateAll((links) => links.map((link) => link.href.split('/').at(-1)));
    const cells = await row.locator('th, td').allInnerTexts();
    const points = cells.slice(2, 4).map((cell) => Number(cell.match(/\d+/)[0]));
    assert.deepEqual(points, ids.map((player) => score[player]), id);
    assert.ok(cells.includes(reason(root, id)), `${id}: ${cells}`);
  }
  await page.getByText('rests in this round.').waitFor();
  await rows(page).getByRole('link', { name: 'R2M1' }).click();
  await page.getByRole('link', { name: 'Round 2' }).click();
  await page.getByRole('heading', { level: 1, name: 'Round 2 of 5' }).waitFor();
});

scene('a round that is played fills by itself, and the next one is known', async (stage) => {
  const names = ['Ada', 'Bela', 'Cleo', 'Dora', 'Edda', 'Fips', 'Gina', 'Hugo'];
  let release;
  const held = new Promise((resolve) => { release = resolve; });
  const words = ['--players', '8', '--referees', '1'];
  const { root, endpoint, site } = await managed(stage, { names, words, thinks: () => held });
  const board = await stage.visit(site);
  stage.start('referee', '--port', '0', '--manager', endpoint, '--root', root);
  await board.locator('#tiles > *').first().waitFor();
  const last = await stage.visit(new URL('/round/7', site).href);
  await last.getByRole('heading', { level: 1, name: 'Round 7 of 7' }).waitFor();
  assert.equal(await rows(last).filter({ hasText: 'to come' }).count(), 4);
  assert.equal(await rows(last).getByRole('link', { name: 'R7M1' }).count(), 0);

  const player = await stage.visit(new URL('/player/P01', site).href);
  const coming = player.locator('ol.coming li');
  assert.ok((await coming.count()) > 0, 'its next matches are named');
  release();

  await rows(last).filter({ hasText: /number was/ }).nth(3).waitFor();
  await last.getByText('all played').waitFor();
  await coming.first().waitFor({ state: 'detached' });
});

scene('a round that does not exist is not found', async (stage) => {
  const at = await served(stage, await played(stage));
  for (const path of ['/round/0', '/round/99', '/round/x', '/round/4294967296']) {
    const page = await stage.visit(at(path), { forgiven: /404/ });
    assert.equal(page.answer.status(), 404, path);
    await page.getByRole('heading', { name: 'There is no round here' }).waitFor();
  }
});
