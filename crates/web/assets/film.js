// Plays a league back on the board: a film is a first state and a patch for every result.

import { applyPatch, mergePatches, presentState } from "./patch.js";

const SHORTEST_TICK = 60;
const LONGEST_MOTION = 500;

/** Makes the controls work. `open` fetches the film; `began` and `ended` tell when the board is not the present one. */
export function prepareReplay({ open, began, ended }) {
  const part = (name) => document.getElementById(`replay-${name}`);
  const [opener, controls, player, moment, speed, label] = ["open", "controls", "play", "moment", "speed", "label"].map(part);
  let film = null;
  let present = null;
  let at = 0;
  let timer = 0;

  const tick = () => Math.max(SHORTEST_TICK, 1000 / Number(speed.value));
  const stride = () => Math.max(1, Math.round((Number(speed.value) * tick()) / 1000));

  function show(next, motion) {
    const target = Math.min(Math.max(next, 0), film.frames.length);
    const from = target > at ? film.frames.slice(at, target) : [{ patch: film.start }, ...film.frames.slice(0, target)];
    if (target !== at || motion === 0) applyPatch(mergePatches(from.map((frame) => frame.patch)), motion);
    at = target;
    moment.value = String(at);
    const words = at === 0 ? "Before the first result" : film.frames[at - 1].label;
    label.textContent = `${at} of ${film.frames.length}: ${words}`;
    moment.setAttribute("aria-valuetext", words);
  }

  function stop() {
    clearTimeout(timer);
    timer = 0;
    player.textContent = "Play";
    label.setAttribute("aria-live", "polite");
  }

  function step() {
    show(at + stride(), Math.min(LONGEST_MOTION, tick() * 0.8));
    if (at >= film.frames.length) stop();
    else timer = setTimeout(step, tick());
  }

  function play() {
    if (at >= film.frames.length) show(0, 0);
    player.textContent = "Pause";
    // A screen reader is told of single steps, not of a film that runs.
    label.setAttribute("aria-live", "off");
    timer = setTimeout(step, tick());
  }

  async function start() {
    opener.disabled = true;
    try {
      film = await open();
    } catch {
      opener.textContent = "The film cannot be had now. Try again";
      return;
    } finally {
      opener.disabled = false;
    }
    present = presentState(film.start);
    began();
    opener.hidden = true;
    controls.hidden = false;
    moment.max = String(film.frames.length);
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
