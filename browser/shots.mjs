// Pictures: of all kinds of pages at every size and in both themes, so that people look at them, and those that the documentation shows. Called by `cargo xtask browser --shots DIR`.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { played } from './support/leagues.mjs';
import { managed } from './support/players.mjs';
import { pageOf, playedAtLeast, slide } from './support/reading.mjs';
import { served } from './support/sites.mjs';
import { Stage, closed } from './support/stage.mjs';

const WIDTHS = [390, 1280, 1920];
const THEMES = ['light', 'dark'];

/** How many players, and at which result the picture is taken; the first two are over by then. */
const CROWDS = [
  { players: 4, referees: 2, at: 6 },
  { players: 30, referees: 4, at: 435 },
  { players: 400, referees: 8, at: 100 },
];

/** The most of a page that goes into a picture, in pixels. */
const TALLEST = 6_000;

const [folder] = process.argv.slice(2);
const gallery = join(folder, 'gallery');
mkdirSync(gallery, { recursive: true });
const stage = new Stage('shots');
try {
  for (const crowd of CROWDS) await boards(crowd);
  await lobbies();
  await liveStage();
  await pageForReadme();
  await formatsForDocs();
} finally {
  await stage.close();
  await closed();
}

async function boards({ players, referees, at }) {
  const words = ['--players', String(players), '--referees', String(referees), '--seed', '1'];
  const league = run('--web', ...words);
  const address = await pageOf(league);
  for (const colorScheme of THEMES) {
    const page = await stage.visit(address, { colorScheme, reducedMotion: 'reduce' });
    await playedAtLeast(page, at);
    await pictures(page, `board-${players}`, colorScheme);
    for (const path of ['match/R1M1', 'player/P01', 'round/1']) {
      await page.goto(`${address}${path}`);
      await pictures(page, `${path.split('/')[0]}-${players}`, colorScheme);
    }
    await page.goto(`${address}stage`);
    await slide(page, 'standings');
    await pictures(page, `stage-${players}`, colorScheme);
    await page.close();
  }
  await league.kill();
}

/** The page as it is now, at all widths. */
async function pictures(page, name, colorScheme) {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 1080 });
    const tall = await page.evaluate(() => document.documentElement.scrollHeight);
    const clip = { x: 0, y: 0, width, height: Math.min(tall, TALLEST) };
    const path = join(gallery, `${name}-${width}-${colorScheme}.png`);
    await page.screenshot({ path, clip, fullPage: true });
    console.log(path);
  }
}

/** A league that waits for its last player: the lobby, the season and the organiser's page. */
async function lobbies() {
  const names = ['Ada', 'Grace', '囲碁の先生', 'שלום עולם', 'Zoë', 'Agent with a rather long name'];
  const words = ['--players', '30', '--referees', '1', '--registration-until', '10m'];
  const { root, endpoint, site } = await managed(stage, { names, words });
  const key = await stage.start('admin', 'key', '-q', '--manager', endpoint, '--root', root).succeeds();
  for (const colorScheme of THEMES) {
    const page = await stage.visit(site, { colorScheme, reducedMotion: 'reduce' });
    await page.locator('#lobby .qr').waitFor();
    await pictures(page, 'lobby', colorScheme);
    await page.goto(`${site}season`);
    await pictures(page, 'season', colorScheme);
    await page.goto(`${site}admin`);
    await pictures(page, 'login', colorScheme);
    await page.getByLabel('Key').fill(key.trim());
    await page.keyboard.press('Enter');
    await page.locator('.lever').filter({ hasText: 'Disqualify' }).first().click();
    await pictures(page, 'organiser', colorScheme);
    await page.close();
  }
}

/** Matches of an open game on a projector. */
async function liveStage() {
  const words = ['--players', '6', '--referees', '3', '--game', 'connect_four', '--pace', '1s'];
  const league = run(...words);
  const viewport = { width: 1920, height: 1080 };
  const page = await stage.visit(`${await pageOf(league)}stage`, { viewport, reducedMotion: 'reduce' });
  await slide(page, 'live');
  await page.waitForFunction(() => document.querySelectorAll('#slide-live .tone-b').length >= 6);
  await page.screenshot({ path: join(folder, 'stage.png') });
  await league.kill();
}

/** A league of eight halfway through. */
async function pageForReadme() {
  const league = run('--players', '8', '--referees', '2', '--pace', '1500ms');
  const page = await stage.visit(await pageOf(league), { reducedMotion: 'reduce' });
  await playedAtLeast(page, 16);
  await page.locator('#tiles').getByText('choosing').first().waitFor();
  await page.screenshot({ path: join(folder, 'page.png') });
  await league.kill();
}

/** What the board shows of groups and of a ladder. */
async function formatsForDocs() {
  const leagues = [['groups', '--players', '8'], ['ladder', '--players', '8', '--rounds', '9']];
  for (const [format, ...words] of leagues) {
    const root = await played(stage, '--format', format, '--game', 'connect_four', '--seed', '7', ...words);
    const viewport = { width: 1000, height: 800 };
    const page = await stage.visit((await served(stage, root))(), { viewport, reducedMotion: 'reduce' });
    const card = page.locator(`section:has(> #${format}-title)`);
    await card.screenshot({ path: join(folder, `${format}.png`) });
  }
}

function run(...words) {
  return stage.start('run', '--ports', 'auto', '--root', stage.folder(), ...words);
}
