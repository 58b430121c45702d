import { type Html, html, type IconName, icon, type Part, safeUrl } from './html.ts';

type Menu = {
  readonly id: string;
  /** What stands on its button. */
  readonly words: Part;
  /** What its button is called where it has no words. */
  readonly name?: string;
  readonly className?: string;
  /** `menuLink`, `menuButton`, forms of these, `menuTitle` and `<hr>`. */
  readonly body: Part;
};

/** A button and what opens at it; a popover, so that it needs no script, and Escape closes it. */
export function menu({ id, words, name, className = 'button', body }: Menu): Html {
  return html`
    <button
      class="${className}"
      type="button"
      popovertarget="${id}"${name !== undefined && html` aria-label="${name}"`}
    >
      ${words}
    </button>
    <div class="menu" id="${id}" popover>${body}</div>
  `;
}

/** What is done to the thing of a page less often than what its buttons do. */
export function moreActions(body: Part): Html {
  return menu({ id: 'more-menu', words: icon('more'), name: 'More actions', body });
}

type Entry = {
  readonly symbol?: IconName;
  readonly count?: string | number;
  /** One of several to tick, and whether it is. */
  readonly current?: boolean;
  readonly danger?: boolean;
};

function wordsOf(words: Part, { symbol, count }: Entry): Html {
  return html`
    ${symbol !== undefined && icon(symbol)}
    <span>${words}</span>
    ${count !== undefined && html`<b>${count}</b>`}
  `;
}

function classOf({ danger = false, current }: Entry): string {
  if (danger) return 'menu-entry menu-danger';
  return current === undefined ? 'menu-entry' : 'menu-entry menu-tick';
}

export function menuLink(href: string, words: Part, entry: Entry = {}): Html {
  return html`
    <a
      class="${classOf(entry)}"
      href="${safeUrl(href)}"${entry.current === true && html` aria-current="page"`}
    >
      ${wordsOf(words, entry)}
    </a>
  `;
}

/** Sends the form around it. */
export function menuButton(words: Part, sent: readonly [string, string], entry: Entry = {}): Html {
  const [name, value] = sent;
  return html`
    <button class="${classOf(entry)}" name="${name}" value="${value}">
      ${wordsOf(words, entry)}
    </button>
  `;
}

export function menuTitle(words: string): Html {
  return html`<p class="menu-title">${words}</p>`;
}
