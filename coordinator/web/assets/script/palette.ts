import { fetchPage } from './parsed-page.ts';

/** After `g`, the next key within this time chooses a page. */
const patienceMs = 1_500;

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    target.matches('input:not([type=checkbox], [type=radio]), textarea, select'));

const row = (step: number): void => {
  const rows = [...document.querySelectorAll<HTMLElement>('main [data-row]')].filter((each) =>
    each.checkVisibility(),
  );
  const at = rows.findIndex((each) => each.contains(document.activeElement));
  const next = rows[at === -1 ? (step > 0 ? 0 : rows.length - 1) : at + step];
  (next?.querySelector('a') ?? next)?.focus();
};

/** Keyboard shortcuts. */
export const listenToKeys = (): void => {
  /** Long ago: the clock of events begins with the page, so 0 would be a `g` at its load. */
  let going = Number.NEGATIVE_INFINITY;
  const open = (selector: string): void => document.querySelector<HTMLElement>(selector)?.click();
  document.addEventListener('keydown', (event) => {
    const { key } = event;
    if (key === 'k' && (event.metaKey || event.ctrlKey)) {
      event.preventDefault();
      open('[data-open="palette"]');
      return;
    }
    if (
      event.metaKey ||
      event.ctrlKey ||
      event.altKey ||
      isTyping(event.target) ||
      document.querySelector('dialog[open]')
    )
      return;
    const goes = event.timeStamp - going < patienceMs;
    going = Number.NEGATIVE_INFINITY;
    if (key === '?' || (goes && /^[a-z]$/.test(key))) open(`[data-key="${key}"]`);
    else if (key === 'g') going = event.timeStamp;
    else if (key === '/') open('[data-open="palette"]');
    else if (key === 'n') open('[data-new]');
    else if (key === 'x') open('tr:focus-within [data-each]');
    else if (key === 'e')
      open(':is(tr, li):focus-within [data-acknowledge], #owner [data-acknowledge]');
    else if (key === 'j') row(1);
    else if (key === 'k') row(-1);
    else return;
    event.preventDefault();
  });
};

const waitMs = 80;

/** The search as a dialog over the page, with the results of the search page. */
export const openPalette = (): void => {
  const dialog = document.querySelector<HTMLDialogElement>('#palette');
  const input = dialog?.querySelector<HTMLInputElement>('[data-palette-input]');
  const found = dialog?.querySelector('[data-palette-found]');
  if (!dialog || !input || !found) return;
  let asking: AbortController | undefined;
  let timer: number | undefined;
  let chosen = 0;
  /** What the shown results answer: Enter chooses one of them only while it is still asked. */
  let answered: string | undefined;
  /** What Enter was pressed for before its results were there; the first of them is chosen then. */
  let entered: string | undefined;

  const links = (): HTMLElement[] => [...found.querySelectorAll<HTMLElement>('a, button')];
  const choose = (next: number): void => {
    const all = links();
    chosen = all.length === 0 ? 0 : (next + all.length) % all.length;
    for (const [index, link] of all.entries())
      link.setAttribute('aria-selected', String(index === chosen));
    all[chosen]?.scrollIntoView({ block: 'nearest' });
  };
  const ask = async (): Promise<void> => {
    asking?.abort();
    asking = new AbortController();
    const { signal } = asking;
    const { value } = input;
    try {
      const page = await fetchPage(`/search?q=${encodeURIComponent(value)}`, signal);
      const list = page?.querySelector('[data-found]');
      if (signal.aborted || !list) return;
      found.replaceChildren(document.adoptNode(list));
      answered = value;
      choose(0);
      if (entered === value) links()[0]?.click();
    } catch {
      // The next letter searches again; where Enter waits, the search page says what is wrong.
      if (!signal.aborted && entered === value) input.form?.submit();
    }
    if (!signal.aborted) entered = undefined;
  };

  document.addEventListener('click', (event) => {
    const opener =
      event.target instanceof Element ? event.target.closest('[data-open="palette"]') : null;
    if (!opener || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    dialog.showModal();
    input.select();
    void ask();
  });
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener('close', () => {
    entered = undefined;
  });
  // An answer that came now would take away the form that is being sent.
  found.addEventListener('click', () => {
    clearTimeout(timer);
    asking?.abort();
  });
  input.addEventListener('input', () => {
    clearTimeout(timer);
    entered = undefined;
    timer = setTimeout(() => void ask(), waitMs);
  });
  input.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      choose(chosen + (event.key === 'ArrowDown' ? 1 : -1));
    }
    // Otherwise the field would empty itself on Escape, and the browser would also close whatever
    // is opened next.
    if (event.key === 'Escape') {
      event.preventDefault();
      // Otherwise the next key would still go to it.
      input.blur();
      dialog.close();
    }
    if (event.key === 'Enter') {
      event.preventDefault();
      if (answered === input.value) links()[chosen]?.click();
      else {
        clearTimeout(timer);
        entered = input.value;
        void ask();
      }
    }
  });
};
