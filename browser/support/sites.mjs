// Leagues that are over, served or written down as one file.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { pageOf } from './reading.mjs';

/** Serves a league's folder; gives a function that makes addresses of it. */
export async function served(stage, root) {
  const site = await pageOf(stage.start('serve', root, '--port', '0'));
  return (path = '/') => new URL(path, site).href;
}

/** Writes a league as one file; gives its address. The exit code says whether the league verifies. */
export async function reported(stage, root, code = 0) {
  const file = join(stage.folder(), 'league.html');
  assert.equal(await stage.start('export', root, '-o', file).ends(), code);
  return pathToFileURL(file).href;
}
