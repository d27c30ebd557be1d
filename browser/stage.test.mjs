// The watchfulness of every other test: what a page does wrong fails its scene by itself.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { findings } from './support/judging.mjs';
import { Stage, closed } from './support/stage.mjs';

after(closed);

/** Shows a page with this body; gives what it was found to do wrong, and what the judge found. */
async function looked(body) {
  const stage = new Stage('stage');
  try {
    const file = join(stage.folder(), 'page.html');
    writeFileSync(file, `<!doctype html><html lang="en"><title>Page</title>${body}`);
    const page = await stage.visit(pathToFileURL(file).href);
    return { judged: await findings(page), wrong: complaint(stage) };
  } finally {
    await stage.close();
  }
}

function complaint(stage) {
  try {
    stage.assertQuiet();
    return '';
  } catch (error) {
    return error.message;
  }
}

test('whatever a page does wrong is noticed', async () => {
  const { judged, wrong } = await looked(`
    <script>console.error("oh"); alert("hello"); nobody()</script>
    <img alt="" src="http://127.0.0.1:9/x.png">
    <button></button>`);
  assert.match(wrong, /error: oh/);
  assert.match(wrong, /dialog: hello/);
  assert.match(wrong, /uncaught: .*nobody/);
  assert.match(wrong, /outside: http:/);
  assert.match(judged.join(), /button-name/);
});

test('a page that does nothing wrong passes', async () => {
  const { judged, wrong } = await looked('<main><h1>Page</h1><img alt="" src="data:,"></main>');
  assert.deepEqual(judged, []);
  assert.equal(wrong, '');
});
