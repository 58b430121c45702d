import { type Html, html, icon, type Part, query, safeUrl } from './html.ts';
import { menu } from './menu.ts';
import { timesIn } from './times.ts';

/** What narrows a list: chosen behind one button, and above the list each part with its end. */
export function filterMenu(body: Part): Html {
  return menu({ id: 'filter-menu', words: 'Filter', body });
}

/** One of fields, which works without scripts. */
export function filterFields(path: string, fields: Part): Html {
  return filterMenu(html`
    <form class="fields" action="${safeUrl(path)}">
      ${fields}
      <button class="button button-main">Apply</button>
    </form>
  `);
}

type Active = { readonly words: string; readonly href: string };

/** `clear` ends all of them. */
export function filterEnds(active: readonly Active[], clear: string): Part {
  return (
    active.length > 0 &&
    html`
      <p class="actions">
        ${active.map(
          ({ words, href }) =>
            html`
              <a class="button" href="${safeUrl(href)}" aria-label="Remove filter ${words}">
                ${words}${icon('close')}
              </a>
            `,
        )}
        <a class="button button-quiet" href="${safeUrl(clear)}">Clear filter</a>
      </p>
    `
  );
}

/** What a field of a day says; nothing where it is none. */
export function dayOf(text: string): string {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : '';
}

/** The end of a day that is included. */
export function dayAfter(date: string): string {
  return new Date(Date.parse(date) + 86_400_000).toISOString().slice(0, 10);
}

/** Of two fields of days. */
export function dayWords({ from, to }: { readonly from: string; readonly to: string }) {
  const day = (date: string): string => (date === '' ? '' : timesIn('UTC', 0).text(date, 'day'));
  return { from: `From ${day(from)}`, to: `Until ${day(to)}` };
}

/** Of the fields in `filter`, with words for those that are chosen; `beside`: what stays. */
export function fieldEnds(
  path: string,
  filter: Readonly<Record<string, string>>,
  wordsOf: Readonly<Record<string, string>>,
  beside: Readonly<Record<string, string | undefined>> = {},
): Part {
  const active = Object.entries(filter).flatMap(([name, value]) =>
    value === ''
      ? []
      : [
          {
            words: wordsOf[name] ?? value,
            href: `${path}${query({ ...beside, ...filter, [name]: '' })}`,
          },
        ],
  );
  return filterEnds(active, `${path}${query(beside)}`);
}
