// Applies a patch: elements by their ids, then lists by the order of their keys.
// The only HTML that arrives is drawn by our own server.

const MAX_MARKED = 16;
const calm = matchMedia("(prefers-reduced-motion: reduce)");

/** Parses an element; a template accepts table rows too. */
function elementOf(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content.firstElementChild;
}

/** Applies a patch. With a `motion` above 0, rows glide to their places in so many milliseconds. */
export function applyPatch(patch, motion = 0) {
  const pace = calm.matches ? 0 : motion;
  const lists = Object.entries(patch.lists ?? {})
    .map(([id, keys]) => ({ list: document.getElementById(id), keys }))
    .filter(({ list }) => list);
  const focus = focusedPlace();
  const before = pace ? lists.flatMap(({ list }) => seenPlaces(list)) : [];
  const fresh = new Map();
  const changed = [];
  for (const [id, html] of Object.entries(patch.set ?? {})) {
    const made = elementOf(html);
    const old = document.getElementById(id);
    if (!made || old?.isEqualNode(made)) continue;
    if (old) putInPlace(old, made);
    else fresh.set(id, made);
    changed.push(made);
  }
  for (const { list, keys } of lists) fillList(list, keys, fresh);
  focusAgain(focus);
  if (pace) {
    glide(before, pace);
    flash(changed.filter((made) => made.isConnected && made.matches("tr, li")));
  }
}

/** Replaces an element; what was scrolled in it, and had the focus of a keyboard, stays so. */
function putInPlace(old, made) {
  const boxes = (element) => [...element.querySelectorAll(".scroll")];
  const before = boxes(old).map((box) => [box.scrollLeft, box.scrollTop, box === document.activeElement]);
  const link = old.contains(document.activeElement) && document.activeElement.getAttribute("href");
  old.replaceWith(made);
  for (const [index, box] of boxes(made).entries()) {
    const [left, top, focused] = before[index] ?? [0, 0, false];
    box.scrollTo({ left, top, behavior: "instant" });
    if (focused) box.focus({ preventScroll: true });
  }
  if (link) made.querySelector(`[href="${CSS.escape(link)}"]`)?.focus({ preventScroll: true });
}

/** Merges patches into one. */
export function mergePatches(patches) {
  const merged = { set: {}, lists: {} };
  for (const patch of patches) {
    Object.assign(merged.set, patch.set);
    Object.assign(merged.lists, patch.lists);
  }
  return merged;
}

/** The current state of all parts that a patch names, as a patch. */
export function presentState(of) {
  const state = { set: {}, lists: {} };
  for (const id of Object.keys(of.lists ?? {})) {
    const items = [...(document.getElementById(id)?.children ?? [])];
    state.lists[id] = items.map((item) => item.id);
    for (const item of items) state.set[item.id] = item.outerHTML;
  }
  for (const id of Object.keys(of.set ?? {})) {
    const element = document.getElementById(id);
    if (element) state.set[id] = element.outerHTML;
  }
  return state;
}

function fillList(list, keys, fresh) {
  const wanted = new Set(keys);
  for (const item of [...list.children]) if (!wanted.has(item.id)) item.remove();
  let place = list.firstElementChild;
  for (const key of keys) {
    const item = fresh.get(key) ?? document.getElementById(key);
    if (!item) continue;
    if (item === place) place = place.nextElementSibling;
    else list.insertBefore(item, place);
  }
}

function seenPlaces(list) {
  const home = list.getBoundingClientRect();
  const places = [...list.children].map((item) => ({ id: item.id, home, box: item.getBoundingClientRect() }));
  return places.filter(({ box }) => box.bottom > 0 && box.top < innerHeight);
}

/** Moves visible items from their old places in their list; the list itself may have moved. */
function glide(before, duration) {
  const moves = before.map(({ id, home, box }) => {
    const item = document.getElementById(id);
    const now = item?.getBoundingClientRect();
    const here = item?.parentElement.getBoundingClientRect();
    return { item, x: box.left - home.left - (now?.left - here?.left), y: box.top - home.top - (now?.top - here?.top) };
  });
  for (const { item, x, y } of moves) {
    if (!item || (Math.abs(x) < 1 && Math.abs(y) < 1)) continue;
    item.animate([{ transform: `translate(${x}px, ${y}px)` }, { transform: "none" }], { duration, easing: "ease-out" });
  }
}

/** Highlights what has changed, unless nearly everything has. */
function flash(items) {
  if (items.length > MAX_MARKED) return;
  for (const item of items) item.animate([{ backgroundColor: "var(--flash)" }, {}], { duration: 1600, easing: "ease-out" });
}

function focusedPlace() {
  const link = document.activeElement;
  const item = link?.closest("tr[id], li[id]");
  return item && { link, id: item.id, href: link.getAttribute("href") };
}

function focusAgain(focus) {
  if (!focus || document.activeElement === focus.link) return;
  const links = document.getElementById(focus.id)?.querySelectorAll("a") ?? [];
  const link = [...links].find((one) => one.getAttribute("href") === focus.href) ?? links[0];
  link?.focus({ preventScroll: true });
}
