import { monitorsOf, type PublicState, verdictOf } from '../../domain/public-page.ts';
import { html } from '../web/web-html.ts';
import type { View } from './status-face-view.ts';

export const badgeKinds = ['status', 'uptime', 'response'] as const;
export type BadgeKind = (typeof badgeKinds)[number];

/** White stands on each of them with a contrast of 4.5 and more. */
const colours: Readonly<Record<PublicState, string>> = {
  up: '#0b6b55',
  down: '#b3091b',
  maintenance: '#3b4893',
  paused: '#505a66',
  pending: '#505a66',
};

/** How wide a text is in that font, near enough: a badge has no way to measure. */
const widthOf = (text: string): number => {
  let width = 0;
  for (const letter of text) width += /[il.,:' |!]/.test(letter) ? 3.4 : /[mwMW%]/.test(letter) ? 10 : /[A-Z]/.test(letter) ? 7.8 : 6.6;
  return Math.ceil(width) + 12;
};

const drawn = (label: string, value: string, colour: string): string => {
  const [left, right] = [widthOf(label), widthOf(value)];
  return html`<svg xmlns="http://www.w3.org/2000/svg" width="${left + right}" height="20" viewBox="0 0 ${left + right} 20" role="img" aria-label="${`${label}: ${value}`}"><title>${`${label}: ${value}`}</title><clipPath id="r"><rect width="${left + right}" height="20" rx="4"/></clipPath><g clip-path="url(#r)"><rect width="${left}" height="20" fill="#30363d"/><rect x="${left}" width="${right}" height="20" fill="${colour}"/></g><g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle"><text x="${left / 2}" y="14">${label}</text><text x="${left + right / 2}" y="14">${value}</text></g></svg>`.toString();
};

/** Of the whole page, or of one service. Undefined when that service is not on the page. */
export const badge = (view: View, kind: BadgeKind, id: string | undefined): string | undefined => {
  const { page, words, formats } = view;
  const monitors = monitorsOf(page).filter((each) => id === undefined || each.id === id);
  if (id !== undefined && monitors.length === 0) return undefined;
  const [only] = monitors;
  if (kind === 'status') {
    const verdict = id === undefined ? verdictOf(page).is : (only?.state ?? 'pending');
    const state = verdict === 'empty' ? 'pending' : verdict;
    return drawn(id === undefined ? words.badge.status : (only?.name ?? ''), words.states[state].toLowerCase(), colours[state]);
  }
  // Of a whole page the worst says more than a mean, in which one that is down disappears.
  const percents = monitors.flatMap(({ percent }) => (percent[90] === null ? [] : [percent[90]]));
  const responses = monitors.flatMap(({ responseMs }) => (responseMs === null ? [] : [responseMs]));
  if (kind === 'uptime') {
    const worst = percents.length === 0 ? null : Math.min(...percents);
    return drawn(
      words.badge.uptime,
      worst === null ? '–' : formats.percent(worst),
      worst === null ? colours.pending : worst >= 99 ? colours.up : colours.down,
    );
  }
  const slowest = responses.length === 0 ? null : Math.max(...responses);
  return drawn(
    words.badge.response,
    slowest === null ? '–' : formats.milliseconds(slowest),
    slowest === null ? colours.pending : colours.up,
  );
};
