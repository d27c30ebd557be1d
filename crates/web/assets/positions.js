// Turns the positions of a board game into a viewer, with steps and playback.

const SPEEDS = [["Slow", 2000], ["Normal", 1000], ["Fast", 400]];

/** Turns each list of positions inside an element into a viewer. */
export function showPositions(inside) {
  for (const section of inside.querySelectorAll(".positions:not(.viewer)")) makeViewer(section);
}

function makeViewer(section) {
  const positions = [...section.querySelectorAll("li")];
  const last = positions.length - 1;
  if (last < 1) return;
  let at = 0;
  let timer = 0;

  const controls = document.createElement("div");
  controls.className = "controls";
  const button = (text, action) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.addEventListener("click", action);
    controls.append(made);
    return made;
  };
  const go = (next) => { stopPlaying(); show(next); };
  const first = button("First", () => go(0));
  const back = button("Back", () => go(at - 1));
  const player = button("Play", () => (timer ? stopPlaying() : startPlaying()));
  const forward = button("Forward", () => go(at + 1));
  const end = button("Last", () => go(last));
  const speed = document.createElement("select");
  speed.setAttribute("aria-label", "Speed");
  for (const [words, pause] of SPEEDS) speed.add(new Option(words, String(pause), pause === 1000, pause === 1000));
  const label = document.createElement("span");
  label.setAttribute("role", "status");
  controls.append(speed, label);

  function show(next) {
    at = Math.min(Math.max(next, 0), last);
    positions.forEach((position, place) => position.classList.toggle("shown", place === at));
    first.disabled = back.disabled = at === 0;
    forward.disabled = end.disabled = at === last;
    label.textContent = `Move ${at} of ${last}`;
  }

  function stopPlaying() {
    clearTimeout(timer);
    timer = 0;
    player.textContent = "Play";
  }

  function startPlaying() {
    if (at === last) show(0);
    player.textContent = "Pause";
    const step = () => {
      show(at + 1);
      if (at === last || !section.isConnected) stopPlaying();
      else timer = setTimeout(step, Number(speed.value));
    };
    timer = setTimeout(step, Number(speed.value));
  }

  section.classList.add("viewer");
  section.querySelector("ol").before(controls);
  show(last);
}
