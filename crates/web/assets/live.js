// Follows the feed of the league and says whether the page is in touch with it.

import { timeOfDay } from "./clock.js";

const SILENCE = 15000;
const NEXT_TRY = 4000;

/** Hands every patch of the feed to `take`. */
export function followFeed(address, take) {
  let source = null;
  let heard = Date.now();
  let tried = 0;

  function listen() {
    source?.close();
    tried = Date.now();
    source = new EventSource(address);
    source.onopen = hear;
    source.onerror = () => sayLost(heard);
    source.addEventListener("beat", hear);
    source.addEventListener("patch", (event) => {
      take(JSON.parse(event.data));
      hear();
    });
  }

  function hear() {
    heard = Date.now();
    const over = document.querySelector(".phase.over, [data-over]");
    sayTouch("live", over ? "Final" : "Live");
  }

  function look() {
    const silent = Date.now() - heard > SILENCE;
    if (silent) sayLost(heard);
    const over = source.readyState === EventSource.CLOSED;
    if ((silent || over) && Date.now() - tried > NEXT_TRY) listen();
  }

  listen();
  setInterval(look, 1000);
  addEventListener("pagehide", () => source.close());
  addEventListener("pageshow", (event) => event.persisted && listen());
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
