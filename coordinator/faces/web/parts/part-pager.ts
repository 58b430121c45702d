import { type Html, html, safeUrl } from '../web-html.ts';
import { icon } from '../web-icons.ts';
import { countText } from './part-figures.ts';

type Pages = {
  readonly page: number;
  readonly size: number;
  readonly matching: number;
  /** How many are on this page. */
  readonly shown: number;
  readonly address: (page: number) => string;
};

/** Where in a list this page is, and the way to the next. */
export const pager = ({ page, size, matching, shown, address }: Pages): Html => {
  const first = (page - 1) * size + 1;
  const last = first + shown - 1;
  const hasNext = page * size < matching;
  return html`<nav class="pager" aria-label="Pages"><span>${shown === 0 ? `None of ${countText(matching)}` : `${countText(first)}–${countText(last)} of ${countText(matching)}`}</span>${
    page > 1 && html`<a class="button button-quiet" rel="prev" href="${safeUrl(address(page - 1))}">${icon('previous')}Previous</a>`
  }${hasNext && html`<a class="button button-quiet" rel="next" href="${safeUrl(address(page + 1))}">Next${icon('next')}</a>`}</nav>`;
};
