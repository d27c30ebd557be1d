// Unpacks what a report holds in packs: texts of JSON, packed so that the file is small.

const opened = new Map();

/** What the pack of this id holds; it is unpacked once. */
export function unpacked(id) {
  if (!opened.has(id)) opened.set(id, unpack(document.getElementById(id).textContent));
  return opened.get(id);
}

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** Puts what is packed of a page in its place. A browser that cannot unpack leaves it as it is. */
export async function fillPacked(page) {
  const place = page.querySelector("[data-pack]");
  if (!place) return;
  const pages = await unpacked(place.dataset.pack).catch(() => ({}));
  if (!pages[page.id] || !place.isConnected) return;
  const template = document.createElement("template");
  template.innerHTML = pages[page.id];
  place.replaceWith(template.content);
}
