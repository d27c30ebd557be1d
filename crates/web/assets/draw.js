// Repeats the draw of a match from the values on its page, checks the proofs of its players, and
// compares.

const MAX_WORDS = 128;
const WORD_BITS = 64n;

/** Checks every unchecked draw inside an element, and the proofs beside it. */
export function checkDraws(inside) {
  for (const section of inside.querySelectorAll(".draw")) {
    const verdict = section.querySelector(".draw-verdict.unchecked");
    if (verdict && section.dataset.seed) check(section.dataset, verdict);
    const proofs = section.querySelector(".proof-verdict.unchecked");
    if (proofs && section.dataset.evidence) checkProofs(section.dataset, proofs);
  }
}

async function check(draw, verdict) {
  if (!globalThis.crypto?.subtle) {
    verdict.textContent = "Not checked: a browser offers cryptography only over https and on its own machine. Use league verify instead.";
    return;
  }
  const fault = await faultOf(draw).catch(() => "its values cannot be read.");
  verdict.className = `draw-verdict ${fault ? "broken" : "holds"}`;
  verdict.textContent = fault ? `✗ The draw does not hold: ${fault}` : `✓ The draw holds, checked by this browser: ${finding(draw)}`;
}

function finding(draw) {
  const promise = draw.promise ? "the seed is the one that was promised before the round" : "the seed keeps the promise in the result";
  return isNumbered(draw) ? `${promise}, and it leads to ${draw.number}.` : `${promise}.`;
}

/** Whether a number was drawn, and its bounds are known. */
function isNumbered(draw) {
  return draw.number !== undefined && draw.lowest !== undefined;
}

/** What is wrong with a draw; empty if nothing is. */
async function faultOf(draw) {
  const parts = ["league.draw", draw.league, draw.match, draw.mode, draw.seed];
  const promise = await sha256(parts);
  if (promise !== draw.commitment) return "the seed does not fit the commitment in the result.";
  if (draw.promise && promise !== draw.promise) return "the seed is not the one that was promised before the round.";
  if (!isNumbered(draw)) return "";
  const number = await roll(draw, BigInt(draw.lowest), BigInt(draw.highest));
  return number === BigInt(draw.number) ? "" : `the seed leads to ${number}, not to ${draw.number}.`;
}

async function roll(draw, lowest, highest) {
  if (highest < lowest) return lowest;
  const faces = highest - lowest + 1n;
  const limit = ((1n << WORD_BITS) / faces) * faces;
  const parts = [draw.league, draw.match, Number(draw.attempt), ...noncesOf(draw)];
  const seed = await seedOf(draw);
  let word = 0n;
  for (let taken = 0; taken < MAX_WORDS; taken += 1) {
    word = await wordOf(seed, parts, taken);
    if (word < limit) break;
  }
  return lowest + (word % faces);
}

/** The shares of both seats; as JSON where HTML would change a character. */
function noncesOf(draw) {
  return draw.nonces ? JSON.parse(draw.nonces) : [draw.nonceA, draw.nonceB];
}

/** The seed of the first roll of an attempt. */
function seedOf(draw) {
  return mac(unhex(draw.seed), ["attempt_seed", Number(draw.attempt)]);
}

/** Each block yields four words of 64 bits. */
async function wordOf(seed, parts, place) {
  const block = await mac(seed, [...parts, Math.floor(place / 4)]);
  return new DataView(block).getBigUint64((place % 4) * 8);
}

async function checkProofs(draw, verdict) {
  if (!globalThis.crypto?.subtle) return; // the draw beside it says why
  const record = JSON.parse(draw.evidence);
  const nonces = draw.number === undefined ? [] : noncesOf(draw);
  const fault = await proofFault(record, nonces).catch(() => "they cannot be read.");
  const signers = record.seats.filter((player) => signs(record, player));
  const told = record.seats.filter((player) => !signers.includes(player));
  verdict.className = `proof-verdict ${fault ? "broken" : told.length ? "told" : "holds"}`;
  verdict.textContent = fault ? `✗ The players' proofs do not hold: ${fault}` : proofFinding(signers, told);
}

function proofFinding(signers, told) {
  if (!told.length) return "✓ Both players signed: their own keys prove every move, checked by this browser.";
  const rest = `${told.join(" and ")} did not sign: what it did is as the referee told it.`;
  return signers.length ? `✓ ${signers[0]} signed: its own key proves its part, checked by this browser. ${rest}` : rest;
}

/** Whether a key proves the part of a player: that it joined, and each of its moves. */
function signs(record, player) {
  const known = record.players.find(({ player_id }) => player_id === player);
  const moves = record.moves.filter(({ player_id }) => player_id === player);
  return Boolean(known?.key && (known.join || moves.length) && moves.every(({ proof }) => proof));
}

/** How many of the first moves a player could see: none where moves are hidden, and only complete turns where both move at once. */
function openMoves({ hidden, simultaneous }, made) {
  if (hidden) return 0;
  return simultaneous ? made - (made % 2) : made;
}

/** What is wrong with the proofs of a match; empty if nothing is. */
async function proofFault(record, nonces) {
  const none = await sha256([]);
  for (const { player_id, join, key } of record.players) {
    if (!key || !join) continue;
    if (join !== hex(await mac(unhex(key), [0, none, true, ""]))) return `the key of ${player_id} does not prove that it joined.`;
  }
  const made = new Map(record.seats.map((player) => [player, []]));
  const seen = [];
  for (const { player_id, choice, nonce = "", proof } of record.moves) {
    const own = made.get(player_id);
    own.push({ choice, nonce });
    const key = record.players.find((known) => known.player_id === player_id)?.key;
    const signed = [own.length, await sha256(seen.slice(0, openMoves(record, seen.length))), choice, nonce];
    if (key && proof && proof !== hex(await mac(unhex(key), signed))) return `the key of ${player_id} does not prove move ${own.length}.`;
    seen.push([player_id, choice]);
  }
  return record.choices ? resultFault(record, made, nonces) : "";
}

/** Whether a result is about other moves than those that are proven, or a draw about other shares. */
function resultFault({ seats, choices }, made, nonces) {
  for (const [seat, player] of seats.entries()) {
    const moves = made.get(player);
    const told = [choices[player]].flat();
    if (canonical(moves.map(({ choice }) => choice)) !== canonical(told)) return `the result has other moves of ${player}.`;
    if (nonces.length && (moves[0]?.nonce ?? "") !== nonces[seat]) return `the draw has another share of ${player}.`;
  }
  return "";
}

async function mac(key, value) {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", key, algorithm, false, ["sign"]);
  return crypto.subtle.sign("HMAC", imported, bytes(value));
}

async function sha256(value) {
  return hex(await crypto.subtle.digest("SHA-256", bytes(value)));
}

function bytes(value) {
  return new TextEncoder().encode(canonical(value));
}

/** Compact JSON with the members of objects in the order of their names. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  return `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`)}}`;
}

function hex(buffer) {
  return [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function unhex(text) {
  return Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16));
}
