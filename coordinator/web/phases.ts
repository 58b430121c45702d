import { msText } from './elements.ts';
import { type Html, html, type Part } from './html.ts';

/** The phases of a check in their order, under the same names wherever they are shown. */
export const phaseNames = {
  dns: 'DNS',
  tcp: 'TCP',
  tls: 'TLS',
  first_byte: 'TTFB',
  rest: 'Body',
} as const;

type Timed = {
  /** Milliseconds by name. */
  readonly phases: Readonly<Record<string, unknown>> | null;
  /** Of the whole check, where what follows the phases is shown too. */
  readonly tookMs?: number | null;
  /** Whether a body follows the first byte: it does of http alone. */
  readonly hasBody?: boolean;
};

type Phase = { readonly name: string; readonly words: string; readonly ms: number };

function phasesOf({ phases, tookMs = null, hasBody = true }: Timed): readonly Phase[] {
  const known = Object.entries(phaseNames).flatMap(([name, words]): Phase[] => {
    const ms = phases?.[name];
    return typeof ms === 'number' ? [{ name, words, ms }] : [];
  });
  const rest = (tookMs ?? 0) - known.reduce((sum, { ms }) => sum + ms, 0);
  return known.length > 0 && rest >= 1
    ? [...known, { name: 'rest', words: hasBody ? phaseNames.rest : 'Rest', ms: rest }]
    : known;
}

const width = 1_000;

/** How long each phase took: as parts of a bar, and in words below it. */
export function phaseBar(timed: Timed): Html | null {
  const said = ({ name, words, ms }: Phase) => key(name, `${words} ${msText(ms)}`);
  return barOf(timed, (phases) => html`<p class="row phase-words">${phases.map(said)}</p>`);
}

/**
 * The same beside others: as long as its part of the slowest, with its sum at the end, and below
 * each other the times of the phases that `phaseLegend` names beside it.
 */
export function phaseColumn(timed: Timed, slowestMs: number): Html | null {
  const said = ({ name, words, ms }: Phase) =>
    key(name, html`<span class="unseen">${words}</span> ${msText(ms)}`);
  return barOf(
    timed,
    (phases) => html`
      <b class="phase-sum">${msText(sumOf(phases))}</b>
      <span class="phase-words">${phases.map(said)}</span>
    `,
    slowestMs,
  );
}

function sumOf(phases: readonly Phase[]): number {
  return phases.reduce((sum, { ms }) => sum + ms, 0);
}

/** The time that all phases took together. */
export function phasesMs(timed: Timed): number {
  return sumOf(phasesOf(timed));
}

/**
 * The bar alone, in words for those who point at it or do not see it: as long as its part of the
 * slowest beside it.
 */
export function phaseBarAlone(timed: Timed, slowestMs: number): Html | null {
  return barOf(
    timed,
    (phases) => {
      const words = phases.map(({ words: name, ms }) => `${name} ${msText(ms)}`).join(', ');
      return html`<span class="unseen">${words}</span>`;
    },
    slowestMs,
  );
}

function barOf(
  timed: Timed,
  wordsOf: (phases: readonly Phase[]) => Html,
  slowestMs = 0,
): Html | null {
  const phases = phasesOf(timed);
  const whole = sumOf(phases);
  if (phases.length < 2 || whole <= 0) return null;
  const full = Math.max(whole, slowestMs);
  let from = 0;
  return html`
    <svg class="phase-bar" viewBox="0 0 ${width} 8" preserveAspectRatio="none" aria-hidden="true">
      ${phases.map(({ name, words, ms }) => {
        const begin = from;
        from += (ms / full) * width;
        return html`
          <rect
            class="phase-${name}"
            x="${begin.toFixed(1)}"
            width="${(from - begin).toFixed(1)}"
            height="8"
          >
            <title>${words} ${msText(ms)}</title>
          </rect>
        `;
      })}
    </svg>
    ${wordsOf(phases)}
  `;
}

function key(name: string, words: Part): Html {
  return html`<span><i class="phase-dot phase-${name}"></i>${words}</span> `;
}

/** Once, above or beside many bars: the phases that any of them has. */
export function phaseLegend(all: readonly Timed[]): Part {
  const has = new Set(all.flatMap((timed) => phasesOf(timed).map(({ name }) => name)));
  return (
    has.size > 0 &&
    html`
      <p class="row phase-words">
        ${Object.entries(phaseNames).map(([name, words]) => has.has(name) && key(name, words))}
      </p>
    `
  );
}
