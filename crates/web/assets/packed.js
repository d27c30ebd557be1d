// Unpacks the compressed JSON of a report.

const opened = new Map();

/** The content of a pack; each is unpacked once. */
export function unpacked(id) {
  if (!opened.has(id)) opened.set(id, unpack(document.getElementById(id).textContent));
  return opened.get(id);
}

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** Replaces the placeholder of a page by its packed details, if the browser can unpack them. */
export async function fillPacked(page) {
  const place = page.querySelector("[data-pack]");
  if (!place) return;
  const pages = await unpacked(place.dataset.pack).catch(() => ({}));
  if (!pages[page.id] || !place.isConnected) return;
  const template = document.createElement("template");
  template.innerHTML = pages[page.id];
  place.replaceWith(template.content);
}
