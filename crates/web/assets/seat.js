// The seat of a person: joins with a code, shows what the server draws, sends the choice.
// The seat's secret stays in the storage of this page and is shown to this server only.

import { inWords } from "./clock.js";

const KEY = "league-seat";
const RETRY = 2000;
const seat = document.getElementById("seat");
const form = document.getElementById("join");
const note = document.getElementById("note");
const code = document.getElementById("code");
/** The line at the top, which screen readers tell when it changes. */
const state = document.getElementById("touch");

let secret = localStorage.getItem(KEY);
let seen = -1;
/** Ends the open question for news; a new one is asked only by `follow`. */
let waiting = null;

const pause = (millis) => new Promise((done) => setTimeout(done, millis));

async function post(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  if (secret) headers.Authorization = `Bearer ${secret}`;
  const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal });
  return { status: answer.status, ...(await answer.json()) };
}

function say(sentence = "") {
  note.textContent = sentence;
}

function show(html) {
  const inside = seat.contains(document.activeElement);
  const open = seat.querySelector("details")?.open ?? false;
  const template = document.createElement("template");
  template.innerHTML = html;
  seat.replaceChildren(template.content);
  const rules = seat.querySelector("details");
  if (rules) rules.open = open;
  const clock = seat.querySelector(".clock");
  if (clock) clock.dataset.until = Date.now() + Number(clock.dataset.leftMs);
  state.textContent = seat.querySelector("h1")?.textContent ?? "";
  if (inside) seat.querySelector("button")?.focus({ preventScroll: true });
}

function forgetSeat() {
  localStorage.removeItem(KEY);
  secret = null;
  seen = -1;
  seat.replaceChildren();
}

/** Shows the form, or joins at once by a link that says the name too. */
function enter() {
  form.hidden = false;
  if (given.has("name")) form.requestSubmit();
}

/** Shows each change of the seat, until the league is over or the person leaves. */
async function follow() {
  form.hidden = true;
  const own = (waiting = new AbortController());
  while (secret && waiting === own) {
    try {
      const answer = await post("play/turn", { seen }, own.signal);
      if (answer.status === 401) {
        forgetSeat();
        say(answer.error);
        enter();
        return;
      }
      if (answer.status !== 200) throw new Error(answer.error);
      if (answer.version !== seen) {
        say();
        show(answer.html);
      }
      seen = answer.version;
      if (answer.over) return;
    } catch {
      if (own.signal.aborted) return;
      say("The connection is lost; trying again.");
      seen = -1;
      await pause(RETRY);
    }
  }
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { name } = form.elements;
  const button = form.querySelector("button");
  button.disabled = true;
  try {
    const answer = await post("play/join", { name: name.value, code: code.value });
    if (answer.status !== 200) return say(answer.error);
    secret = answer.seat;
    localStorage.setItem(KEY, secret);
    say();
    follow();
  } catch {
    say("The league does not answer; try again.");
  } finally {
    button.disabled = false;
  }
});

seat.addEventListener("click", async ({ target }) => {
  const button = target.closest("button");
  if (!button) return;
  const { match, number, choice } = button.dataset;
  try {
    if (match) {
      for (const one of seat.querySelectorAll(".choice")) one.disabled = true;
      const answer = await post("play/move", { match_id: match, number: Number(number), choice: JSON.parse(choice) });
      say(answer.status === 200 ? "" : answer.error);
      if (answer.status !== 200) for (const one of seat.querySelectorAll(".choice")) one.disabled = false;
    } else if ("leave" in button.dataset) {
      waiting?.abort();
      const answer = await post("play/leave", {});
      show(answer.html);
    } else if ("return" in button.dataset) {
      seen = -1;
      follow();
    }
  } catch {
    say("The league does not answer; try again.");
    for (const one of seat.querySelectorAll(".choice")) one.disabled = false;
  }
});

setInterval(() => {
  const clock = seat.querySelector(".clock");
  if (clock) clock.textContent = inWords(Math.max(0, Number(clock.dataset.until) - Date.now()));
}, 500);

const given = new URLSearchParams(location.hash.slice(1));
if (given.has("code")) {
  code.value = given.get("code");
  form.elements.name.value = given.get("name") ?? "";
  history.replaceState(null, "", location.pathname);
}
if (secret) follow();
else enter();
