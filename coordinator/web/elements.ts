import { encode } from 'uqr';
import { durationText } from '../../shared/base/time.ts';
import { choiceField, type FormState } from './forms.ts';
import { type Html, html, type IconName, icon, type Part, safeUrl } from './html.ts';

/** `words`: what else it is found by. */
type Item = { readonly id: string; readonly name: string; readonly words?: string };
/** The choices, by name. */
export type Choices = { readonly monitors: readonly Item[]; readonly groups: readonly Item[] };

/**
 * Groups and monitors to tick. `first`: the ids that were ticked when the form was opened; they
 * come first, because no one reads a long list to its end. Every answer of the form keeps that
 * order, whatever is ticked by then.
 */
export function chosenFields(
  { groups, monitors }: Choices,
  state: FormState,
  first: readonly string[],
): Html {
  return html`
    <div class="stack chosen">
      ${groups.length + monitors.length === 0 ? html`<p class="soft">No monitors yet</p>` : null}
      ${chosenList('groups[]', 'Groups', 'Filter by name', groups, state, first, 'With monitors added later.')}
      ${chosenList('monitors[]', 'Monitors', 'Filter by name, group or tag', monitors, state, first)}
    </div>
  `;
}

/** One of them. `filter`: what the filter of a long list looks at. */
export function chosenList(
  name: string,
  label: string,
  filter: string,
  items: readonly Item[],
  state: FormState,
  first: readonly string[],
  help?: string,
): Part {
  return (
    items.length > 0 &&
    choiceField({
      name,
      label,
      state,
      help,
      several: true,
      filter,
      choices: sorted(items, first).map(({ id, name: called, words = '' }) => ({
        value: id,
        label: called,
        words,
      })),
    })
  );
}

function sorted(items: readonly Item[], first: readonly string[]): readonly Item[] {
  return [
    ...items.filter(({ id }) => first.includes(id)),
    ...items.filter(({ id }) => !first.includes(id)),
  ];
}

/**
 * Continents as pages show them: a short name, their place on the map, and a line that differs by
 * more than colour.
 */
export const shortNames: Readonly<Record<string, string>> = {
  'North America': 'N. America',
  'South America': 'S. America',
};

export function shortName(continent: string): string {
  return shortNames[continent] ?? continent;
}

/** In the order of the legend. */
export const continentOrder = [
  'Europe',
  'North America',
  'Asia',
  'Africa',
  'South America',
  'Oceania',
  'Antarctica',
];

export function byContinent(
  one: { readonly continent: string },
  other: { readonly continent: string },
): number {
  return continentOrder.indexOf(one.continent) - continentOrder.indexOf(other.continent);
}

/** The class of a continent's line; the style defines its colour and dashes. */
export function lineClass(continent: string): string {
  return `line-${continent.toLowerCase().replaceAll(' ', '-')}`;
}

/** Uptime with two decimals, cut off: only 100 means no downtime. */
export function percentText(percent: number | null): string {
  if (percent === null) return '–';
  return percent === 100 ? '100%' : `${(Math.floor(percent * 100) / 100).toFixed(2)}%`;
}

/** Pointing at it shows all decimals that are computed. */
export function percentFigure(percent: number | null): Part {
  return percent === null || percent === 100
    ? percentText(percent)
    : html`<span title="${percent.toFixed(4)}%">${percentText(percent)}</span>`;
}

/** `30 days`; of a monitor that is younger, which existed for `ms` of them: `18 min`. */
export function daysText(days: number, ms = days * 86_400_000): string {
  if (ms > 0 && ms < days * 86_400_000) return durationText(ms);
  return days === 365 ? '1 year' : days === 1 ? '24 hours' : `${days} days`;
}

export function msText(ms: number | null): string {
  return ms === null
    ? '–'
    : ms < 1_000
      ? `${Math.round(ms)} ms`
      : `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

const groups = new Intl.NumberFormat('en-GB');

/** `1,440`. */
export function countText(count: number): string {
  return groups.format(count);
}

type Pages = {
  readonly page: number;
  readonly size: number;
  readonly matching: number;
  /** How many are on this page. */
  readonly shown: number;
  readonly address: (page: number) => string;
};

/** The place of this page in a list, and the link to the next. */
export function pager({ page, size, matching, shown, address }: Pages): Html {
  const first = (page - 1) * size + 1;
  const last = first + shown - 1;
  const hasNext = page * size < matching;
  if (matching <= size && page === 1) return html``;
  return html`
    <nav class="row pager" aria-label="Pages">
      <span>
        ${
          shown === 0
            ? `None of ${countText(matching)}`
            : `${countText(first)}–${countText(last)} of ${countText(matching)}`
        }
      </span>
      ${
        page > 1 &&
        html`
          <a class="button button-quiet" rel="prev" href="${safeUrl(address(page - 1))}">
            ${icon('previous')}Previous
          </a>
        `
      }
      ${
        hasNext &&
        html`
          <a class="button button-quiet" rel="next" href="${safeUrl(address(page + 1))}">
            Next${icon('next')}
          </a>
        `
      }
    </nav>
  `;
}

/**
 * A text for a phone's camera: one path, dark on a light background in both schemes, as scanners
 * expect. `label` describes it to screen readers.
 */
export function qrCode(text: string, label: string): Html {
  const { data, size } = encode(text, { ecc: 'M', border: 3 });
  let path = '';
  for (const [y, row] of data.entries())
    for (let x = 0; x < size; x += 1) {
      let width = 0;
      while (row[x + width] === true) width += 1;
      if (width > 0) path += `M${x} ${y}h${width}v1h-${width}z`;
      x += width;
    }
  return html`
    <svg
      class="qr"
      viewBox="0 0 ${size} ${size}"
      role="img"
      aria-label="${label}"
      shape-rendering="crispEdges"
    >
      <path d="${path}"></path>
    </svg>
  `;
}

/**
 * The state of a monitor, a group or a stretch of time as people see it: a shape, a word and a
 * colour, never colour alone.
 */
export const states = [
  'up',
  'verifying',
  'down',
  'maintenance',
  'unknown',
  'paused',
  'pending',
] as const;
export type State = (typeof states)[number];

const stateNamed: ReadonlyMap<string, State> = new Map(states.map((state) => [state, state]));

export function stateOf(status: string): State {
  return stateNamed.get(status) ?? 'unknown';
}

export const stateWords: Readonly<Record<State, string>> = {
  up: 'Up',
  verifying: 'Verifying',
  down: 'Down',
  maintenance: 'Maintenance',
  unknown: 'Unknown',
  paused: 'Paused',
  pending: 'Pending',
};

export function stateMark(
  state: State,
  words: string = stateWords[state],
  symbol: IconName = state,
): Html {
  return html`<span class="state state-${state}">${icon(symbol)}${words}</span>`;
}

/** Zones that Node lists by names that they no longer have. */
const todaysNames = new Map([
  ['Africa/Asmera', 'Africa/Asmara'],
  ['America/Buenos_Aires', 'America/Argentina/Buenos Aires'],
  ['America/Coral_Harbour', 'America/Atikokan'],
  ['America/Godthab', 'America/Nuuk'],
  ['Asia/Calcutta', 'Asia/Kolkata'],
  ['Asia/Katmandu', 'Asia/Kathmandu'],
  ['Asia/Rangoon', 'Asia/Yangon'],
  ['Asia/Saigon', 'Asia/Ho Chi Minh'],
  ['Atlantic/Faeroe', 'Atlantic/Faroe'],
  ['Europe/Kiev', 'Europe/Kyiv'],
  ['Pacific/Enderbury', 'Pacific/Kanton'],
  ['Pacific/Ponape', 'Pacific/Pohnpei'],
  ['Pacific/Truk', 'Pacific/Chuuk'],
]);

/** Every zone, those that are likely first. */
export function zoneChoices(...likely: readonly (string | undefined)[]) {
  const first = likely.filter((zone) => zone !== undefined);
  return [...new Set([...first, 'UTC', ...Intl.supportedValuesOf('timeZone')])].map((zone) => ({
    value: zone,
    label: todaysNames.get(zone) ?? zone.replaceAll('_', ' '),
  }));
}

export type Heading = {
  /** The main heading of the page. */
  readonly sentence: Part;
  /** Shown directly below it. */
  readonly below?: Part;
  /** Buttons and links; at most one of them black. */
  readonly actions?: Part;
  /** The breadcrumbs of this page: `Monitors › Shop`. */
  readonly trail?: readonly { readonly href: string; readonly name: string }[];
};

export function heading({ sentence, below, actions, trail = [] }: Heading): Html {
  return html`
  <div class="heading">
    <div>
      ${
        trail.length > 0 &&
        html`
          <nav class="trail" aria-label="Breadcrumbs">
            <ol>
              ${trail.map(
                ({ href, name }) => html`<li><a href="${safeUrl(href)}">${name}</a></li>`,
              )}
            </ol>
          </nav>
        `
      }
      <h1>${sentence}</h1>
      ${below && html`<p class="below">${below}</p>`}
    </div>
    ${actions && html`<div class="actions">${actions}</div>`}
  </div>
`;
}

/** A share of a whole, of which words beside it say how much; `state` gives its colour. */
export function levelBar(share: number, state: State): Html {
  return html`
    <svg class="fill-${state} level" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      <rect width="${Math.round(Math.min(1, share) * 100)}" height="6"></rect>
    </svg>
  `;
}

/** What people copy; `what` names it for those who do not see it. */
export function copyable(text: string, what: string): Html {
  return html`
    <p class="copyable">
      <code>${text}</code>
      <button class="button" type="button" data-copy="${text}">
        ${icon('copy')}<span data-copied>Copy</span><span class="unseen"> ${what}</span>
      </button>
    </p>
  `;
}

/** A link that looks like a button. What deletes is the last of several. */
export function linkButton(
  href: string,
  words: Part,
  {
    main = false,
    danger = false,
    symbol,
  }: { main?: boolean; danger?: boolean; symbol?: IconName } = {},
): Html {
  return html`
    <a class="button${main && ' button-main'}${danger && ' button-danger'}" href="${safeUrl(href)}">
      ${symbol && icon(symbol)}
      ${words}
    </a>
  `;
}

/** The way on below a list that has more; `address` is that of the next part. */
export function moreLink(address: string, words: string): Html {
  return html`
  <p class="actions">
    <a class="button" rel="next" href="${safeUrl(address)}">${words}</a>
  </p>
`;
}

export type Chip = {
  readonly href: string;
  readonly label: string;
  readonly count?: number | string;
  readonly symbol?: IconName;
  readonly current: boolean;
};

/** Filters for the list below; each is a link. */
export function chips(label: string, all: readonly Chip[]): Html {
  return html`
    <nav class="chips" aria-label="${label}">
      <ul>
        ${all.map(
          (chip) =>
            html`
              <li>
                <a class="button" href="${safeUrl(chip.href)}"${chip.current && html` aria-current="page"`}>
                  ${chip.symbol && icon(chip.symbol)}
                  ${chip.label}
                  ${chip.count !== undefined && html` <b>${chip.count}</b>`}
                </a>
              </li>
            `,
        )}
      </ul>
    </nav>
  `;
}

/** A figure with its name, in a list of class `figures`. */
export function figure(name: Part, value: Part): Html {
  return html`
    <div>
      <dt>${name}</dt>
      <dd>${value}</dd>
    </div>
  `;
}

/** Something that the reader should know, with a state. */
export function notice(
  state: 'up' | 'verifying' | 'down' | 'maintenance' | 'unknown' | 'information',
  title: Part,
  words?: Part,
  symbol: IconName = state,
): Html {
  return html`
    <div class="notice notice-${state}">
      ${icon(symbol)}
      <div><p class="notice-title">${title}</p>${words && html`<p>${words}</p>`}</div>
    </div>
  `;
}

type Fold = {
  readonly title: Part;
  /** What it holds, or with `isSet` what is set in it; one line beside its title. */
  readonly says?: Part;
  readonly isSet?: boolean;
  /** Of which answers say anew what it says. */
  readonly saysId?: string;
  readonly isOpen?: boolean;
  readonly body: Part;
};

/** A part of a form or a page that is opened when it is wanted. Several stand in `.folds.lines`. */
export function fold({ title, says, isSet = false, saysId, isOpen = false, body }: Fold): Html {
  return html`
    <details class="fold"${isOpen && html` open`}>
      <summary>
        <span>${title}</span>
        ${
          says &&
          html`
            <span
              class="fold-holds${isSet && ' fold-set'} note"${
                saysId !== undefined && html` id="${saysId}" data-refreshed`
              }
            >${says}</span>
          `
        }
      </summary>
      <div class="fold-fields">${body}</div>
    </details>
  `;
}

/** Of several, one is seen; without a script, because of one name only one is open. */
export function tabs(
  name: string,
  all: readonly { readonly title: string; readonly body: Part }[],
): Html {
  return html`
    <div class="tabs">
      ${all.map(
        ({ title, body }, at) => html`
          <details name="${name}"${at === 0 && html` open`}>
            <summary class="button">${title}</summary>
            ${body}
          </details>
        `,
      )}
    </div>
  `;
}

/** In place of a list that is empty: what it is for, and the one thing to do about it. */
export function nothing(symbol: IconName, words: Part, act?: Part): Html {
  return html`
    <div class="card nothing">
      ${icon(symbol)}
      <p>${words}</p>
      ${act && html`<p class="actions">${act}</p>`}
    </div>
  `;
}

type RowAct = {
  readonly symbol: IconName;
  readonly words: string;
  /** What it is done to. */
  readonly of: string;
  /** Otherwise it sends the form around it. */
  readonly href?: string;
};

/** What is done with a row: a shape without a frame, which says what it does where one points. */
export function rowAct({ symbol, words, of, href }: RowAct): Html {
  const inside = html`${icon(symbol)}<span class="unseen">${words} ${of}</span>`;
  return href === undefined
    ? html`<button class="button button-quiet" title="${words}">${inside}</button>`
    : html`<a class="button button-quiet" title="${words}" href="${safeUrl(href)}">${inside}</a>`;
}
