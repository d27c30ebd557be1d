// A league as an event: the lobby before it, the matches while they are played, the stage.

import assert from 'node:assert/strict';

import { assertFits, findings } from './support/judging.mjs';
import { played } from './support/leagues.mjs';
import { managed, players } from './support/players.mjs';
import { slide } from './support/reading.mjs';
import { scene } from './support/scene.mjs';
import { served } from './support/sites.mjs';

const PROJECTOR = { width: 1920, height: 1080 };

/** How long an agent that is gone may still be shown as there, in milliseconds. */
const NOTICED = 60_000;

scene('the lobby shows who is here, who came last and how to join', async (stage) => {
  const names = ['Ada', 'שלום עולם', '囲碁'];
  const words = ['--players', '4', '--referees', '1'];
  const { endpoint, site } = await managed(stage, { names, words });
  const page = await stage.visit(site);
  const lobby = page.locator('#lobby');
  await lobby.getByRole('heading', { name: '3 of 4 players are here' }).waitFor();
  assert.equal(await lobby.locator('.faces li').first().textContent(), '囲碁');
  assert.match(await lobby.locator('.command').textContent(), /^league player --manager http.* --name NAME$/);
  assert.ok((await lobby.locator('.command').textContent()).includes(endpoint));
  for (const empty of ['Latest results', 'Who met whom']) {
    assert.ok(!(await page.getByRole('heading', { name: empty }).isVisible()), `${empty} is empty`);
  }
  const code = await lobby.locator('.qr').boundingBox();
  assert.ok(code.width > 150 && Math.abs(code.width - code.height) < 1, 'the code is a large square');
  assert.deepEqual(await findings(page), []);
  for (const width of [360, 768, 1920]) {
    await page.setViewportSize({ width, height: 900 });
    await assertFits(page, 'the lobby');
  }
  await page.goto(`${site}stage`);
  await slide(page, 'lobby');
  assert.deepEqual(await findings(page), []);
});

scene('a player that died is shown as gone within seconds, with the reason', async (stage) => {
  const { endpoint, site } = await managed(stage, { names: ['Ada'], words: ['--players', '3'] });
  const crowd = await players();
  await crowd.register(endpoint, ['Bela']);
  const page = await stage.visit(site);
  await page.locator('#lobby').getByRole('heading', { name: '2 of 3' }).waitFor();
  crowd.close();
  const gone = page.locator('#lobby .away', { hasText: 'Bela' });
  await gone.waitFor({ timeout: NOTICED });
  assert.match(await gone.textContent(), /refuses/i);
  await page.locator('#row-P02 .badge.gone').waitFor();
  assert.equal(await page.locator('#row-P01 .badge.gone').count(), 0, 'the other one is there');
});

scene('an open game is seen move by move, without a script too', async (stage) => {
  // A person plays, so that the game stays where it is while the page is open.
  const seats = ['--players', '2', '--people', '1', '--move-time', '10m', '--strategies', 'random'];
  const words = ['--referees', '1', '--game', 'connect_four', '--web', ...seats];
  const league = stage.start('run', '--ports', 'auto', '--root', stage.folder(), ...words);
  const [, link] = await league.says(/join at (\S+)/);
  const site = new URL('/', link).href;
  const person = await stage.visit(link);
  await person.getByLabel('Your name').fill('Ada');
  await person.getByLabel('Your name').press('Enter');
  const moves = person.getByRole('group', { name: 'Your legal moves' }).getByRole('button');
  await moves.first().waitFor();

  const plain = await stage.visit(site, { javaScriptEnabled: false });
  const before = await plain.locator('#tile-R1M1 .live .picture text').allTextContents();
  assert.equal(before.length, 42, 'the server draws the position');
  await plain.goto(`${site}match/R1M1`);
  await plain.locator('.middle .live').getByText(/^Ada chooses/).waitFor();
  assert.equal(await plain.locator('.middle .picture').count(), 1);

  const page = await stage.visit(site);
  const marked = '#tile-R1M1 .live .tone-a, #tile-R1M1 .live .tone-b';
  const marks = before.filter((text) => text.trim() !== '').length;
  const turn = await moves.first().getAttribute('data-number');
  await moves.first().press('Enter');
  await page.waitForFunction(([all, least]) => document.querySelectorAll(all).length > least, [marked, marks]);
  await person.locator(`.moves button:not([data-number="${turn}"])`).first().waitFor();
  await page.waitForFunction(([all, least]) => document.querySelectorAll(all).length === least, [marked, marks + 2]);
  assert.deepEqual(await findings(page), []);
  await page.goto(`${site}match/R1M1`);
  await page.locator('.middle .live .picture').waitFor();
  await page.goto(`${site}stage`);
  await slide(page, 'live');
  await page.locator('#slide-live.shown .picture').waitFor();
});

scene('a hidden game shows who has chosen, and never what', async (stage) => {
  let chosen;
  const first = new Promise((resolve) => { chosen = resolve; });
  let release;
  const held = new Promise((resolve) => { release = resolve; });
  let asked = 0;
  const thinks = async () => {
    asked += 1;
    if (asked === 1) chosen();
    else await held;
  };
  const words = ['--players', '2', '--referees', '1'];
  const { root, endpoint, site } = await managed(stage, { names: ['Ada', 'Bela'], words, thinks });
  const page = await stage.visit(site);
  stage.start('referee', '--port', '0', '--manager', endpoint, '--root', root);
  await first;
  const tile = page.locator('#tile-R1M1 .live');
  await tile.getByText(/^(Ada|Bela) chooses/).waitFor();
  const shown = await page.locator('main').innerHTML();
  assert.doesNotMatch(shown, /\b(even|odd)\b/, 'no choice is on the page');
  await tile.getByText(/ left$/).waitFor();
  release();
  await page.locator('#latest-R1M1').waitFor();
});

scene('thirty players fit on a projector, in large letters', async (stage) => {
  const names = Array.from({ length: 30 }, (_, index) => `Player with the number ${index + 1}`);
  const { site } = await managed(stage, { names, words: ['--players', '31'] });
  const page = await stage.visit(`${site}stage`, { viewport: PROJECTOR, reducedMotion: 'reduce' });
  await slide(page, 'standings');
  const rows = await page.locator('#slide-standings li').evaluateAll((all) =>
    all.map((row) => ({ bottom: row.getBoundingClientRect().bottom, size: parseFloat(getComputedStyle(row).fontSize) })),
  );
  assert.equal(rows.length, 30);
  assert.ok(rows.every(({ bottom }) => bottom <= 1080), 'all rows are in sight');
  assert.ok(rows.every(({ size }) => size >= 30), 'with large letters');
  assert.deepEqual(await findings(page), []);
});

scene('the keyboard steers the slides, and the podium is the first of a league that is over', async (stage) => {
  const at = await served(stage, await played(stage, '--seed', '7'));
  const page = await stage.visit(at('/stage'), { viewport: PROJECTOR, reducedMotion: 'reduce' });
  assert.equal(await page.locator('.slide').first().getAttribute('id'), 'slide-podium');
  // A slide that is paused stays, however long a busy machine takes to look at it.
  await page.keyboard.press('Space');
  await page.locator('#stage-label', { hasText: 'paused' }).waitFor();
  await slide(page, 'podium');
  assert.equal(await page.locator('.podium li').count(), 3);
  assert.deepEqual(await findings(page), []);
  await page.keyboard.press('ArrowRight');
  await page.locator('#slide-standings.shown').waitFor();
  await page.keyboard.press('ArrowLeft');
  await page.locator('#slide-podium.shown').waitFor();
});

scene('times are those of the viewer, and the newest form is in sight on a phone', async (stage) => {
  const at = await served(stage, await played(stage, '--players', '8', '--seed', '7'));
  const settings = { timezoneId: 'Asia/Tokyo', viewport: { width: 360, height: 800 } };
  const page = await stage.visit(at(), settings);
  const time = page.locator('#latest-rows time').first();
  const [stamp, text] = [await time.getAttribute('datetime'), await time.textContent()];
  const local = new Date(Date.parse(stamp) + 9 * 3_600_000).toISOString().slice(11, 19);
  assert.equal(text, local);
  await page.getByText('as on your clock (Asia/Tokyo)').waitFor();
  const marks = page.locator('#row-P01 td:last-child b');
  assert.equal(await marks.count(), 5);
  const { x, width } = await marks.last().boundingBox();
  assert.ok(x + width <= 360, `the newest mark ends at ${x + width}`);
});
