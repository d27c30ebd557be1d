// A process of `league`: started, listened to, ended. Every wait ends with an event or with an
// error that says what was waited for and what the program had said by then.

import { spawn } from 'node:child_process';

/** How long a program may take to say what is waited for, in milliseconds. */
export const PATIENCE = 120_000;

const program = process.env.LEAGUE_BIN ?? 'league';

export class Program {
  #child;
  #said = '';
  #waiting = new Set();

  /** Starts the program with these arguments, in a folder if that matters. */
  constructor(words, folder) {
    this.words = words;
    this.#child = spawn(program, words, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    this.pid = this.#child.pid;
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (text) => this.#hear(text));
    }
    this.ended = new Promise((resolve) => {
      this.#child.once('error', (error) => resolve({ error }));
      this.#child.once('close', (code, signal) => resolve({ code, signal }));
    });
  }

  /** All that it has said so far. */
  get said() {
    return this.#said;
  }

  /** Waits until what it has said matches, and gives the match. */
  async says(pattern, patience = PATIENCE) {
    const found = new Promise((resolve) => {
      const look = () => {
        const match = this.#said.match(pattern);
        if (match) {
          this.#waiting.delete(look);
          resolve(match);
        }
      };
      this.#waiting.add(look);
      look();
    });
    const ended = this.ended.then(({ error }) => {
      throw error ?? new Error(this.#complaint(`say ${pattern} before it ended`));
    });
    return within(patience, [found, ended], () => this.#complaint(`say ${pattern}`));
  }

  /** Waits for its end, and gives its exit code. */
  async ends(patience = PATIENCE) {
    const end = await within(patience, [this.ended], () => this.#complaint('end'));
    if (end.error) throw end.error;
    return end.code;
  }

  /** Waits for its end, which must be a good one; gives what it said. */
  async succeeds(patience = PATIENCE) {
    const code = await this.ends(patience);
    if (code !== 0) throw new Error(this.#complaint(`succeed (it ended with ${code})`));
    return this.#said;
  }

  /** Ends it without a word, as a power cut would. */
  async kill() {
    this.#child.kill('SIGKILL');
    await this.ends();
  }

  #hear(text) {
    this.#said += text;
    for (const look of [...this.#waiting]) look();
  }

  #complaint(what) {
    return `\`league ${this.words.join(' ')}\` did not ${what}; it said:\n${this.#said}`;
  }
}

/** The first of the promises, or an error after `patience` milliseconds. */
export async function within(patience, promises, complaint) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(complaint())), patience);
  });
  try {
    return await Promise.race([...promises, late]);
  } finally {
    clearTimeout(timer);
  }
}
