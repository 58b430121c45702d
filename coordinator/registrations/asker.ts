import pLimit, { type LimitFunction } from 'p-limit';
import { createRecentCache, pause } from '../../shared/base/async.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import { jsonIn } from '../../shared/bus/messages.ts';
import { domainOf } from '../../shared/checks/domain/config.ts';
import {
  type KnownRegistration,
  type Registration,
  standingOf,
} from '../../shared/checks/domain/registration.ts';
import type { Sql } from '../database/connect.ts';
import type { DocumentReader } from '../outbound/documents.ts';
import type { RegistryList } from './list.ts';
import { registrationFrom, serverOf } from './model.ts';
import { keepRegistration, registrationsOf } from './queries.ts';

/**
 * Asks registries about domains, for the probes that check them. Only the leader does, so that a
 * registry hears one asker, with one request at a time, for all organisations:
 *
 *   1 A kept answer that is fresh enough is the answer.
 *   2 Otherwise the registry is asked; all that want the same domain wait for the same request.
 *   3 A bad answer is asked for once more, because it alarms somebody: only two that agree count.
 *   4 The answer is kept. If there is none, a kept one counts for three days; then it is unknown.
 */
export type Asker = {
  /** `stranger`: the private probe that asks; each may ask about a few domains a minute. */
  readonly ask: (domain: string, stranger: string | null) => Promise<Registration>;
};

type Dependencies = {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly read: DocumentReader['read'];
  readonly registries: RegistryList;
  readonly againMs?: number;
};

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Less than a day, so that a check once a day finds a new answer each time. */
const goodForMs = 23 * hourMs;
const badForMs = hourMs / 2;
/** How long an answer counts while its registry gives none. */
const countsForMs = 3 * dayMs;
/** After a request without an answer. */
const restMs = 10 * 60_000;
const maxRestMs = dayMs;
const maxWaiting = 1_000;
const maxAMinute = 120;
/** What a message on the bus may say. */
const maxReason = 200;
const usualAgainMs = 3_000;

class NoAnswer extends Error {}

export function createAsker(dependencies: Dependencies): Asker {
  const { sql, clock, log, read, registries, againMs = usualAgainMs } = dependencies;
  const asking = new Map<string, Promise<Registration>>();
  const queues = new Map<string, LimitFunction>();
  /** Until when a server or a domain is not asked, by its name. */
  const resting = createRecentCache<string, number>(10_000);

  /** How many domains each private probe has asked about in this minute. */
  let asked = new Map<string, number>();
  let minute = 0;

  return {
    ask: async (domain, stranger) => {
      if (domainOf(domain) !== domain) return { is: 'unknown', why: 'this is not a domain' };
      const kept = await keptOf(domain);
      if (kept !== undefined && isFresh(kept, clock.now())) return kept;
      const known = asking.get(domain);
      if (known !== undefined) return known;
      if (stranger !== null && !mayAsk(stranger))
        return { is: 'unknown', why: 'its probe asks about too many domains' };
      const begun = askNow(domain).finally(() => asking.delete(domain));
      asking.set(domain, begun);
      return begun;
    },
  };

  async function keptOf(domain: string): Promise<KnownRegistration | undefined> {
    return (await registrationsOf(sql, [domain])).get(domain);
  }

  /** It must not make registries refuse us. */
  function mayAsk(stranger: string): boolean {
    const now = Math.floor(clock.now() / 60_000);
    if (now !== minute) [minute, asked] = [now, new Map()];
    const count = (asked.get(stranger) ?? 0) + 1;
    asked.set(stranger, count);
    return count <= maxAMinute;
  }

  async function askNow(domain: string): Promise<Registration> {
    // Read again: another request may have ended since this caller looked.
    const kept = await keptOf(domain);
    if (kept !== undefined && isFresh(kept, clock.now())) return kept;
    const server = serverOf(await registries.current(sql), domain);
    if (server === undefined) return { is: 'unknown', why: 'its registry has no RDAP server' };
    const queue = queues.get(server) ?? pLimit(1);
    queues.set(server, queue);
    try {
      if (queue.pendingCount >= maxWaiting) throw new NoAnswer('too many wait for its registry');
      const answer = await queue(() => askTwice(server, domain));
      await keepRegistration(sql, domain, answer);
      return answer;
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      log.warn({ domain, why: error.message }, 'a registry gave no answer');
      if (kept !== undefined && clock.now() - kept.asked_at < countsForMs) return kept;
      return { is: 'unknown', why: error.message.slice(0, maxReason) };
    }
  }

  async function askTwice(server: string, domain: string): Promise<KnownRegistration> {
    const first = await askOnce(server, domain);
    const standing = standingOf(first, clock.now());
    if (standing === 'good') return first;
    await pause(againMs);
    const second = await askOnce(server, domain);
    if (standingOf(second, clock.now()) !== standing)
      throw new NoAnswer('its registry gave two answers that differ');
    return second;
  }

  async function askOnce(server: string, domain: string): Promise<KnownRegistration> {
    const asked_at = clock.now();
    const rested = Math.max(resting.find(server) ?? 0, resting.find(domain) ?? 0);
    if (asked_at < rested) throw new NoAnswer('its registry gave no answer a moment ago');
    const rest = (who: string, ms: number): void => resting.keep(who, asked_at + ms);
    const answer = await read(`${server}domain/${domain}`).catch((error: unknown) => {
      rest(domain, restMs);
      throw new NoAnswer(error instanceof Error ? error.message : 'its registry is not reachable');
    });
    const { status, headers, body } = answer;
    const said = registrationFrom({ status, body: jsonIn(body) }, { domain, server, asked_at });
    if (said !== undefined) return said;
    const wanted = Number(headers['retry-after']) * 1_000;
    if (status === 429 || status === 503)
      rest(server, Number.isFinite(wanted) ? Math.min(Math.max(wanted, 0), maxRestMs) : restMs);
    else rest(domain, restMs);
    throw new NoAnswer(
      status === 200
        ? 'the answer of its registry says nothing of it'
        : `its registry answered ${status}`,
    );
  }
}

function isFresh(kept: KnownRegistration, now: number): boolean {
  const age = now - kept.asked_at;
  return age < (standingOf(kept, now) === 'good' ? goodForMs : badForMs);
}
