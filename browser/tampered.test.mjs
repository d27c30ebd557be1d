// A league that was changed afterwards is shown for what it is.

import assert from 'node:assert/strict';

import { forgeChoice, forgeNumber } from './support/forged.mjs';
import { copied, played } from './support/leagues.mjs';
import { reported, served } from './support/sites.mjs';
import { scene } from './support/scene.mjs';

const LEAGUE = ['--players', '4', '--seed', '7'];

/** Fails unless the element is red, whatever the theme. */
async function assertRed(verdict) {
  assert.match(await verdict.getAttribute('class'), /\bbroken\b/, await verdict.innerText());
  const colour = await verdict.evaluate((element) => {
    const style = getComputedStyle(element);
    return [style.color, style.borderLeftColor, style.backgroundColor].join(' ');
  });
  assert.ok(isReddish(colour), `red is among ${colour}`);
}

/** Whether one of the colours in a text has clearly more red in it than green and blue. */
function isReddish(text) {
  const colours = [...text.matchAll(/rgba?\((\d+), (\d+), (\d+)/g)];
  return colours.some(([, ...rgb]) => {
    const [red, green, blue] = rgb.map(Number);
    return red > green + 20 && red > blue + 20;
  });
}

for (const careful of [true, false]) {
  const how = careful ? 'with every checksum made right again' : 'without care';
  scene(`a number that was changed ${how} is red on board and match`, async (stage) => {
    const root = copied(stage, await played(stage, ...LEAGUE));
    const { other } = forgeNumber(root, 'R1M1', { careful });
    const at = await served(stage, root);
    const board = await stage.visit(at());
    const banner = board.locator('#verdict.broken');
    await banner.waitFor();
    assert.match(await banner.innerText(), /not verified/i);
    assert.match(await banner.innerText(), /journal\.jsonl\b.* line \d+/);
    await assertRed(banner);

    const page = await stage.visit(at('/match/R1M1'));
    await page.getByText(`number was ${other} (`).first().waitFor();
    await page.locator('#draw-verdict:not(.unchecked)').waitFor();
    await assertRed(page.locator('#draw-verdict'));
    await page.goto(at('/match/R1M2'));
    await page.locator('#draw-verdict.holds').waitFor();
  });
}

scene('a choice that was changed with every checksum is not proven by its player', async (stage) => {
  const root = copied(stage, await played(stage, ...LEAGUE));
  forgeChoice(root, 'R1M1');
  const at = await served(stage, root);
  const page = await stage.visit(at('/match/R1M1'));
  await page.locator('#proof-verdict:not(.unchecked)').waitFor();
  await assertRed(page.locator('#proof-verdict'));
  await page.goto(at('/match/R1M2'));
  await page.locator('#proof-verdict.holds').waitFor();
});

scene('a report of a changed league is red, too', async (stage) => {
  const root = copied(stage, await played(stage, ...LEAGUE));
  forgeNumber(root, 'R1M1', { careful: true });
  const page = await stage.visit(await reported(stage, root, 1));
  await assertRed(page.locator('#verdict'));
  await page.locator('#board a[href="#match-R1M1"]').first().click();
  const verdict = page.locator('#match-R1M1 .draw-verdict');
  await page.locator('#match-R1M1 .draw-verdict:not(.unchecked)').waitFor();
  await assertRed(verdict);
});
