// What a program printed, drawn as a terminal shows it.

/** A page with the command and all that it said. */
export function drawn(command, said) {
  return `<!doctype html><meta charset="utf-8"><title>${escaped(command)}</title>
    <style>
      body { margin: 0; background: #0f141b }
      main { display: inline-block; padding: 20px 24px; background: #0f141b; color: #d7dee8 }
      pre { margin: 0; font: 14px/1.45 "DejaVu Sans Mono", "Liberation Mono", Menlo, monospace }
      b { color: #7cc4ff; font-weight: normal }
    </style>
    <main><pre><b>$ ${escaped(command)}</b>\n${escaped(said.trimEnd())}</pre></main>`;
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
