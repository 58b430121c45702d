/**
 * Shows what this browser is told, also while no page is open, and opens the page of it. It fetches nothing, keeps nothing, and answers for no
 * page: whatever is asked of the service goes there as if this were not here.
 */
declare const self: ServiceWorkerGlobalScope;

type Told = {
  readonly title: string;
  readonly body: string;
  /** The page of it, and the one where somebody says that they are on it. */
  readonly url: string;
  readonly acknowledge: string | undefined;
  readonly event: string | undefined;
  /** What answers it takes its place. */
  readonly tag: string | undefined;
  readonly at: number | undefined;
};

/** A browser that is told something and shows nothing shows words of its own, and in the end takes the permission back. */
const unread: Told = {
  ...{ title: 'Something changed', body: 'Open Antipode to see what.', url: '/incidents' },
  ...{ acknowledge: undefined, event: undefined, tag: undefined, at: undefined },
};

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

const read = (data: PushMessageData | null): Told => {
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
    typeof address === 'string' && URL.canParse(address, self.location.origin) ? new URL(address, self.location.origin) : undefined;
  return url?.origin === self.location.origin ? url.href : new URL(unread.url, self.location.origin).href;
};

const windows = (): Promise<readonly WindowClient[]> => self.clients.matchAll({ type: 'window', includeUncontrolled: true });

/** `renotify`, `actions` and `timestamp` are in browsers, and not in the types of TypeScript. */
type Shown = NotificationOptions & {
  readonly renotify?: boolean;
  readonly timestamp?: number;
  readonly actions?: readonly { readonly action: string; readonly title: string }[];
};

const show = async (told: Told): Promise<void> => {
  const { title, body, url, acknowledge, event, tag, at } = told;
  const options: Shown = {
    ...{ body, icon: '/favicon.svg', badge: '/favicon.svg', lang: 'en', data: { url, acknowledge } },
    // What takes the place of another rings again: an end must be heard as its beginning was.
    ...(tag === undefined ? {} : { tag, renotify: true }),
    ...(at === undefined ? {} : { timestamp: at }),
    ...(acknowledge === undefined ? {} : { actions: [{ action: 'acknowledge', title: 'I am on it' }] }),
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
