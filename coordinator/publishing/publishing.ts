import { createTicker } from '../../shared/actor/mailbox.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { AccountSecrets } from '../access/access-account-secrets.ts';
import { createAttempts } from '../access/access-attempts.ts';
import type { PublicIncident } from '../domain/public-page.ts';
import type { Sql } from '../store/store-database.ts';
import type { Patiently } from '../store/store-database-patience.ts';
import { pageDomains } from '../store/store-public-figures.ts';
import { logoOfPage, type PageLogo } from '../store/store-published-pages.ts';
import { createDoors, type Doors } from './publishing-doors.ts';
import { createMemory, type Kept } from './publishing-memory.ts';
import { type ReadPage, readIncidents, readPage } from './publishing-read-page.ts';
import { createSubscribing, type Subscribing } from './publishing-subscribing.ts';

export type { Kept } from './publishing-memory.ts';
export type { ReadPage } from './publishing-read-page.ts';
export { startTellingSubscribers } from './publishing-tell-subscribers.ts';

/** What the world reads: from memory, so that a page is there while the database is not. */
export type Publishing = {
  /** `value` is undefined when there is no such page, or it is not shown. @throws when nothing was read before and nothing can be. */
  readonly page: (slug: string) => Promise<Kept<ReadPage | undefined>>;
  readonly incidents: (read: ReadPage, from: number, to: number) => Promise<readonly PublicIncident[]>;
  readonly logo: (read: ReadPage) => Promise<PageLogo | undefined>;
  /** The page whose domain this is; what was not read yet is nobody's. */
  readonly slugOfDomain: (host: string) => string | undefined;
  readonly doors: Doors;
  readonly subscribing: Subscribing;
  /** Reads which domains there are; for when the database has just come to be there. */
  readonly hurry: () => void;
  readonly close: () => Promise<void>;
};

type Parts = {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly accountSecrets: AccountSecrets;
  readonly patiently: Patiently;
};

const mostPages = 1_000;
const mostMonths = 200;
const mostLogos = 100;
const domainsEveryMs = 5_000;

export const createPublishing = ({ sql, clock, log, accountSecrets, patiently }: Parts): Publishing => {
  const now = (): number => clock.now();
  const onFailure = (error: unknown): void => log.warn({ err: error }, 'a public page could not be read; what was read before is shown');
  const memory = createMemory<ReadPage | undefined>({
    ...{ now, onFailure, most: mostPages },
    read: patiently((slug: string) => readPage(sql, accountSecrets, slug, now())),
    isWorth: (value) => value !== undefined,
  });
  const incidentsOf = patiently((read: ReadPage, from: number, to: number) => readIncidents(sql, read, from, to));
  const logoOf = patiently((page: string) => logoOfPage(sql, page));
  const months = createMemory<readonly PublicIncident[]>({
    ...{ now, onFailure, most: mostMonths },
    read: async (key) => {
      const [slug = '', from, to] = key.split(' ');
      const { value } = await memory.get(slug);
      return value === undefined ? [] : incidentsOf(value, Number(from), Number(to));
    },
    isWorth: () => true,
  });
  const logos = createMemory<PageLogo | undefined>({
    ...{ now, onFailure, most: mostLogos, read: logoOf },
    isWorth: (logo) => logo !== undefined,
  });

  let domains = new Map<string, string>();
  const readDomains = patiently(() => pageDomains(sql));
  const ticker = createTicker({
    everyMs: domainsEveryMs,
    tick: async () => {
      domains = new Map((await readDomains()).map(({ domain, slug }) => [domain, slug]));
    },
    // The domains that are known stay so; that the database is away, others say.
    onFailure: () => undefined,
  });
  ticker.hurry();

  const attempts = createAttempts(sql, clock, accountSecrets);
  const subscribing = createSubscribing({ sql, clock, accountSecrets, attempts });
  return {
    page: memory.get,
    incidents: async ({ page }, from, to) => (await months.get(`${page.slug} ${from} ${to}`)).value,
    logo: async (read) => (await logos.get(read.id)).value,
    slugOfDomain: (host) => domains.get(host),
    doors: createDoors({ accountSecrets, attempts }),
    subscribing: {
      ask: patiently(subscribing.ask),
      confirm: patiently(subscribing.confirm),
      leave: patiently(subscribing.leave),
    },
    hurry: ticker.hurry,
    close: ticker.stop,
  };
};
