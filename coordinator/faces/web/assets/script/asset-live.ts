import { Idiomorph } from 'idiomorph';
import { fetchPage } from './asset-parsed-page.ts';

/** Also without news the times on a page grow old. */
const refreshMs = 60_000;
/** A page that waits for something of which no news comes says so, and looks as often. */
const awaitsMs = 3_000;

let busy = false;
let again = false;

/** Rows must not jump under the reader's hand: those that are there keep their places, new ones come after them. The next navigation sorts anew. */
const keepOrder = (now: Element, next: Element): void => {
  for (const list of next.querySelectorAll('[data-keep-order]')) {
    const shown = [...now.querySelectorAll(`#${CSS.escape(list.id)} > [id]`)].map(({ id }) => id);
    const place = new Map(shown.map((id, index) => [id, index]));
    const rows = [...list.children];
    const of = ({ id }: Element): number => place.get(id) ?? shown.length;
    for (const row of rows.toSorted((a, b) => of(a) - of(b))) list.append(row);
  }
};

const refresh = async (): Promise<void> => {
  if (busy) {
    again = true;
    return;
  }
  busy = true;
  try {
    const page = await fetchPage(document.body.dataset.live || location.href);
    const [now, next] = [document.querySelector('main'), page?.querySelector('main')];
    if (!page || !now || !next) return;
    keepOrder(now, next);
    document.title = page.title;
    document.body.dataset.since = page.body.dataset.since;
    for (const id of ['main', 'rail']) {
      const [from, to] = [document.getElementById(id), page.getElementById(id)];
      // What somebody is typing, or has opened or ticked, is theirs.
      if (from && to)
        Idiomorph.morph(from, to, { ignoreActiveValue: true, callbacks: { beforeAttributeUpdated: isOurs, beforeNodeRemoved: isNotSaid } });
    }
  } catch {
    // The service or the network is away; the stream comes again by itself, and the page with it.
  } finally {
    busy = false;
    if (again) {
      again = false;
      void refresh();
    }
  }
};

/** What was said about the last act is said once, and not taken away by the change that the act itself was; nor is what is shown only once. */
const isNotSaid = (node: Node): boolean => !(node instanceof Element && (node.id === 'said' || node.matches('[data-kept]')));

/** What somebody has opened, ticked, chosen or typed is theirs. */
export const isOurs = (name: string, node: Element): boolean => {
  if (name === 'open') return !node.matches('details, dialog');
  if (name === 'checked' || name === 'selected') return !node.matches('input, option');
  const isField = node instanceof HTMLInputElement || node instanceof HTMLTextAreaElement;
  return !(name === 'value' && isField && node.value !== node.defaultValue);
};

/** One stream for a tab that is being looked at; one that is not costs nothing, and is refreshed when somebody comes back to it. */
export const keepLive = (): void => {
  if (!document.body.hasAttribute('data-live')) return;
  let stream: EventSource | undefined;
  let timer: number | undefined;
  let awaiting: number | undefined;
  let wasAway = false;
  const close = (): void => {
    stream?.close();
    stream = undefined;
    clearInterval(timer);
    clearInterval(awaiting);
    wasAway = true;
  };
  const open = (): void => {
    if (stream || document.visibilityState !== 'visible') return;
    stream = new EventSource(`/live?since=${document.body.dataset.since}`);
    stream.addEventListener('changed', () => void refresh());
    timer = setInterval(() => void refresh(), refreshMs);
    awaiting = setInterval(() => document.querySelector('[data-awaits]') && void refresh(), awaitsMs);
    if (wasAway) void refresh();
  };
  document.addEventListener('visibilitychange', () => (document.visibilityState === 'visible' ? open() : close()));
  addEventListener('pagehide', close);
  addEventListener('pageshow', open);
  open();
};
