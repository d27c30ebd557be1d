// A stage: folders, programs and pages that are gone when it is closed, and a close watch on what
// the pages do. What is played on it is left to the scenes.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { chromium, failures } from './packages.mjs';
import { Program } from './program.mjs';

/** How long a page may take to show what is waited for, in milliseconds: a busy machine is slow. */
const PATIENCE = 90_000;

/** The window of whoever names no other. */
const WINDOW = { width: 1280, height: 800 };

let browser;

/** The browser of all scenes of a file. */
function opened() {
  // Chromium refuses its sandbox to the superuser; the pages are all our own.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  browser ??= chromium.launch({ executablePath: process.env.LEAGUE_CHROMIUM, args });
  return browser;
}

/** Closes the browser, if it was opened. */
export async function closed() {
  if (browser) await (await browser).close();
}

/** Folders, programs and pages of a test, and what the pages complained of. */
export class Stage {
  #name;
  #folders = [];
  #programs = [];
  #contexts = [];
  #afterwards = [];
  #complaints = [];

  constructor(name) {
    this.#name = name;
  }

  /** A new empty folder. */
  folder() {
    const folder = mkdtempSync(join(tmpdir(), 'league-browser-'));
    this.#folders.push(folder);
    return folder;
  }

  /** Starts `league` with these arguments. */
  start(...words) {
    return this.startIn(undefined, ...words);
  }

  /** Starts `league` in a folder, so that it can name its files shortly. */
  startIn(folder, ...words) {
    const program = new Program(words, folder);
    this.#programs.push(program);
    return program;
  }

  /**
   * Opens a page and goes to the address.
   *
   * @param forgiven what the page may complain of, as a pattern
   * @param prepared a function that runs in the page before anything else does
   * @param settings of the browser, such as `javaScriptEnabled`, `colorScheme`, `viewport`
   */
  async visit(address, { forgiven, prepared, ...settings } = {}) {
    const context = await (await opened()).newContext({
      viewport: WINDOW,
      locale: 'en-GB',
      timezoneId: 'UTC',
      ...settings,
    });
    this.#contexts.push(context);
    context.setDefaultTimeout(PATIENCE);
    if (prepared) await context.addInitScript(prepared);
    const page = await context.newPage();
    this.#listen(page, new URL(address), forgiven);
    page.answer = await page.goto(address);
    return page;
  }

  /** Has something done when the scene is over. */
  afterwards(act) {
    this.#afterwards.push(act);
  }

  /** Fails if a page has complained of anything. */
  assertQuiet() {
    assert.deepEqual(this.#complaints, []);
  }

  /** Keeps what the pages look like now, for whoever mends the failure. */
  async keepPictures() {
    const pages = this.#contexts.flatMap((context) => context.pages());
    mkdirSync(failures, { recursive: true });
    for (const [index, page] of pages.entries()) {
      const path = join(failures, `${this.#name.replaceAll(/\W+/g, '-')}-${index}.png`);
      // The picture is a kindness; the failure itself is what has to be told.
      await page.screenshot({ path, timeout: PATIENCE }).catch(() => {});
    }
  }

  /** Ends all that was begun. */
  async close() {
    for (const context of this.#contexts) await context.close();
    for (const program of this.#programs) await program.kill();
    for (const act of this.#afterwards) await act();
    for (const folder of this.#folders) rmSync(folder, { recursive: true, force: true });
  }

  #listen(page, address, forgiven) {
    const complain = (text) => {
      if (!forgiven?.test(text)) this.#complaints.push(text);
    };
    page.on('console', (message) => {
      const type = message.type();
      if (type === 'error' || type === 'warning') complain(`${type}: ${message.text()}`);
    });
    page.on('pageerror', (error) => complain(`uncaught: ${error}`));
    page.on('dialog', async (dialog) => {
      complain(`dialog: ${dialog.message()}`);
      await dialog.dismiss();
    });
    page.on('request', (request) => {
      if (!isOwn(new URL(request.url()), address)) complain(`outside: ${request.url()}`);
    });
  }
}

/** Whether a page may ask for this: its own site, or nothing but itself if it is a file. */
function isOwn(asked, address) {
  if (address.protocol === 'file:') return asked.href.split('#')[0] === address.href.split('#')[0];
  return asked.origin === address.origin;
}
