// Leagues that were played, and what their files say.

import { cpSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Plays a league to its end in a new folder, and gives the folder. */
export async function played(stage, ...words) {
  const root = stage.folder();
  const league = stage.start('run', '--ports', 'auto', '--quiet', '--root', root, ...words);
  await league.succeeds();
  return root;
}

/** A copy of a league's folder, to be changed. */
export function copied(stage, root) {
  const copy = stage.folder();
  cpSync(root, copy, { recursive: true });
  return copy;
}

/** The id of the only league of a folder. */
export function leagueId(root) {
  const ids = readdirSync(join(root, 'data/leagues'));
  if (ids.length !== 1) throw new Error(`not one league but ${ids}`);
  return ids[0];
}

/** The table as the file has it: `rank`, `player_id`, `display_name`, `points` and so on. */
export function standings(root) {
  return document(root, 'data/leagues', leagueId(root), 'standings.json').standings;
}

/** What is written of a match. */
export function match(root, id) {
  return document(root, 'data/matches', leagueId(root), `${id}.json`);
}

/** The reason of a result as pages tell it: with names in place of ids. */
export function reason(root, id) {
  const names = new Map(standings(root).map((row) => [row.player_id, row.display_name]));
  return match(root, id).result.reason.replaceAll(/[\w-]+/g, (word) => names.get(word) ?? word);
}

/** The ids of all matches that have a file. */
export function matches(root) {
  const files = readdirSync(join(root, 'data/matches', leagueId(root)));
  return files.map((file) => file.replace('.json', '')).sort();
}

function document(root, ...parts) {
  return JSON.parse(readFileSync(join(root, ...parts), 'utf8'));
}
