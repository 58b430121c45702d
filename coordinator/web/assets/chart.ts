/**
 * A crosshair over charts: the time under the pointer, and the value of every line there. It reads
 * what is drawn, so that a page carries its values once. Loaded on pages with charts alone.
 *
 * The arrow keys move it too: `Home` and `End` lead to the ends.
 */

type Value = { readonly name: string; readonly ms: number };
type Reading = { readonly x: number; readonly values: readonly Value[] };

/** The height of every drawing, in its own units. */
const [width, height] = [1_000, 240];

/** The values of each drawn line (or of each column of a stack) at the step nearest to `x`. */
const readingAt = (plot: HTMLElement, wanted: number): Reading | undefined => {
  const top = Number(plot.dataset.top);
  const lines = [...plot.querySelectorAll<SVGPathElement>('path[data-name]')].map((path) => ({
    name: path.dataset.name ?? '',
    // `data-over` has what is beyond the axis, as it would be drawn without an end: it comes first.
    points: [
      ...`${path.dataset.over}${path.getAttribute('d')}`.matchAll(
        /[ML]([\d.]+) ([-\d.]+)(?:h[\d.]+v([\d.]+))?/g,
      ),
    ].map(([, x, y, high = height - Number(y)]) => ({
      x: Number(x),
      ms: (Number(high) / height) * top,
    })),
  }));
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

document.addEventListener('pointermove', (event) => {
  const plot = plotOf(event);
  if (!plot) return;
  const { left, width: wide } = plot.getBoundingClientRect();
  show(plot, ((event.clientX - left) / wide) * width);
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
  const plot = plotOf(event);
  if (!plot) return;
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
