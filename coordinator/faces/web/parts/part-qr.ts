import { encode } from 'uqr';
import { type Html, html } from '../web-html.ts';

/** A text for the camera of a phone: one path, dark runs on a light ground in both schemes, as readers expect. `label` says what it is to who does not see it. */
export const qrCode = (text: string, label: string): Html => {
  const { data, size } = encode(text, { ecc: 'M', border: 3 });
  let path = '';
  for (const [y, row] of data.entries())
    for (let x = 0; x < size; x += 1) {
      let width = 0;
      while (row[x + width] === true) width += 1;
      if (width > 0) path += `M${x} ${y}h${width}v1h-${width}z`;
      x += width;
    }
  return html`<svg class="qr" viewBox="0 0 ${size} ${size}" role="img" aria-label="${label}" shape-rendering="crispEdges"><path d="${path}"></path></svg>`;
};
