// Plays a league back on the board: a film is a first state and what every moment changed in it.

import { applyPatch, mergePatches, presentState } from "./patch.js";

const SHORTEST_TICK = 60;
const LONGEST_MOTION = 500;

/** The film with a patch for each moment, made from the texts of the moment before. */
function unfolded({ start, frames }) {
  const texts = { ...start.set };
  const orders = Object.fromEntries(Object.entries(start.lists ?? {}).map(([id, keys]) => [id, keys.join("\n")]));
  const open = ({ set = {}, lists = {}, edits = {}, moves = {} }) => {
    const whole = { set: { ...set }, lists: { ...lists } };
    for (const [id, changes] of Object.entries(edits)) whole.set[id] = edited(texts[id], changes);
    for (const [id, changes] of Object.entries(moves)) whole.lists[id] = edited(orders[id], changes).split("\n");
    Object.assign(texts, whole.set);
    for (const [id, keys] of Object.entries(whole.lists)) orders[id] = keys.join("\n");
    return whole;
  };
  return { start, frames: frames.map((frame) => ({ ...frame, patch: open(frame.patch) })) };
}

/** A text after edits: so many signs are kept, so many dropped, and others put in their place. */
function edited(text, changes) {
  let fresh = "";
  let place = 0;
  for (const [kept, dropped, put] of changes) {
    fresh += text.slice(place, place + kept) + put;
    place += kept + dropped;
  }
  return fresh + text.slice(place);
}

function inThousands(number) {
  return number.toLocaleString("en");
}

/** Makes the controls work. `open` fetches the film; `began` and `ended` tell when the board is not the present one. */
export function prepareReplay({ open, began, ended }) {
  const part = (name) => document.getElementById(`replay-${name}`);
  const [opener, controls, player, moment, speed, label] = ["open", "controls", "play", "moment", "speed", "label"].map(part);
  let film = null;
  let present = null;
  let at = 0;
  let timer = 0;

  const results = (place) => (place === 0 ? 0 : film.frames[place - 1].results);

  /** The moment that comes next at this speed, and how long it takes until then. */
  function next() {
    const pause = (place) => ((results(place) - results(at)) * 1000) / Number(speed.value);
    let place = at + 1;
    while (place < film.frames.length && pause(place) < SHORTEST_TICK) place += 1;
    return { place, pause: Math.max(SHORTEST_TICK, pause(place)) };
  }

  /** Offers the speeds at which a moment comes every second at least, and the highest in any case. */
  function offerSpeeds() {
    const each = results(film.frames.length) / film.frames.length;
    const options = [...speed.options];
    const highest = options.at(-1);
    for (const option of options) option.hidden = option.disabled = option !== highest && Number(option.value) < Math.round(each);
    if (speed.selectedOptions[0].disabled) speed.value = options.find((option) => !option.disabled).value;
  }

  function show(next, motion) {
    const target = Math.min(Math.max(next, 0), film.frames.length);
    const from = target > at ? film.frames.slice(at, target) : [{ patch: film.start }, ...film.frames.slice(0, target)];
    if (target !== at || motion === 0) applyPatch(mergePatches(from.map((frame) => frame.patch)), motion);
    at = target;
    moment.value = String(at);
    const words = at === 0 ? "Before the first result" : film.frames[at - 1].label;
    label.textContent = `${inThousands(results(at))} of ${inThousands(results(film.frames.length))} results · ${words}`;
    moment.setAttribute("aria-valuetext", words);
  }

  function stop() {
    clearTimeout(timer);
    timer = 0;
    player.textContent = "Play";
    label.setAttribute("aria-live", "polite");
  }

  function wait() {
    const { place, pause } = next();
    timer = setTimeout(() => {
      show(place, Math.min(LONGEST_MOTION, pause * 0.8));
      if (at >= film.frames.length) stop();
      else wait();
    }, pause);
  }

  function play() {
    if (at >= film.frames.length) show(0, 0);
    player.textContent = "Pause";
    // A screen reader is told of single steps, not of a film that runs.
    label.setAttribute("aria-live", "off");
    wait();
  }

  async function start() {
    opener.disabled = true;
    try {
      film = unfolded(await open());
    } catch {
      opener.textContent = "The replay is not available now. Try again";
      return;
    } finally {
      opener.disabled = false;
    }
    present = presentState(film.start);
    began();
    opener.hidden = true;
    controls.hidden = false;
    moment.max = String(film.frames.length);
    offerSpeeds();
    show(0, 0);
    play();
    player.focus();
  }

  function close() {
    stop();
    applyPatch(present);
    controls.hidden = true;
    opener.hidden = false;
    opener.focus();
    ended();
  }

  opener.addEventListener("click", start);
  player.addEventListener("click", () => (timer ? stop() : play()));
  part("back").addEventListener("click", () => { stop(); show(at - 1, LONGEST_MOTION); });
  part("forward").addEventListener("click", () => { stop(); show(at + 1, LONGEST_MOTION); });
  moment.addEventListener("input", () => { stop(); show(Number(moment.value), SHORTEST_TICK * 3); });
  part("close").addEventListener("click", close);
}
