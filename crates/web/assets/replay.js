// Replays a league on the board. A recording is a first state and the changes of every frame.

import { applyPatch, mergePatches, presentState } from "./patch.js";

const MIN_TICK = 60;
const MAX_MOTION = 500;

/** Decodes the deltas of a recording into patches. */
function decoded({ start, frames }) {
  const texts = { ...start.set };
  const orders = Object.fromEntries(Object.entries(start.lists ?? {}).map(([id, keys]) => [id, keys.join("\n")]));
  const decode = ({ set = {}, lists = {}, edits = {}, moves = {} }) => {
    const whole = { set: { ...set }, lists: { ...lists } };
    for (const [id, changes] of Object.entries(edits)) whole.set[id] = edited(texts[id], changes);
    for (const [id, changes] of Object.entries(moves)) whole.lists[id] = edited(orders[id], changes).split("\n");
    Object.assign(texts, whole.set);
    for (const [id, keys] of Object.entries(whole.lists)) orders[id] = keys.join("\n");
    return whole;
  };
  return { start, frames: frames.map((frame) => ({ ...frame, patch: decode(frame.patch) })) };
}

/** Applies edits to a text: how many characters to keep, how many to drop, and what to insert. */
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

/** Connects the controls. `open` fetches the recording; `began` and `ended` are called around a replay. */
export function prepareReplay({ open, began, ended }) {
  const part = (name) => document.getElementById(`replay-${name}`);
  const [opener, controls, player, moment, speed, label] = ["open", "controls", "play", "moment", "speed", "label"].map(part);
  let recording = null;
  let present = null;
  let at = 0;
  let timer = 0;

  const results = (place) => (place === 0 ? 0 : recording.frames[place - 1].results);

  /** The next frame at this speed, and the pause until then. */
  function next() {
    const pause = (place) => ((results(place) - results(at)) * 1000) / Number(speed.value);
    let place = at + 1;
    while (place < recording.frames.length && pause(place) < MIN_TICK) place += 1;
    return { place, pause: Math.max(MIN_TICK, pause(place)) };
  }

  /** Offers the speeds with at least one frame per second, and always the highest. */
  function offerSpeeds() {
    const each = results(recording.frames.length) / recording.frames.length;
    const options = [...speed.options];
    const highest = options.at(-1);
    for (const option of options) option.hidden = option.disabled = option !== highest && Number(option.value) < Math.round(each);
    if (speed.selectedOptions[0].disabled) speed.value = options.find((option) => !option.disabled).value;
  }

  function show(next, motion) {
    const target = Math.min(Math.max(next, 0), recording.frames.length);
    const from = target > at ? recording.frames.slice(at, target) : [{ patch: recording.start }, ...recording.frames.slice(0, target)];
    if (target !== at || motion === 0) applyPatch(mergePatches(from.map((frame) => frame.patch)), motion);
    at = target;
    moment.value = String(at);
    const words = at === 0 ? "Before the first result" : recording.frames[at - 1].label;
    label.textContent = `${inThousands(results(at))} of ${inThousands(results(recording.frames.length))} results · ${words}`;
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
      show(place, Math.min(MAX_MOTION, pause * 0.8));
      if (at >= recording.frames.length) stop();
      else wait();
    }, pause);
  }

  function play() {
    if (at >= recording.frames.length) show(0, 0);
    player.textContent = "Pause";
    // A screen reader announces single steps, not running playback.
    label.setAttribute("aria-live", "off");
    wait();
  }

  async function start() {
    opener.disabled = true;
    try {
      recording = decoded(await open());
    } catch {
      opener.textContent = "The replay is not available now. Try again";
      return;
    } finally {
      opener.disabled = false;
    }
    present = presentState(recording.start);
    began();
    opener.hidden = true;
    controls.hidden = false;
    moment.max = String(recording.frames.length);
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
  part("back").addEventListener("click", () => { stop(); show(at - 1, MAX_MOTION); });
  part("forward").addEventListener("click", () => { stop(); show(at + 1, MAX_MOTION); });
  moment.addEventListener("input", () => { stop(); show(Number(moment.value), MIN_TICK * 3); });
  part("close").addEventListener("click", close);
}
