// Pages are for everyone: any eyes, any screen, any way of reading.

import assert from 'node:assert/strict';

import { forgeNumber } from './support/forged.mjs';
import { assertFits, findings } from './support/judging.mjs';
import { played } from './support/leagues.mjs';
import { pageOf } from './support/reading.mjs';
import { reported, served } from './support/sites.mjs';
import { scene } from './support/scene.mjs';

/** A phone, a tablet, a projector. */
const WIDTHS = [360, 768, 1920];

/** All kinds of pages of leagues that are over, with a name for each. */
async function pages(stage) {
  const at = await served(stage, await played(stage, '--players', '6', '--seed', '7'));
  const small = await played(stage, '--players', '3', '--game', 'tic_tac_toe', '--seed', '7');
  const report = await reported(stage, small);
  return {
    board: at(),
    match: at('/match/R1M1'),
    'board game': (await served(stage, small))('/match/R1M1'),
    player: at('/player/P01'),
    round: at('/round/2'),
    report,
    'match in a report': `${report}#match-R1M1`,
    'round in a report': `${report}#round-3`,
    'player in a report': `${report}#player-P02`,
  };
}

/** Fails if anything on the page keeps people out, in either theme. */
async function assertOpenToAll(page, name) {
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.emulateMedia({ colorScheme: 'light' });
  const light = await ground();
  assert.deepEqual(await findings(page), [], name);
  await page.emulateMedia({ colorScheme: 'dark' });
  assert.notEqual(await ground(), light, `${name} has two themes`);
  // Only colours change with the theme.
  assert.deepEqual(await findings(page, 'color-contrast'), [], `${name}, dark`);
}

scene('nothing keeps people out of any page, light or dark', async (stage) => {
  for (const [name, address] of Object.entries(await pages(stage))) {
    await assertOpenToAll(await stage.visit(address), name);
  }
});

scene('nothing keeps people out of a league that runs, or is broken', async (stage) => {
  const words = ['--players', '4', '--manual', '--ports', 'auto', '--root', stage.folder()];
  const running = await stage.visit(await pageOf(stage.start('run', ...words)));
  await running.locator('#tiles > *').first().waitFor();
  await assertOpenToAll(running, 'a league that runs');

  const root = await played(stage);
  forgeNumber(root, 'R1M1', { careful: true });
  const at = await served(stage, root);
  const broken = await stage.visit(at());
  await broken.locator('#verdict.broken').waitFor();
  await assertOpenToAll(broken, 'a broken league');
  await broken.goto(at('/match/R1M1'));
  await broken.locator('#draw-verdict.broken').waitFor();
  await assertOpenToAll(broken, 'a broken match');
});

scene('no page scrolls sideways, on a phone, a tablet or a projector', async (stage) => {
  for (const [name, address] of Object.entries(await pages(stage))) {
    const page = await stage.visit(address);
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 });
      await assertFits(page, name);
      const text = await page.evaluate(() => getComputedStyle(document.body).fontSize);
      assert.ok(parseFloat(text) >= 14, `${name} has letters of ${text} on ${width} px`);
    }
  }
});

scene('the names of the chart are in sight on a phone', async (stage) => {
  const at = await served(stage, await played(stage, '--players', '4', '--seed', '7'));
  const page = await stage.visit(at(), { viewport: { width: 390, height: 844 } });
  const chart = page.locator('#chart');
  await chart.scrollIntoViewIfNeeded();
  const inSight = async (locator) => {
    const box = await locator.boundingBox();
    return box !== null && box.x >= 0 && box.x + box.width <= 390;
  };
  for (const name of ['Agent Alpha', 'Agent Beta', 'Agent Gamma', 'Agent Delta']) {
    assert.ok(await inSight(chart.locator('li').filter({ hasText: name })), `${name} is in sight`);
  }
  assert.ok(await inSight(chart.locator('svg').first()), 'and so is the whole picture');
  await page.setViewportSize({ width: 1280, height: 800 });
  assert.equal(await chart.locator('li').first().isVisible(), false, 'beside the lines they are told once');
});

scene('the keyboard reaches the content at once, and every link says where it leads', async (stage) => {
  const page = await stage.visit((await served(stage, await played(stage)))());
  await page.keyboard.press('Tab');
  const first = await page.evaluate(() => document.activeElement.textContent.trim());
  assert.match(first, /skip/i);
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'main');
  const silent = await page.locator('a').evaluateAll((links) =>
    links.filter((link) => !link.textContent.trim() && !link.ariaLabel).map((link) => link.outerHTML),
  );
  assert.deepEqual(silent, []);
});
