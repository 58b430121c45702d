/**
 * Shows this browser's notifications, even while no page is open, and opens their page. It fetches
 * nothing, stores nothing, and answers for no page: all requests go to the service as if the worker
 * did not exist.
 */
declare const self: ServiceWorkerGlobalScope;

type PushData = {
  readonly title: string;
  readonly body: string;
  /** The page of the notification, and the page that acknowledges it. */
  readonly url: string;
  readonly acknowledge: string | undefined;
  readonly event: string | undefined;
  /** A later notification with the same tag replaces it. */
  readonly tag: string | undefined;
  readonly at: number | undefined;
};

/**
 * A browser that gets a push and shows nothing shows words of its own, and in the end withdraws the
 * permission.
 */
const unread: PushData = {
  title: 'Something changed',
  body: 'Open Antipode to see what.',
  url: '/incidents',
  acknowledge: undefined,
  event: undefined,
  tag: undefined,
  at: undefined,
};

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

const read = (data: PushMessageData | null): PushData => {
  try {
    const sent: unknown = data?.json();
    if (typeof sent !== 'object' || sent === null) return unread;
    const of = new Map<string, unknown>(Object.entries(sent));
    const at = of.get('at');
    return {
      title: text(of.get('title')) ?? unread.title,
      body: text(of.get('body')) ?? '',
      url: text(of.get('url')) ?? unread.url,
      acknowledge: text(of.get('acknowledge')),
      event: text(of.get('event')),
      tag: text(of.get('tag')),
      at: typeof at === 'number' ? at : undefined,
    };
  } catch {
    return unread;
  }
};

/** An address of this service, and of no other. */
const ownAddress = (address: unknown): string => {
  const url =
    typeof address === 'string' && URL.canParse(address, self.location.origin)
      ? new URL(address, self.location.origin)
      : undefined;
  return url?.origin === self.location.origin
    ? url.href
    : new URL(unread.url, self.location.origin).href;
};

const windows = (): Promise<readonly WindowClient[]> =>
  self.clients.matchAll({ type: 'window', includeUncontrolled: true });

/** `renotify`, `actions` and `timestamp` exist in browsers, but not in TypeScript's types. */
type Shown = NotificationOptions & {
  readonly renotify?: boolean;
  readonly timestamp?: number;
  readonly actions?: readonly { readonly action: string; readonly title: string }[];
};

const show = async (told: PushData): Promise<void> => {
  const { title, body, url, acknowledge, event, tag, at } = told;
  const options: Shown = {
    body,
    icon: '/favicon.svg',
    badge: '/favicon.svg',
    lang: 'en',
    data: { url, acknowledge },
    // A replacement rings again: people must notice the end as they noticed the beginning.
    ...(tag === undefined ? {} : { tag, renotify: true }),
    ...(at === undefined ? {} : { timestamp: at }),
    ...(acknowledge === undefined
      ? {}
      : { actions: [{ action: 'acknowledge', title: 'Acknowledge' }] }),
    requireInteraction: event === 'down' || event === 'reminder',
  };
  await self.registration.showNotification(title, options);
  for (const each of await windows()) each.postMessage({ arrived: event ?? 'unread' });
};

const open = async (address: string): Promise<void> => {
  const there = (await windows()).find(({ url }) => url === address);
  if (there) await there.focus();
  else await self.clients.openWindow(address);
};

self.addEventListener('install', () => void self.skipWaiting());
self.addEventListener('push', (event) => event.waitUntil(show(read(event.data))));
self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  const { url, acknowledge } = event.notification.data ?? {};
  event.waitUntil(open(ownAddress(event.action === 'acknowledge' ? acknowledge : url)));
});

export {};
