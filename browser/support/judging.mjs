// Whether everybody can use a page, as far as a machine can tell.

import { judge } from './packages.mjs';

/** What the judge finds that keeps people out. */
export async function findings(page) {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(judge);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document));
  const grave = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  return grave.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${help} at ${target}: ${failureSummary}`),
  );
}
