// The script that checks draws and proofs, without a page: by the figures that the tests of
// crates/core/src/draw.rs have too, and with each value changed.

import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

// By its text: Node would need a package beside the file to know that it is a module.
const script = readFileSync(new URL('../crates/web/assets/draw.js', import.meta.url), 'utf8');
const { checkDraws } = await import(`data:text/javascript,${encodeURIComponent(script)}`);

const LEAGUE = 'league_2025_even_odd';
const SEED = 'b03f86fad2edc03bc5e54c269ba7e96f45960982371ff157d46d8f7b31815a1f';

const DRAW = {
  league: LEAGUE, match: 'R1M1', attempt: '1', nonces: '["é\\"|",""]', seed: SEED,
  lowest: '1', highest: '10', mode: 'chance', number: '10',
  commitment: '2526cd0942a1a96ea31cba12a4ba97f260b01cb56cee3600aaa30a609a50e8dd',
};

const text = (value) => JSON.stringify(value); // no member of an object is out of order here
const sha256 = (value) => createHash('sha256').update(text(value)).digest('hex');
const mac = (key, value) => createHmac('sha256', Buffer.from(key, 'hex')).update(text(value)).digest('hex');

const KEYS = { P01: 'a1'.repeat(32), P02: 'b2'.repeat(32) };
const joined = (player_id) => ({ player_id, key: KEYS[player_id], join: mac(KEYS[player_id], [0, sha256([]), true, '']) });
const moved = (player_id, turn, seen, choice, nonce) => ({
  player_id, choice, nonce, proof: mac(KEYS[player_id], [turn, sha256(seen), choice, nonce]),
});

/** A match of Even/Odd that both players signed. */
function signed() {
  return {
    seats: ['P01', 'P02'], players: [joined('P01'), joined('P02')], hidden: true,
    moves: [moved('P02', 1, [], 'odd', 'n2'), moved('P01', 1, [], 'even', 'n1')],
    choices: { P01: 'even', P02: 'odd' },
  };
}

/** What the script says of a section with these values: of the draw, and of the proofs. */
async function verdicts(dataset) {
  const verdict = () => ({ className: 'unchecked', textContent: '' });
  const [draw, proof] = [verdict(), verdict()];
  const section = { dataset, querySelector: (which) => (which.startsWith('.draw') ? draw : proof) };
  checkDraws({ querySelectorAll: () => [section] });
  const isPending = () => [dataset.seed && draw, dataset.evidence && proof].some((one) => one && !one.textContent);
  const until = Date.now() + 60_000;
  while (isPending()) {
    assert.ok(Date.now() < until, 'the script comes to a verdict');
    await new Promise((resolve) => { setImmediate(resolve); });
  }
  return { draw, proof };
}

const judged = async (draw) => (await verdicts(draw)).draw;
const proven = async (record, nonces = ['n1', 'n2']) =>
  (await verdicts({ nonceA: nonces[0], nonceB: nonces[1], number: '7', evidence: JSON.stringify(record) })).proof;

test('draws hold', async () => {
  for (const draw of [DRAW, { ...DRAW, promise: DRAW.commitment }]) {
    const { className, textContent } = await judged(draw);
    assert.match(className, /holds/, textContent);
    assert.ok(textContent.includes(`leads to ${draw.number}`), textContent);
  }
});

test('a draw with any value changed does not hold', async () => {
  const changes = [
    { mode: 'reproducible' }, { mode: undefined }, { seed: SEED.replace('b0', 'b1') }, { attempt: '2' }, { nonces: '["",""]' },
    { number: '4' }, { highest: '11' }, { match: 'R1M2' }, { league: 'league_2' }, { promise: '0'.repeat(64) }, { nonces: '[' },
  ];
  for (const change of changes) {
    const { className, textContent } = await judged({ ...DRAW, ...change });
    assert.match(className, /broken/, `${JSON.stringify(change)}: ${textContent}`);
  }
});

test('a draw whose seed is closed stays unchecked', async () => {
  assert.equal((await judged({ ...DRAW, seed: undefined })).className, 'unchecked');
});

test('the keys of both players prove their moves', async () => {
  const { className, textContent } = await proven(signed());
  assert.match(className, /holds/, textContent);
});

test('proofs with any value changed do not hold', async () => {
  const changes = {
    choice: (record) => { record.moves[0].choice = 'even'; record.choices.P02 = 'even'; },
    nonce: (record) => { record.moves[1].nonce = 'n3'; },
    proof: (record) => { record.moves[1].proof = record.moves[0].proof; },
    key: (record) => { record.players[0].key = 'c3'.repeat(32); },
    join: (record) => { record.players[1].join = record.players[0].join; },
    result: (record) => { record.choices.P01 = 'odd'; },
    absent: (record) => { record.moves.pop(); },
    twice: (record) => { record.moves.push(record.moves[0]); },
    stranger: (record) => { record.moves[0].player_id = 'P03'; },
  };
  for (const [name, change] of Object.entries(changes)) {
    const record = signed();
    change(record);
    const { className, textContent } = await proven(record);
    assert.match(className, /broken/, `${name}: ${textContent}`);
  }
  assert.match((await proven(signed(), ['n1', ''])).className, /broken/, 'a share of the draw');
});

test('a player that does not sign is named', async () => {
  const record = signed();
  record.players.pop();
  delete record.moves[0].proof;
  const { className, textContent } = await proven(record);
  assert.match(className, /told/, textContent);
  assert.match(textContent, /P01 signed.*P02 did not sign/);
});

test('a proof covers the moves before it where they are seen', async () => {
  const cells = [['P01', 4], ['P02', 0], ['P01', 8]];
  const turns = { P01: 0, P02: 0 };
  const moves = cells.map(([player, cell], place) => moved(player, (turns[player] += 1), cells.slice(0, place), cell, `n${place}`));
  const record = { ...signed(), hidden: false, moves, choices: { P01: [4, 8], P02: [0] } };
  assert.match((await proven(record, ['n0', 'n1'])).className, /holds/);
  const swapped = { ...record, moves: [moves[1], moves[0], moves[2]] };
  assert.match((await proven(swapped, ['n0', 'n1'])).className, /broken/);
});
