// Leagues that somebody has changed afterwards. The careful forger makes every checksum and the
// whole chain right again, so that nothing but the draw itself can tell.

import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { leagueId, match } from './leagues.mjs';

/** Gives a match another number of the same parity, in the journal and in the file of the match. */
export function forgeNumber(root, id, { careful }) {
  const drawn = match(root, id).result.drawn_number;
  const other = drawn > 2 ? drawn - 2 : drawn + 2;
  const changed = (text) =>
    text
      .replaceAll(new RegExp(`("drawn_number": ?)${drawn}\\b`, 'g'), `$1${other}`)
      .replaceAll(`number was ${drawn} (`, `number was ${other} (`);
  const league = leagueId(root);
  rewrite(join(root, 'data/matches', league, `${id}.json`), changed);
  rewrite(join(root, 'data/leagues', league, 'journal.jsonl'), (journal) => {
    const lines = journal.trimEnd().split('\n');
    const isResult = (line) => line.includes('"result_recorded"') && line.includes(`"${id}"`);
    const forged = lines.map((line) => (isResult(line) ? changed(line) : line));
    return `${(careful ? chained(forged) : forged).join('\n')}\n`;
  });
  return { drawn, other };
}

/** Turns the choice of seat A in a match of Even/Odd round, wherever the journal has it. */
export function forgeChoice(root, id) {
  rewrite(join(root, 'data/leagues', leagueId(root), 'journal.jsonl'), (journal) => {
    const forged = journal.trimEnd().split('\n').map((line) => {
      const entry = JSON.parse(line);
      const recorded = entry.fact.event?.result_recorded;
      if (recorded?.match_id !== id) return line;
      const { players: [player], choices, evidence } = recorded.result;
      choices[player] = choices[player] === 'even' ? 'odd' : 'even';
      evidence.moves.find((made) => made.player_id === player).choice = choices[player];
      return JSON.stringify(entry);
    });
    return `${chained(forged).join('\n')}\n`;
  });
}

function rewrite(file, change) {
  const before = readFileSync(file, 'utf8');
  const after = change(before);
  if (after === before) throw new Error(`nothing was changed in ${file}`);
  writeFileSync(file, after);
}

/** The same lines, each with the hash of the line before it and its own checksum. */
function chained(lines) {
  let previous = '0'.repeat(64);
  return lines.map((line) => {
    const rest = line
      .replace(/^\{"crc32":"[0-9a-f]{8}",/, '')
      .replace(/"previous":"[0-9a-f]{64}"/, `"previous":"${previous}"`);
    const whole = `{"crc32":"${crc32(rest)}",${rest}`;
    previous = createHash('sha256').update(whole).digest('hex');
    return whole;
  });
}

function crc32(text) {
  let sum = 0xffffffff;
  for (const byte of Buffer.from(text)) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ((sum ^ 0xffffffff) >>> 0).toString(16).padStart(8, '0');
}
