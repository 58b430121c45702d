import type { Starts } from '../../../shared/actor/supervisor.ts';
import { createRecentCache } from '../../../shared/base/async.ts';
import type { Log } from '../../../shared/base/log.ts';
import type { WithTimeout } from '../../database/startup.ts';
import { createAttempts } from '../../gate/attempts.ts';
import type { Results } from '../../results/reading.ts';
import { createPageAccess, type PageAccess } from './access.ts';
import {
  logoOfPage,
  type PageLogo,
  pageDomains,
  type ReadPage,
  readIncidents,
  readPage,
} from './queries.ts';
import type { PublicIncident } from './snapshot.ts';
import { createSubscribing, type Subscribing } from './subscribing.ts';
import type { WebhookDependencies } from './webhooks.ts';

/** The value that was read, and whether reading a newer one failed. */
export type CachedValue<Value> = {
  readonly value: Value;
  readonly readAt: number;
  readonly isStale: boolean;
};

type Entry<Value> = {
  value: Value;
  readAt: number;
  /** When the last failed attempt since was. */
  failedAt: number | undefined;
  /** Reading failed or was slow: no one waits for it until it has succeeded again. */
  isSlow: boolean;
  reading: Promise<void> | undefined;
};

export type Memory<Value> = {
  /** @throws the reading error, when nothing was read before. */
  readonly get: (key: string) => Promise<CachedValue<Value>>;
};

/**
 * A younger value is returned as it is; an older one is refreshed in the background; one older than
 * `maxMs` is waited for.
 */
const freshMs = 4_000;
const maxMs = 8_000;
/** How long a reader waits for a newer value, where there is an older one. */
const patienceMs = 1_500;
/** After a failure there is no attempt for this long. */
const restMs = 1_000;

/**
 * Values that are read by one reader at a time. They are cached for ten seconds at most while
 * reading succeeds, and for as long as needed while it fails. `isWorth`: what stays when memory is
 * short; other values go first.
 */
export function createMemory<Value>(parts: {
  readonly read: (key: string) => Promise<Value>;
  readonly now: () => number;
  readonly most: number;
  readonly isWorth: (value: Value) => boolean;
  readonly onFailure: (error: unknown) => void;
}): Memory<Value> {
  const { read, now, most: limit, isWorth, onFailure } = parts;
  const [kept, lesser] = [
    createRecentCache<string, Entry<Value>>(limit),
    createRecentCache<string, Entry<Value>>(limit),
  ];
  const first = new Map<string, Promise<CachedValue<Value>>>();

  const keep = (key: string, entry: Entry<Value>): void =>
    (isWorth(entry.value) ? kept : lesser).keep(key, entry);

  const readAgain = (key: string, entry: Entry<Value>): Promise<void> => {
    entry.reading ??= (async () => {
      const began = now();
      try {
        const value = await read(key);
        Object.assign(entry, { value, readAt: began, failedAt: undefined, isSlow: false });
        // A page that did not exist may exist now.
        keep(key, entry);
      } catch (error) {
        Object.assign(entry, { failedAt: now(), isSlow: true });
        onFailure(error);
      } finally {
        entry.reading = undefined;
      }
    })();
    return entry.reading;
  };

  const readFirst = (key: string): Promise<CachedValue<Value>> => {
    const known = first.get(key);
    if (known) return known;
    const readAt = now();
    const reading = read(key)
      .then((value) => {
        keep(key, { value, readAt, failedAt: undefined, isSlow: false, reading: undefined });
        return { value, readAt, isStale: false };
      })
      .finally(() => first.delete(key));
    first.set(key, reading);
    return reading;
  };

  const isOld = (entry: Entry<Value>, ms: number): boolean => now() - entry.readAt >= ms;
  const rests = ({ failedAt }: Entry<Value>): boolean =>
    failedAt !== undefined && now() - failedAt < restMs;

  return {
    get: async (key) => {
      const entry = kept.find(key) ?? lesser.find(key);
      if (entry === undefined) return readFirst(key);
      if (isOld(entry, freshMs) && !rests(entry)) {
        const reading = readAgain(key, entry);
        if (isOld(entry, maxMs) && !entry.isSlow) {
          const waiting = Promise.withResolvers<void>();
          const timer = setTimeout(() => {
            entry.isSlow = true;
            waiting.resolve();
          }, patienceMs);
          await Promise.race([reading, waiting.promise]);
          clearTimeout(timer);
        }
      }
      return { value: entry.value, readAt: entry.readAt, isStale: isOld(entry, maxMs) };
    },
  };
}

export type { ReadPage } from './queries.ts';
export { startNotifyingSubscribers } from './subscribing.ts';

/** Public pages are served from memory, so that a page is available while the database is not. */
export type Publishing = {
  /**
   * `value` is undefined when the page does not exist or is not shown. @throws when nothing was
   * read before and reading fails.
   */
  readonly page: (slug: string) => Promise<CachedValue<ReadPage | undefined>>;
  readonly incidents: (
    read: ReadPage,
    from: number,
    to: number,
  ) => Promise<readonly PublicIncident[]>;
  readonly logo: (read: ReadPage) => Promise<PageLogo | undefined>;
  /** The page with this domain; a domain that was not read yet belongs to none. */
  readonly slugOfDomain: (host: string) => string | undefined;
  readonly doors: PageAccess;
  readonly subscribing: Subscribing;
  /** Reads the domains from now on; call it when the database has become available. */
  readonly start: (supervisor: Starts<'publishing'>) => void;
};

type Dependencies = WebhookDependencies & {
  readonly log: Pick<Log, 'warn'>;
  readonly patiently: WithTimeout;
  readonly results: Results;
};

const maxPages = 1_000;
const maxMonths = 200;
const maxLogos = 100;
const domainsEveryMs = 5_000;

export function createPublishing(parts: Dependencies): Publishing {
  const { sql, results, clock, log, accountSecrets, patiently } = parts;
  const now = (): number => clock.now();
  const onFailure = (error: unknown): void =>
    log.warn({ err: error }, 'could not read a public page; showing the previous version');
  const memory = createMemory<ReadPage | undefined>({
    now,
    onFailure,
    most: maxPages,
    read: patiently((slug: string) => readPage(sql, results, accountSecrets, slug, now())),
    isWorth: (value) => value !== undefined,
  });
  const incidentsOf = patiently((read: ReadPage, from: number, to: number) =>
    readIncidents(sql, results, read, from, to),
  );
  const logoOf = patiently((page: string) => logoOfPage(sql, page));
  const months = createMemory<readonly PublicIncident[]>({
    now,
    onFailure,
    most: maxMonths,
    read: async (key) => {
      const [slug = '', from, to] = key.split(' ');
      const { value } = await memory.get(slug);
      return value === undefined ? [] : incidentsOf(value, Number(from), Number(to));
    },
    isWorth: () => true,
  });
  const logos = createMemory<PageLogo | undefined>({
    now,
    onFailure,
    most: maxLogos,
    read: logoOf,
    isWorth: (logo) => logo !== undefined,
  });

  let domains = new Map<string, string>();
  const readDomains = patiently(() => pageDomains(sql));

  const attempts = createAttempts(sql, clock, accountSecrets);
  const subscribing = createSubscribing({ ...parts, attempts });
  return {
    page: memory.get,
    incidents: async ({ page }, from, to) => (await months.get(`${page.slug} ${from} ${to}`)).value,
    logo: async (read) => (await logos.get(read.id)).value,
    slugOfDomain: (host) => domains.get(host),
    doors: createPageAccess({ accountSecrets, attempts }),
    subscribing: {
      ask: patiently(subscribing.ask),
      webhook: subscribing.webhook,
      waiting: patiently(subscribing.waiting),
      confirm: patiently(subscribing.confirm),
      leave: patiently(subscribing.leave),
    },
    start: (supervisor) =>
      supervisor
        .ticker('publishing', {
          everyMs: domainsEveryMs,
          tick: async () => {
            domains = new Map((await readDomains()).map(({ domain, slug }) => [domain, slug]));
          },
        })
        .hurry(),
  };
}
