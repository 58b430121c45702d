/** Round numbers for an axis that begins at nothing: the top and the steps, at most five of them. */
export const axisOf = (most: number): { readonly top: number; readonly ticks: readonly number[] } => {
  const wanted = Math.max(most, 1) / 4;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= wanted) ?? wanted;
  const count = Math.max(1, Math.ceil(Math.max(most, 1) / step));
  return { top: step * count, ticks: Array.from({ length: count + 1 }, (_, at) => Number((at * step).toFixed(6))) };
};

/** So many moments, evenly from the first to the last. */
export const momentsBetween = (from: number, to: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, at) => from + ((to - from) * at) / (count - 1));

export type Point = { readonly at: number; readonly value: number | null };

/** One line, broken where nothing was seen for longer than `gap`. A point alone is drawn as a short stroke, so that it can be seen. */
export const linePath = (points: readonly Point[], x: (at: number) => number, y: (value: number) => number, gap: number): string => {
  let path = '';
  let last: number | undefined;
  let alone = false;
  for (const { at, value } of points) {
    if (value === null) continue;
    const place = `${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
    const goesOn = last !== undefined && at - last <= gap;
    if (!goesOn && alone) path += 'h1';
    path += `${goesOn ? 'L' : 'M'}${place}`;
    alone = !goesOn;
    last = at;
  }
  return alone ? `${path}h1` : path;
};
