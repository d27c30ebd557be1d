// Names and words that would rather be code: shown as text, and never run.

import assert from 'node:assert/strict';

import { assertFits } from './support/judging.mjs';
import { MARK, NAMES } from './support/names.mjs';
import { managed } from './support/players.mjs';
import { over } from './support/reading.mjs';
import { controls, held } from './support/replaying.mjs';
import { reported, served } from './support/sites.mjs';
import { scene } from './support/scene.mjs';

/** Names that play, so that their words stand in messages: one of each kind. */
const PLAYING = [0, 2, 8, 10, 32, 34, 39, 43].map((index) => NAMES[index]);

/** Fails if anything ran; dialogs and requests to elsewhere fail the scene by themselves. */
async function assertNothingRan(page) {
  assert.equal(await page.evaluate((mark) => globalThis[mark], MARK), undefined);
}

/** Points at everything and gives it the focus, since some code waits for that. */
async function poke(page) {
  await page.evaluate(() => {
    for (const element of document.querySelectorAll('body *')) {
      for (const kind of ['mouseover', 'focus', 'toggle', 'error', 'load']) {
        element.dispatchEvent(new Event(kind));
      }
    }
  });
}

/** The names in the table of the board. */
function shown(page) {
  return page.locator('#standings-rows th a').allTextContents();
}

scene('fifty hostile names are shown as they are, and none of them runs', async (stage) => {
  const { site, root } = await managed(stage, {
    names: NAMES,
    words: ['--players', '0'],
  });
  const page = await stage.visit(site);
  await page.waitForFunction(() => document.querySelectorAll('#standings-rows tr').length === 50);
  assert.deepEqual((await shown(page)).sort(), [...NAMES].sort());
  await poke(page);
  await assertNothingRan(page);
  await page.setViewportSize({ width: 360, height: 800 });
  await assertFits(page, 'a board full of them');
  for (const player of ['P01', 'P50']) {
    await page.goto(`${site}player/${player}`);
    const name = NAMES[Number(player.slice(1)) - 1];
    await page.getByRole('heading', { level: 1, name }).waitFor();
    await assertFits(page, player);
    await assertNothingRan(page);
  }

  const report = await stage.visit(await reported(stage, root));
  assert.deepEqual((await shown(report)).sort(), [...NAMES].sort());
  await assertNothingRan(report);
});

scene('hostile players play a league, and their words stay words', async (stage) => {
  const count = String(PLAYING.length);
  const words = ['--players', count, '--referees', '1'];
  const { site, endpoint, root } = await managed(stage, { names: PLAYING, words });
  const page = await stage.visit(site);
  stage.start('referee', '--port', '0', '--manager', endpoint, '--root', root);
  await over(page);
  assert.deepEqual((await shown(page)).sort(), [...PLAYING].sort());
  await poke(page);
  await assertNothingRan(page);

  await page.goto(`${site}match/R1M1`);
  await page.locator('.messages summary').first().waitFor();
  for (const summary of await page.locator('.messages summary').all()) await summary.click();
  await page.locator('.messages pre').getByText('__pwned=').first().waitFor();
  await assertNothingRan(page);

  await page.goto(`${site}player/P01`);
  const departures = page.locator('table.deviations tbody tr');
  await departures.getByText('remark').first().waitFor();
  assert.match(await departures.first().innerText(), /leave it out/, 'it says what to do');
  await assertNothingRan(page);

  const at = await served(stage, root);
  const report = await stage.visit(await reported(stage, root));
  for (const place of [await stage.visit(at()), report]) {
    await held(place);
    await controls(place).moment.press('End');
    assert.deepEqual((await shown(place)).sort(), [...PLAYING].sort());
    await assertNothingRan(place);
  }
  await report.locator('#board a[href="#match-R1M1"]').first().click();
  await report.locator('#match-R1M1 .messages summary').first().click();
  await assertNothingRan(report);
});
