// Walks through the slides of the stage by itself; keys and buttons steer.

const PAUSE = 12000;
const IDLE = 4000;

/** Starts the walk. Returns a function that shows the current slide again after a renewal. */
export function startStage() {
  let shown = "";
  let timer = 0;
  let paused = false;
  let idle = 0;

  const slides = () => [...document.querySelectorAll(".slide")];
  const place = () => Math.max(0, slides().findIndex((slide) => slide.id === shown));
  const element = (id) => document.getElementById(id);

  function show(next) {
    const all = slides();
    if (all.length === 0) return;
    const at = (next + all.length) % all.length;
    shown = all[at].id;
    all.forEach((slide, number) => slide.classList.toggle("shown", number === at));
    const words = `${all[at].dataset.title}, ${at + 1} of ${all.length}${paused ? ", paused" : ""}`;
    if (element("stage-label").textContent !== words) element("stage-label").textContent = words;
    element("stage-pause").textContent = paused ? "Go on" : "Pause";
  }

  function walk() {
    clearTimeout(timer);
    if (!paused) timer = setTimeout(() => { show(place() + 1); walk(); }, PAUSE);
  }

  function go(step) { show(place() + step); walk(); }
  function pause() { paused = !paused; show(place()); walk(); }

  function stir() {
    delete document.body.dataset.idle;
    clearTimeout(idle);
    idle = setTimeout(() => { document.body.dataset.idle = ""; }, IDLE);
  }

  function full() {
    if (document.fullscreenElement) document.exitFullscreen();
    else document.documentElement.requestFullscreen?.().catch(() => {});
  }

  const keys = { ArrowRight: () => go(1), ArrowLeft: () => go(-1), PageDown: () => go(1), PageUp: () => go(-1), " ": pause, f: full };
  addEventListener("keydown", (event) => {
    stir();
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === " " && event.target.closest("button, a")) return;
    event.preventDefault();
    act();
  });
  addEventListener("pointermove", stir);
  document.addEventListener("click", (event) => {
    const acts = { "stage-back": () => go(-1), "stage-forward": () => go(1), "stage-pause": pause };
    acts[event.target.id]?.();
  });
  const again = () => {
    document.body.dataset.slides = "";
    element("stage-controls").hidden = false;
    show(place());
  };
  again();
  walk();
  stir();
  return again;
}
