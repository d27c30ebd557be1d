// Follows the feed of the league, and shows the state of the connection.

import { timeOfDay } from "./clock.js";

const MAX_SILENCE = 15000;
const RETRY_PAUSE = 4000;
const FINAL_WAIT = 15000;

/**
 * Passes every patch of the feed to `take`.
 *
 * A browser has few connections per server, so only a visible page holds one, and only while
 * something can still change.
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
    const silent = now - heard > MAX_SILENCE;
    if (silent) sayLost(heard);
    const closed = source.readyState === EventSource.CLOSED;
    if ((silent || closed) && now - tried > RETRY_PAUSE) listen();
    ended = isSettled() && now - changed > FINAL_WAIT;
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

/** The state of the league that the page shows. */
function stateInWords() {
  if (document.body.dataset.replay) return "Replay";
  if (isOver()) return "Final";
  return document.querySelector(".standstill") ? "Interrupted" : "Live";
}

/** Shows the state again, when a replay begins or ends. */
export function sayState() {
  if (document.body.dataset.touch === "live") sayTouch("live", stateInWords());
}

/** Whether nothing can change any more: the verification and all messages are there. */
function isSettled() {
  const { page } = document.body.dataset;
  const last = { board: "#verdict:not(:empty)", match: ".messages, .said.silent" }[page];
  return isOver() && (!last || document.querySelector(last) !== null);
}

/** Shows the state of the connection in the bar, if it has changed. */
function sayTouch(state, words) {
  document.body.dataset.touch = state;
  const touch = document.getElementById("touch");
  if (touch && touch.textContent !== words) touch.textContent = words;
}

function sayLost(heard) {
  sayTouch("lost", `Out of touch since ${timeOfDay(new Date(heard))}. Trying again…`);
}
