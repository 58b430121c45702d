import type { OutputOf } from '../../shared/api/operation.ts';
import { heading, stateMark, states } from '../web/elements.ts';
import { type Html, html, type IconName, icon, type Part, safeUrl } from '../web/html.ts';
import { entries } from '../web/layout.ts';
import { type Page, show } from '../web/page.ts';
import type { Times } from '../web/times.ts';
import { search } from './contract.ts';

type Item = OutputOf<typeof search>['items'][number];

const link = (href: string, symbol: Part, name: string, more: Part): Html =>
  html`
    <li>
      <a href="${safeUrl(href)}">
        ${symbol}
        <span class="found-name">${name}</span>
        <span class="found-more">${more}</span>
      </a>
    </li>
  `;

const kinds: Readonly<
  Record<string, { readonly symbol: IconName; readonly href: (id: string) => string }>
> = {
  group: { symbol: 'groups', href: (id) => `/?group=${id}` },
  incident: { symbol: 'incidents', href: (id) => `/incidents/${id}` },
};

/** Status pages have no page in the account yet. */
const hasPage = ({ kind }: Item): boolean => kind === 'monitor' || kind in kinds;

const itemLink = ({ kind, id, name, detail, status }: Item, times: Times): Html => {
  const of = kinds[kind];
  if (!of) {
    const state = states.find((each) => each === status) ?? 'unknown';
    return link(
      `/monitors/${id}`,
      html`<span class="state state-${state}">${icon(state)}</span>`,
      name,
      html`<span class="unseen">${stateMark(state)}</span>${detail}`,
    );
  }
  return link(
    of.href(id),
    icon(of.symbol),
    name,
    kind === 'incident' ? html`Incident of ${times.moment(detail)}` : detail,
  );
};

/** Pages of the account whose names contain the words. */
const placesFor = (words: string): readonly Html[] =>
  entries
    .filter(({ name }) => name.toLowerCase().includes(words.trim().toLowerCase()))
    .map((entry) => link(entry.href, icon(entry.icon), entry.name, 'Page'));

/** The search dialog of all pages, as a page of its own. */
export const searchPage: Page = {
  method: 'GET',
  path: '/search',
  needs: 'member',
  answer: async ({ query, ask, times }) => {
    const q = (query.q ?? '').slice(0, 200);
    const { items } = await ask(search, { q });
    const places = placesFor(q);
    const found = [...items.filter(hasPage).map((item) => itemLink(item, times)), ...places];
    return show({
      title: q === '' ? 'Search' : `${q}: search`,
      main: html`
        ${heading({ sentence: 'Search' })}
        <form class="card search-form" action="/search" role="search">
          <label class="unseen" for="q">Search monitors, incidents and pages</label>
          <input
            id="q"
            type="search"
            name="q"
            value="${q}"
            placeholder="Search monitors, incidents and pages"
            autocomplete="off"
            autofocus
          >
          <button class="button button-main">Search</button>
        </form>
        <div class="card found-card">
          <div data-found>
            ${
              found.length === 0
                ? html`
                  <p class="nothing">
                    Nothing has all of these words in its name, address or group.
                  </p>
                `
                : html`<ul class="found">${found}</ul>`
            }
          </div>
        </div>
      `,
    });
  },
};
