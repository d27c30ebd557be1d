// A league that is over, played back.

import { played } from './support/leagues.mjs';
import { assertFinalTable } from './support/reading.mjs';
import { controls, replayed } from './support/replaying.mjs';
import { served } from './support/sites.mjs';
import { scene } from './support/scene.mjs';

scene('a league is replayed by hand, step by step and in one sweep', async (stage) => {
  const root = await played(stage, '--players', '6', '--seed', '7');
  const page = await stage.visit((await served(stage, root))());
  await replayed(page, root, 15);
});

scene('a replay runs by itself to the last result', async (stage) => {
  const root = await played(stage, '--players', '6', '--seed', '7');
  const page = await stage.visit((await served(stage, root))());
  const { open, play, pause, speed, moment } = controls(page);
  await open.click();
  await speed.selectOption('64');
  if (!(await pause.isVisible())) await play.click();
  await page.waitForFunction((slider) => slider.value === slider.max, await moment.elementHandle());
  await assertFinalTable(page, root);
});
