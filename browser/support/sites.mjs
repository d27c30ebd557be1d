// Leagues that are over, served or written down as one file.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { pageOf } from './reading.mjs';

/** Serves a league's folder; gives a function that makes addresses of it. */
export async function served(stage, root) {
  const site = await pageOf(stage.start('serve', root, '--port', '0'));
  return (path = '/') => new URL(path, site).href;
}

/** Writes a league as one file; gives its address. */
export async function reported(stage, root) {
  const file = join(stage.folder(), 'league.html');
  await stage.start('report', root, '-o', file).succeeds();
  if (!existsSync(file)) throw new Error('no report was written');
  return pathToFileURL(file).href;
}
