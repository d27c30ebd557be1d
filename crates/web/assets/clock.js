// Keeps the clocks on the board running between two events.

/** A duration, formatted as the server does. */
export function inWords(millis) {
  const seconds = Math.floor(millis / 1000);
  if (seconds < 1) return "a moment";
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600).toLocaleString("en")} h ${Math.floor(seconds / 60) % 60} min`;
}

export function timeOfDay(date) {
  return date.toLocaleTimeString("en-GB");
}

/** Counts on from the last values of the server, while the page is connected. */
export function runClock() {
  let known = null;
  let since = 0;
  setInterval(() => {
    const progress = document.getElementById("progress");
    if (progress !== known) [known, since] = [progress, Date.now()];
    const { touch, replay } = document.body.dataset;
    if (!progress || touch !== "live" || replay) return;
    const passed = Date.now() - since;
    tell(progress, ".left", Number(progress.dataset.leftMs) - passed);
    tell(progress, ".elapsed", Number(progress.dataset.elapsedMs) + passed);
  }, 1000);
}

function tell(progress, place, millis) {
  const element = progress.querySelector(place);
  if (element && Number.isFinite(millis)) element.textContent = inWords(Math.max(0, millis));
}
