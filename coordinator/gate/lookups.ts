import { isId } from '../../shared/base/crypto.ts';
import { Refusal, type RefusalCode } from '../../shared/base/errors.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Sql } from '../database/connect.ts';
import type { Organisation } from './caller.ts';
import { organisationById, organisationsNamed, ownerOf } from './records.ts';

/**
 * Lookups that arrive while one is under way wait for the next, which takes all of them: each call
 * is answered from a query that began after the call arrived, and fifty callers at once cost one
 * round trip.
 */
export function createGatheredLookup<Holder extends { readonly fingerprint: string }>(
  holdersOf: (fingerprints: readonly string[]) => Promise<readonly Holder[]>,
): (fingerprint: string) => Promise<Holder | undefined> {
  type Waiting = {
    readonly resolve: (holder: Holder | undefined) => void;
    readonly reject: (error: unknown) => void;
  };
  let waiting = new Map<string, Waiting[]>();
  let underWay = false;
  const run = async (): Promise<void> => {
    while (waiting.size > 0) {
      const batch = waiting;
      waiting = new Map();
      try {
        const holders = new Map(
          (await holdersOf([...batch.keys()])).map((holder) => [holder.fingerprint, holder]),
        );
        for (const [fingerprint, all] of batch)
          for (const { resolve } of all) resolve(holders.get(fingerprint));
      } catch (error) {
        for (const all of batch.values()) for (const { reject } of all) reject(error);
      }
    }
    underWay = false;
  };
  return (fingerprint) =>
    new Promise((resolve, reject) => {
      const same = waiting.get(fingerprint);
      if (same) same.push({ resolve, reject });
      else waiting.set(fingerprint, [{ resolve, reject }]);
      if (underWay) return;
      underWay = true;
      // Calls that arrive in the same turn of the event loop share a query.
      setImmediate(() => void run());
    });
}

/**
 * When credentials were last used: recorded in memory, so that no call waits for a write, and
 * written for many at once.
 */
type LastUses<Use> = {
  readonly note: (id: string, use: Use) => void;
  /** Writes what was recorded; runs by itself. */
  readonly flush: () => Promise<void>;
};

type Dependencies<Use> = {
  readonly write: (uses: ReadonlyMap<string, Use>) => Promise<void>;
  readonly log: Pick<Log, 'warn'>;
  /** The name for the log, which repeats until the write succeeds. */
  readonly of: string;
  readonly again: string;
};

const flushEvery = 60_000;

export function createLastUses<Use>({ write, log, of, again }: Dependencies<Use>): LastUses<Use> {
  let uses = new Map<string, Use>();
  let timer: NodeJS.Timeout | undefined;

  const flush = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const taken = uses;
    uses = new Map();
    try {
      await write(taken);
    } catch (error) {
      for (const [id, use] of taken) if (!uses.has(id)) uses.set(id, use);
      log.warn(
        { err: error },
        `could not store the last use of ${of}; retrying with the next ${again}`,
      );
    }
  };

  return {
    note: (id, use) => {
      uses.set(id, use);
      timer ??= setTimeout(() => void flush(), flushEvery).unref();
    },
    flush,
  };
}

/** How the operator, who belongs to no organisation, finds the one to act in. */
export type OrganisationLookup = {
  /**
   * By id, or by name without case; a name with the same spelling takes precedence. @throws Refusal
   * `organisation_not_found`.
   */
  readonly named: (idOrName: string) => Promise<Organisation>;
  /** The organisation that something belongs to. @throws Refusal when it does not exist. */
  readonly owning: (kind: keyof typeof ownerOf, id: string) => Promise<Organisation>;
};

const codes = {
  channel: 'channel_not_found',
  monitor: 'monitor_not_found',
  incident: 'incident_not_found',
  token: 'token_not_found',
} as const satisfies Record<keyof typeof ownerOf, RefusalCode>;

export function createOrganisationLookup(sql: Sql): OrganisationLookup {
  return {
    named: async (idOrName) => {
      const text = idOrName.trim();
      const byId = isId(text.toLowerCase())
        ? await organisationById(sql, text.toLowerCase())
        : undefined;
      if (byId) return byId;
      const [one, another] = await organisationsNamed(sql, text);
      if (another && (one?.name !== text || another.name === text))
        throw new Refusal(
          'organisation_not_found',
          `Several organisations are called "${text}"; give the id.`,
        );
      if (!one) throw new Refusal('organisation_not_found', `There is no organisation "${text}".`);
      return one;
    },
    owning: async (kind, id) => {
      const organisation = isId(id.toLowerCase())
        ? await ownerOf[kind](sql, id.toLowerCase())
        : undefined;
      const found =
        organisation === undefined ? undefined : await organisationById(sql, organisation);
      if (!found) throw new Refusal(codes[kind], `There is no ${kind} with the id ${id}.`);
      return found;
    },
  };
}
