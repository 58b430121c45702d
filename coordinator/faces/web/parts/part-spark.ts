import { type Html, html } from '../web-html.ts';

/** In half pixels; across, one for each value: a page has fifty of these, and whole numbers that are the same in all cost next to nothing. */
const [height, margin] = [48, 4];

/**
 * Response times as one line, oldest first; where there is none the line breaks. It shows a shape, not a size: small changes stay small, because
 * its height is at least a third of its highest value.
 */
export const spark = (values: readonly (number | null)[], words: string): Html | null => {
  const present = values.filter((value) => value !== null);
  if (present.length < 2) return null;
  const most = Math.max(...present);
  const range = Math.max(most - Math.min(...present), most / 3) || 1;
  const least = (most + Math.min(...present) - range) / 2;
  let path = '';
  let pen = false;
  for (const [at, value] of values.entries()) {
    if (value === null) pen = false;
    else {
      const y = Math.round(height - margin - ((value - least) / range) * (height - 2 * margin));
      path += `${pen ? 'L' : 'M'}${at} ${y}`;
      pen = true;
    }
  }
  return html`<svg class="spark" viewBox="0 0 ${values.length - 1} ${height}" preserveAspectRatio="none" role="img" aria-label="${words}"><path d="${path}" vector-effect="non-scaling-stroke"></path></svg>`;
};
