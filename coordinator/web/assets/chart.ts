/**
 * A crosshair over charts: the time under the pointer, and the value of every line there. It reads
 * what is drawn, so that a page carries its values once. Loaded on pages with charts alone.
 *
 * The arrow keys move it too: `Home` and `End` lead to the ends. Dragging over a chart, or `Enter` at
 * the crosshair, leads to the address of a shorter stretch.
 */

type Value = { readonly name: string; readonly ms: number };
type Reading = { readonly x: number; readonly values: readonly Value[] };

/** The height of every drawing, in its own units. */
const [width, height] = [1_000, 240];

/** The values of each drawn line (or of each column of a stack) at the step nearest to `x`. */
const readingAt = (plot: HTMLElement, wanted: number): Reading | undefined => {
  const top = Number(plot.dataset.top);
  const lines = [...plot.querySelectorAll<SVGPathElement>('path[data-name]')].map((path) => {
    let [x, y] = [0, 0];
    // `data-over` has what is beyond the axis, as it would be drawn without an end: it comes first.
    const steps = `${path.dataset.over}${path.getAttribute('d')}`.matchAll(
      /([Ml])([-\d.]+) ([-\d.]+)(?:v([\d.]+))?/g,
    );
    const points = [...steps].map(([, by, right, down, high]) => {
      const isStep = by === 'l';
      x = Number(right) + (isStep ? x : 0);
      y = Number(down) + (isStep ? y : 0);
      return { x, ms: (Number(high ?? height - y) / height) * top };
    });
    return { name: path.dataset.name ?? '', points };
  });
  const xs = lines.flatMap(({ points }) => points.map(({ x }) => x));
  const x = xs.reduce<number | undefined>(
    (best, each) =>
      best === undefined || Math.abs(each - wanted) < Math.abs(best - wanted) ? each : best,
    undefined,
  );
  if (x === undefined) return undefined;
  const values = lines.flatMap(({ name, points }) => {
    const point = points.find((each) => Math.abs(each.x - x) < 0.2);
    return point ? [{ name, ms: point.ms }] : [];
  });
  return { x, values };
};

const format = (ms: number): string =>
  `${ms < 10 ? ms.toFixed(1) : Math.round(ms).toLocaleString('en-GB')} ms`;

/** What the crosshair stands on. */
let crosshair: { readonly plot: HTMLElement; readonly x: number } | undefined;

const show = (plot: HTMLElement, wanted: number): void => {
  const [cross, output] = [plot.querySelector('i'), plot.querySelector('output')];
  const found = readingAt(plot, wanted);
  if (!cross || !output || !found) return;
  const { from, to, zone } = plot.dataset;
  const at = Number(from) + (found.x / width) * (Number(to) - Number(from));
  const time = new Date(at).toLocaleString('en-GB', {
    timeZone: zone,
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
  });
  const values = found.values.map(({ name, ms }) => `${name} ${format(ms)}`);
  output.textContent = [time, ...values].join(' · ');
  const place = (found.x / width) * 100;
  cross.style.insetInlineStart = `${place}%`;
  output.style.insetInlineStart = `${Math.min(80, place)}%`;
  crosshair = { plot, x: found.x };
  cross.hidden = false;
  output.hidden = false;
};

const hide = (plot: HTMLElement): void => {
  crosshair = undefined;
  for (const each of plot.querySelectorAll<HTMLElement>('i, output')) each.hidden = true;
};

const plotOf = ({ target }: Event): HTMLElement | null =>
  target instanceof Element ? target.closest<HTMLElement>('[data-chart]') : null;

/** Where a pointer is, in the units of the drawing. */
const placeIn = (plot: HTMLElement, { clientX }: PointerEvent): number => {
  const { left, width: wide } = plot.getBoundingClientRect();
  return Math.min(width, Math.max(0, ((clientX - left) / wide) * width));
};

/** Another address: it can be shared, and Back leads out again. */
const zoom = (plot: HTMLElement, ends: readonly [number, number]): void => {
  const [from, to] = [Number(plot.dataset.from), Number(plot.dataset.to)];
  const at = (place: number): string =>
    new Date(Math.round((from + (place / width) * (to - from)) / 1_000) * 1_000).toISOString();
  const address = new URL(location.href);
  address.searchParams.set('from', at(Math.min(...ends)));
  address.searchParams.set('until', at(Math.max(...ends)));
  location.assign(address);
};

let drag: { readonly plot: HTMLElement; readonly from: number } | undefined;

/** A shorter way is a click. */
const leastDrag = 15;

const showDrag = (to: number | undefined): void => {
  const shade = drag?.plot.querySelector<HTMLElement>('b');
  if (!drag || !shade) return;
  shade.hidden = to === undefined;
  shade.style.insetInlineStart = `${Math.min(drag.from, to ?? 0) / (width / 100)}%`;
  shade.style.inlineSize = `${Math.abs(drag.from - (to ?? 0)) / (width / 100)}%`;
};

const endDrag = (): void => {
  showDrag(undefined);
  drag = undefined;
};

document.addEventListener('pointerdown', (event) => {
  const plot = plotOf(event);
  // A finger scrolls.
  if (!plot || event.button !== 0 || event.pointerType === 'touch') return;
  drag = { plot, from: placeIn(plot, event) };
  plot.setPointerCapture(event.pointerId);
});

document.addEventListener('pointerup', (event) => {
  if (!drag) return;
  const { plot, from } = drag;
  const to = placeIn(plot, event);
  endDrag();
  if (Math.abs(to - from) >= leastDrag) zoom(plot, [from, to]);
});

document.addEventListener('pointermove', (event) => {
  const plot = plotOf(event);
  if (!plot) return;
  const place = placeIn(plot, event);
  show(plot, place);
  if (drag) showDrag(place);
});

document.addEventListener('pointerout', (event) => {
  const plot = plotOf(event);
  if (plot && !(event.relatedTarget instanceof Node && plot.contains(event.relatedTarget)))
    hide(plot);
});

document.addEventListener('focusout', (event) => {
  const plot = plotOf(event);
  if (plot) hide(plot);
});

document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') endDrag();
  const plot = plotOf(event);
  if (!plot) return;
  if (event.key === 'Enter' && crosshair?.plot === plot) {
    const begin = Math.min(Math.max(0, crosshair.x - width / 8), (width * 3) / 4);
    zoom(plot, [begin, begin + width / 4]);
  }
  const { from, to, step } = plot.dataset;
  const at = crosshair?.plot === plot ? crosshair.x : 0;
  const one = (Number(step) / (Number(to) - Number(from))) * width;
  const places: Readonly<Record<string, number>> = {
    ArrowLeft: at - one,
    ArrowRight: at + one,
    Home: 0,
    End: width,
  };
  const place = places[event.key];
  if (place === undefined) return;
  event.preventDefault();
  show(plot, place);
});

// A live update of the page brings the chart as the service draws it: without a crosshair.
new MutationObserver(() => {
  if (crosshair?.plot.isConnected && crosshair.plot.querySelector('output')?.hidden)
    show(crosshair.plot, crosshair.x);
}).observe(document.body, { subtree: true, attributeFilter: ['hidden'] });
