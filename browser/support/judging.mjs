// Whether everybody can use a page, as far as a machine can tell.

import assert from 'node:assert/strict';

import { judge } from './packages.mjs';

/** What the judge finds that keeps people out, by all its rules or by those that are named. */
export async function findings(page, ...rules) {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(judge);
  const { violations } = await page.evaluate((runOnly) => {
    const choice = runOnly.length > 0 ? { runOnly } : {};
    return globalThis.axe.run(document, { ...choice, resultTypes: ['violations'] });
  }, rules);
  const grave = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  return grave.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${help} at ${target}: ${failureSummary}`),
  );
}

/** Fails if the page can be scrolled sideways; names what is too wide for it. */
export async function assertFits(page, name) {
  const { width } = page.viewportSize();
  const wide = await page.evaluate(() => {
    const { scrollWidth } = document.documentElement;
    const boxed = (element) => element.closest('.scroll, pre, svg') !== null;
    const out = (element) => element.getBoundingClientRect().right > innerWidth + 1;
    const culprits = [...document.querySelectorAll('body *')].filter((one) => out(one) && !boxed(one));
    return { scrollWidth, culprits: culprits.slice(0, 5).map((one) => one.outerHTML.slice(0, 80)) };
  });
  const { scrollWidth, culprits } = wide;
  const words = `${name} is ${scrollWidth} px wide on ${width} px, by ${culprits.join('\n')}`;
  assert.ok(scrollWidth <= width, words);
}
