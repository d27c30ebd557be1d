// The packages, from where `cargo xtask browser` has put them.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder =
  process.env.LEAGUE_BROWSER_PACKAGES ?? fileURLToPath(new URL('..', import.meta.url));
const require = createRequire(join(folder, 'package.json'));

/** Drives a browser. */
export const { chromium } = require('playwright-core');

/** What judges a page, as a script that runs in the page. */
export const judge = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** Where pictures of pages go on which a test failed. */
export const failures = join(folder, 'failures');
