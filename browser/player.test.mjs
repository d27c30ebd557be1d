// The page of a player: where it stands, whom it met, and how each of these matches went.

import assert from 'node:assert/strict';

import { match, matches, played, reason, standings } from './support/leagues.mjs';
import { served } from './support/sites.mjs';
import { scene } from './support/scene.mjs';

scene('a player is shown with its rank, its points and every match', async (stage) => {
  const root = await played(stage, '--players', '6', '--seed', '7');
  const page = await stage.visit((await served(stage, root))());
  await page.locator('#standings-rows').getByRole('link', { name: 'Agent Gamma' }).click();
  await page.getByRole('heading', { level: 1, name: 'Agent Gamma' }).waitFor();

  const row = standings(root).find(({ player_id }) => player_id === 'P03');
  const fact = (name) => page.locator('dl.facts > div').filter({ hasText: name }).locator('dd');
  // `=2` is a shared place.
  assert.match(await fact('Rank').innerText(), new RegExp(`^(${row.rank}|=[1-6]) of 6$`));
  assert.equal(await fact('Points').innerText(), String(row.points));
  const tally = `${row.wins}–${row.draws}–${row.losses}`;
  assert.equal(await fact('Won, drawn, lost').innerText(), tally);
  assert.match(await fact('Latency').innerText(), /\d.*ms/);

  const own = matches(root).filter((id) => 'P03' in match(root, id).result.score);
  const history = page.locator('table.history tbody tr');
  assert.equal(own.length, 5);
  assert.equal(await history.count(), own.length);
  for (const id of own) {
    const { choices, score, winner_player_id: winner } = match(root, id).result;
    const line = history.filter({ has: page.getByRole('link', { name: id, exact: true }) });
    const cells = await line.locator('th, td').allInnerTexts();
    const letter = winner === null ? 'D' : winner === 'P03' ? 'W' : 'L';
    assert.equal(cells[1].replaceAll(/\s+/g, ' '), `${letter} ${score.P03}`, id);
    assert.equal(cells[3], choices.P03, id);
    assert.ok(cells.includes(reason(root, id)), `${id}: ${cells}`);
  }
});
