// What the server sends before any script runs, and the promises that come with it.

import assert from 'node:assert/strict';

import { match, matches, played, reason } from './support/leagues.mjs';
import { assertFinalTable } from './support/reading.mjs';
import { served } from './support/sites.mjs';
import { scene } from './support/scene.mjs';

/** The most that a first view may weigh, script and style included, in bytes. */
const HEAVIEST_VIEW = 150 * 1024;

const PAGES = ['/', '/match/R1M1', '/player/P01'];

scene('everything can be read without a script', async (stage) => {
  const root = await played(stage, '--players', '6', '--seed', '7');
  const at = await served(stage, root);
  const page = await stage.visit(at(), { javaScriptEnabled: false });
  await assertFinalTable(page, root);

  const cells = page.locator('#cross-rows a[href^="match/"]');
  const letters = await cells.allTextContents();
  assert.equal(letters.length, 2 * matches(root).length, 'each match stands in two rows');
  assert.deepEqual(letters.filter((letter) => !/^[WDLT]$/.test(letter)), []);
  const { result } = match(root, 'R1M1');
  const [winner, loser] = result.winner_player_id === 'P01' ? ['W', 'L'] : ['L', 'W'];
  const expected = result.winner_player_id ? [winner, loser] : ['D', 'D'];
  assert.deepEqual(await page.locator('#cross-rows a[href$="/R1M1"]').allTextContents(), expected);

  await page.locator('#cross-P01 a[href$="/R1M1"]').click();
  await page.getByText(reason(root, 'R1M1')).first().waitFor();
  const first = page.locator('.messages details').first();
  await first.locator('summary').click();
  await first.getByText('"message_type": "GAME_INVITATION"').waitFor();
  await page.getByText('How it was drawn').click();
  await page.locator('#draw').getByText(match(root, 'R1M1').draw.seed).waitFor();
  await page.getByRole('link', { name: 'Agent Alpha' }).first().click();
  await page.getByRole('heading', { level: 1, name: 'Agent Alpha' }).waitFor();
  assert.equal(await page.locator('table.history tbody tr').count(), 5);
});

scene('no page has anything inline, and none may load from elsewhere', async (stage) => {
  const at = await served(stage, await played(stage));
  for (const path of [...PAGES, '/match/R9M9']) {
    const forgiven = path === '/match/R9M9' ? /404/ : undefined;
    const page = await stage.visit(at(path), { forgiven });
    const policy = page.answer.headers()['content-security-policy'] ?? '';
    assert.match(policy, /default-src 'none'/, path);
    assert.match(policy, /script-src 'self'(;|$)/, path);
    assert.doesNotMatch(policy, /unsafe|\*|https?:/, path);
    assert.equal(page.answer.headers()['x-content-type-options'], 'nosniff', path);
    const sent = await (await fetch(at(path))).text();
    const inline = await page.evaluate((html) => {
      const view = new DOMParser().parseFromString(html, 'text/html');
      const own = (element) => [...element.attributes].map(({ name }) => name);
      const attributes = [...view.querySelectorAll('*')].flatMap(own);
      return {
        scripts: view.querySelectorAll('script:not([src])').length,
        styles: view.querySelectorAll('style').length,
        attributes: attributes.filter((name) => name === 'style' || name.startsWith('on')),
      };
    }, sent);
    assert.deepEqual(inline, { scripts: 0, styles: 0, attributes: [] }, path);
  }
});

scene('a first view is light', async (stage) => {
  const at = await served(stage, await played(stage, '--players', '6'));
  for (const path of PAGES) {
    const page = await stage.visit(at(path));
    const addresses = await page.evaluate(() => [
      location.href,
      ...performance.getEntriesByType('resource').map(({ name }) => name),
    ]);
    const files = addresses.filter((address) => !address.endsWith('/feed'));
    assert.ok(files.length > 4, `${files}`);
    const bodies = files.map(async (file) => (await fetch(file)).arrayBuffer());
    const weight = (await Promise.all(bodies)).reduce((sum, body) => sum + body.byteLength, 0);
    assert.ok(weight < HEAVIEST_VIEW, `${path} weighs ${weight} bytes`);
  }
});
