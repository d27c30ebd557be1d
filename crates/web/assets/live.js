// Follows the feed of the league and says whether the page is in touch with it.

import { timeOfDay } from "./clock.js";

const SILENCE = 15000;
const NEXT_TRY = 4000;
const LAST_WORDS = 15000;

/**
 * Hands every patch of the feed to `take`.
 *
 * A browser has few connections for one server, so only a page that is looked at holds one, and
 * only as long as something can come.
 */
export function followFeed(address, take) {
  let source = null;
  let heard = Date.now();
  let changed = heard;
  let tried = 0;
  let ended = isSettled();

  function listen() {
    leave();
    if (document.hidden || ended) return;
    tried = Date.now();
    source = new EventSource(address);
    source.onopen = hear;
    source.onerror = () => sayLost(heard);
    source.addEventListener("beat", hear);
    source.addEventListener("patch", (event) => {
      changed = Date.now();
      take(JSON.parse(event.data));
      hear();
    });
  }

  function leave() {
    source?.close();
    source = null;
  }

  function hear() {
    heard = Date.now();
    sayTouch("live", stateInWords());
  }

  function look() {
    if (!source) return;
    const now = Date.now();
    const silent = now - heard > SILENCE;
    if (silent) sayLost(heard);
    const closed = source.readyState === EventSource.CLOSED;
    if ((silent || closed) && now - tried > NEXT_TRY) listen();
    ended = isSettled() && now - changed > LAST_WORDS;
    if (ended) leave();
  }

  if (ended) hear();
  listen();
  setInterval(look, 1000);
  addEventListener("pagehide", leave);
  addEventListener("pageshow", (event) => event.persisted && listen());
  document.addEventListener("visibilitychange", listen);
}

/** Whether the league is over. */
function isOver() {
  return document.querySelector(".phase.over, [data-over]") !== null;
}

/** How the league is that the page shows. */
function stateInWords() {
  if (document.body.dataset.replay) return "Replay";
  if (isOver()) return "Final";
  return document.querySelector(".standstill") ? "Interrupted" : "Live";
}

/** Says again how the league is, when the page itself shows another moment of it. */
export function sayState() {
  if (document.body.dataset.touch === "live") sayTouch("live", stateInWords());
}

/** Whether nothing can change here any more: the verdict is there, and all that was said. */
function isSettled() {
  const { page } = document.body.dataset;
  const last = { board: "#verdict:not(:empty)", match: ".messages, .said.silent" }[page];
  return isOver() && (!last || document.querySelector(last) !== null);
}

/** Says in the bar whether the page is in touch, unless it says so already. */
function sayTouch(state, words) {
  document.body.dataset.touch = state;
  const touch = document.getElementById("touch");
  if (touch && touch.textContent !== words) touch.textContent = words;
}

function sayLost(heard) {
  sayTouch("lost", `Out of touch since ${timeOfDay(new Date(heard))}. Trying again…`);
}
