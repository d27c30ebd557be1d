// Marks parts of the page that can be scrolled further, so that nobody misses what is outside.

const PARTS = ".scroll, #tiles, #latest-rows";

function mark(part) {
  const right = part.scrollWidth - part.clientWidth - part.scrollLeft > 2;
  const below = part.scrollHeight - part.clientHeight - part.scrollTop > 2;
  const more = [right && "right", below && "below"].filter(Boolean).join(" ");
  if (more) part.dataset.more = more;
  else delete part.dataset.more;
}

/** Keeps the marks right while people scroll, the window changes and the page grows. */
export function markScrolls() {
  const all = () => document.querySelectorAll(PARTS).forEach(mark);
  addEventListener("scroll", (event) => event.target instanceof Element && event.target.matches(PARTS) && mark(event.target), true);
  addEventListener("resize", all);
  addEventListener("hashchange", all);
  setInterval(all, 1000);
  all();
}
