// Repeats the draw of a match from the values on its page, and compares.

const MAX_WORDS = 128;
const WORD_BITS = 64n;

/** Checks every unchecked draw inside an element. */
export function checkDraws(inside) {
  for (const section of inside.querySelectorAll(".draw")) {
    const verdict = section.querySelector(".draw-verdict.unchecked");
    if (verdict) check(section.dataset, verdict);
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
  const promise = hex(await crypto.subtle.digest("SHA-256", bytes(["league.draw", draw.league, draw.match, draw.seed])));
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
  const nonces = draw.nonces ? JSON.parse(draw.nonces) : [draw.nonceA, draw.nonceB];
  const key = await crypto.subtle.importKey("raw", unhex(draw.seed), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  let word = 0n;
  for (let taken = 0; taken < MAX_WORDS; taken += 1) {
    word = await wordOf(key, [draw.league, draw.match, Number(draw.attempt), ...nonces], taken);
    if (word < limit) break;
  }
  return lowest + (word % faces);
}

/** Each block yields four words of 64 bits. */
async function wordOf(key, parts, place) {
  const block = await crypto.subtle.sign("HMAC", key, bytes([...parts, Math.floor(place / 4)]));
  return new DataView(block).getBigUint64((place % 4) * 8);
}

function bytes(value) {
  return new TextEncoder().encode(JSON.stringify(value));
}

function hex(buffer) {
  return [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function unhex(text) {
  return Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16));
}
