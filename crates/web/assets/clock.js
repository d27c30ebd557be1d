// Keeps the clocks of a page running between two events, and shows times as the viewer's clock does.

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

const two = (number) => String(number).padStart(2, "0");

/** Shows a moment by the viewer's clock, in the words of the server; UTC stays as it is. */
function toLocal(element) {
  const at = new Date(element.dateTime);
  if (element.dataset.local === element.dateTime || Number.isNaN(at.getTime()) || at.getTimezoneOffset() === 0) return;
  element.dataset.local = element.dateTime;
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(":");
  const day = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join("-");
  element.textContent = element.textContent.includes("UTC") ? `${day} ${time}` : time;
}

/** Counts down to a moment: until time is up, or until something begins. */
function countDown(element) {
  const { untilMs, after } = element.dataset;
  const left = Number(untilMs) - Date.now();
  const ahead = after ? `in ${inWords(left)}` : `${inWords(left)} left`;
  const words = left > 0 ? ahead : after ?? "time is up";
  if (element.textContent !== words) element.textContent = words;
}

/** Shows all times of the page by the viewer's clock, also those that come later. */
export function showLocalTimes() {
  const zone = document.getElementById("zone");
  if (zone && new Date().getTimezoneOffset() !== 0) {
    zone.textContent = `Times are as on your clock (${Intl.DateTimeFormat().resolvedOptions().timeZone}).`;
  }
  const all = (inside) => {
    inside.querySelectorAll("time[datetime]").forEach(toLocal);
    inside.querySelectorAll(".countdown[data-until-ms]").forEach(countDown);
  };
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes) for (const node of addedNodes) if (node instanceof Element) all(node);
  }).observe(document.body, { childList: true, subtree: true });
  all(document);
  setInterval(() => all(document), 500);
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
