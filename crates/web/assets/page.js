// Entry point: starts what the page needs.

import { runClock, showLocalTimes } from "./clock.js";
import { checkDraws } from "./draw.js";
import { prepareReplay } from "./replay.js";
import { followFeed, sayState } from "./live.js";
import { fillPacked, unpacked } from "./packed.js";
import { applyPatch } from "./patch.js";
import { showPositions } from "./positions.js";
import { markScrolls } from "./scroll.js";
import { startStage } from "./stage.js";

const MOTION = 600;
const REFRESH_PAUSE = 1000;
const MAX_HELD = 1000;
const { page, feed, id } = document.body.dataset;

/** Patches held back during a replay; `null` outside of one. After too many, the page is reloaded. */
let held = null;

function takePatch(patch) {
  if (held) held = held.slice(-MAX_HELD).concat(patch);
  else applyPatch(patch, document.hidden ? 0 : MOTION);
  offerReplay();
}

/** Offers the replay once there is a result. */
function offerReplay() {
  const replay = document.getElementById("replay");
  const played = Number(document.getElementById("progress")?.dataset.played ?? 0);
  if (replay && (feed || document.getElementById("film"))) replay.hidden = played === 0 && !held;
}

async function openRecording() {
  const own = document.getElementById("film");
  if (own) return unpacked("film");
  const answer = await fetch("film.json");
  if (!answer.ok) throw new Error(`no replay: ${answer.status}`);
  return answer.json();
}

function replayBegan() {
  held = [];
  document.body.dataset.replay = "on";
  sayState();
}

function replayEnded() {
  const waiting = held ?? [];
  held = null;
  if (waiting.length > MAX_HELD) location.reload();
  for (const patch of waiting) applyPatch(patch);
  delete document.body.dataset.replay;
  sayState();
}

let fetching = false;
let stale = false;

/** Whether a changed id belongs to this page; a round includes all its matches. */
function concerns(one) {
  return one === id || one === "*" || (page === "round" && one.startsWith(`${id}M`));
}

/** Refreshes the page when the feed says that its subject has changed. */
async function takeTouched({ touched = [] }) {
  if (page !== "stage" && !touched.some(concerns)) return;
  stale = true;
  if (fetching) return;
  fetching = true;
  while (stale) {
    stale = false;
    await renew().catch(() => {});
    await new Promise((done) => setTimeout(done, REFRESH_PAUSE));
  }
  fetching = false;
}

async function renew() {
  const answer = await fetch(location.href);
  if (!answer.ok) return;
  const view = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = view.getElementById("main");
  document.body.toggleAttribute("data-over", view.body.hasAttribute("data-over"));
  const main = document.getElementById("main");
  const text = fresh.innerHTML;
  if (text === shown) return;
  shown = text;
  const open = [...main.querySelectorAll("details")].map((one) => one.open);
  main.replaceChildren(...fresh.childNodes);
  main.querySelectorAll("details").forEach((one, place) => { one.open = open[place] ?? false; });
  enliven(main);
  showSlide?.();
  sayState();
}

function enliven(inside) {
  checkDraws(inside);
  showPositions(inside);
}

/** In a report, only the visible page is enlivened. */
async function enlivenTarget() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  await fillPacked(target);
  enliven(target);
}

let shown = document.getElementById("main").innerHTML;
const showSlide = page === "stage" ? startStage() : null;
showLocalTimes();
markScrolls();

if (page === "report") {
  enlivenTarget();
  addEventListener("hashchange", enlivenTarget);
} else {
  enliven(document);
}
if (document.getElementById("replay")) {
  prepareReplay({ open: openRecording, began: replayBegan, ended: replayEnded });
  offerReplay();
}
if (feed) {
  followFeed(feed, page === "board" ? takePatch : takeTouched);
  runClock();
}
