import { Idiomorph } from 'idiomorph';
import { setClock } from './own-zone.ts';
import { fetchPage } from './parsed-page.ts';

/** A page is refreshed even without an event: its content may change without one. */
const refreshMs = 60_000;
/** A page that waits for something without events says so, and is refreshed this often. */
const awaitsMs = 3_000;
const timeoutMs = 15_000;
/**
 * The service sends a sign of life every ten seconds: a stream that is silent for longer is cut
 * off, whatever the browser reports.
 */
const silentMs = 25_000;
/** A restart takes less. */
const lostMs = 5_000;
const retryMs = 3_000;

let busy = false;
let again = false;

/** By the clock of the tab, which no one can set. */
let refreshedAt = 0;
let triedAt = 0;
let heardAt = 0;
/** Since when the service has not answered; undefined while it does. */
let brokenAt: number | undefined;

/**
 * Rows must not jump under the reader's hand: existing rows keep their places, new ones come after
 * them. The next navigation sorts again.
 */
const keepOrder = (now: Element, next: Element): void => {
  for (const list of next.querySelectorAll('[data-keep-order]')) {
    const shown = [...now.querySelectorAll(`#${CSS.escape(list.id)} > [id]`)].map(({ id }) => id);
    const place = new Map(shown.map((id, index) => [id, index]));
    const rows = [...list.children];
    const of = ({ id }: Element): number => place.get(id) ?? shown.length;
    for (const row of rows.toSorted((a, b) => of(a) - of(b))) list.append(row);
  }
};

/**
 * A stale page that looks live would be believed, so after some seconds it says that it is stale.
 */
const showConnection = (): void => {
  const bar = document.getElementById('offline');
  if (!bar || bar.hidden === (brokenAt === undefined || performance.now() - brokenAt < lostMs))
    return;
  bar.hidden = brokenAt === undefined;
  if (brokenAt === undefined) return;
  const time = bar.querySelector('[data-lost]');
  if (time)
    time.textContent = new Date(performance.timeOrigin + brokenAt).toLocaleTimeString('en-GB', {
      timeZone: bar.dataset.zone,
    });
  document.title = `(offline) ${document.title}`;
};

const refresh = async (): Promise<void> => {
  if (busy) {
    again = true;
    return;
  }
  busy = true;
  triedAt = performance.now();
  try {
    const page = await fetchPage(
      document.body.dataset.live || location.href,
      AbortSignal.timeout(timeoutMs),
    );
    // The page is gone, or its reader was signed out.
    if (!page) return location.reload();
    refreshedAt = performance.now();
    heardAt = refreshedAt;
    brokenAt = undefined;
    showConnection();
    const [now, next] = [document.querySelector('main'), page.querySelector('main')];
    if (!now || !next) return;
    keepOrder(now, next);
    document.title = page.title;
    Object.assign(document.body.dataset, {
      since: page.body.dataset.since,
      now: page.body.dataset.now,
    });
    setClock();
    for (const id of ['main', 'rail']) {
      const [from, to] = [document.getElementById(id), page.getElementById(id)];
      // What the reader is typing, or has opened or ticked, stays.
      if (from && to)
        Idiomorph.morph(from, to, {
          ignoreActiveValue: true,
          callbacks: { beforeAttributeUpdated: isOurs, beforeNodeRemoved: isNotSaid },
        });
    }
  } catch {
    brokenAt ??= triedAt;
  } finally {
    busy = false;
    if (again) {
      again = false;
      void refresh();
    }
  }
};

/**
 * The message about the last action is shown once. It must survive the refresh that the action
 * itself causes, as must anything that is shown only once.
 */
const isNotSaid = (node: Node): boolean =>
  !(node instanceof Element && (node.id === 'said' || node.matches('[data-kept]')));

/** What the reader has opened, ticked, chosen or typed stays. */
export const isOurs = (name: string, node: Element): boolean => {
  if (name === 'open') return !node.matches('details, dialog');
  if (name === 'checked' || name === 'selected') return !node.matches('input, option');
  const isField = node instanceof HTMLInputElement || node instanceof HTMLTextAreaElement;
  return !(name === 'value' && isField && node.value !== node.defaultValue);
};

/**
 * One stream per visible tab. A hidden tab costs nothing, and is refreshed when the reader returns
 * to it.
 */
export const keepLive = (): void => {
  if (!document.body.hasAttribute('data-live')) return;
  let stream: EventSource | undefined;
  let openedAt = 0;
  let timer: number | undefined;
  let wasAway = false;
  const listen = (): void => {
    openedAt = performance.now();
    const opened = new EventSource(`/live?since=${document.body.dataset.since}`);
    const hear = (): void => {
      heardAt = performance.now();
    };
    opened.onopen = hear;
    opened.addEventListener('alive', hear);
    opened.addEventListener('changed', () => void refresh());
    opened.onerror = () => {
      // Closed: there was an answer, for example because too many tabs are open.
      if (opened.readyState !== EventSource.CLOSED) brokenAt ??= performance.now();
    };
    stream = opened;
  };
  const tick = (): void => {
    const now = performance.now();
    // A stream that is still being opened may be as silent.
    if (stream?.readyState !== EventSource.CLOSED && now - Math.max(heardAt, openedAt) > silentMs)
      brokenAt ??= now;
    // After an answer that is no stream, the browser does not reconnect by itself.
    if (stream?.readyState === EventSource.CLOSED && refreshedAt > openedAt) listen();
    showConnection();
    const every = document.querySelector('[data-awaits]') ? awaitsMs : refreshMs;
    const isDue = brokenAt !== undefined || now - refreshedAt > every;
    if (isDue && now - triedAt > retryMs) void refresh();
  };
  const close = (): void => {
    stream?.close();
    stream = undefined;
    clearInterval(timer);
    wasAway = true;
  };
  const open = (): void => {
    if (stream || document.visibilityState !== 'visible') return;
    listen();
    timer = setInterval(tick, 1_000);
    if (wasAway) void refresh();
  };
  document.addEventListener('visibilitychange', () =>
    document.visibilityState === 'visible' ? open() : close(),
  );
  document.querySelector('[data-retry]')?.addEventListener('click', () => void refresh());
  addEventListener('pagehide', close);
  addEventListener('pageshow', open);
  open();
};
