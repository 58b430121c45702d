import type { Clock } from '../../shared/base/clock.ts';
import type { Log } from '../../shared/base/log.ts';
import { isOver } from '../domain/session.ts';
import type { Sql } from '../store/database.ts';
import { sessionHolder, writeSessionUses } from '../store/sessions.ts';
import type { AccountSecrets } from './account-secrets.ts';
import type { Caller, Person, Visitor } from './caller.ts';

/** Somebody who is signed in. `caller` is how they call the gate in the organisation that their session chose; null when they belong to none. */
export type SignedIn = { readonly person: Person; readonly caller: Caller | null };

export type Sessions = {
  /** Who holds the cookie's session, read afresh; undefined for nobody. Membership and role are those of this moment. */
  readonly authenticate: (visitor: Visitor) => Promise<SignedIn | undefined>;
  /** Writes down when sessions were last used. */
  readonly flush: () => Promise<void>;
  readonly close: () => Promise<void>;
};

type Parts = {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly accountSecrets: AccountSecrets;
};

const flushEvery = 60_000;

/** As many characters as 256 bits take in base64url: nothing else was ever given out. */
const shape = /^[\w-]{43}$/;

export const createSessions = ({ sql, clock, log, accountSecrets }: Parts): Sessions => {
  let uses = new Map<string, { at: number; address: string }>();
  let timer: NodeJS.Timeout | undefined;

  const flush = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const taken = uses;
    uses = new Map();
    try {
      await writeSessionUses(sql, taken);
    } catch (error) {
      for (const [id, use] of taken) if (!uses.has(id)) uses.set(id, use);
      log.warn({ err: error }, 'the last use of sessions could not be written; it is tried again with the next page');
    }
  };

  const noteUse = (id: string, at: number, address: string): void => {
    uses.set(id, { at, address });
    timer ??= setTimeout(() => void flush(), flushEvery).unref();
  };

  return {
    authenticate: async (visitor) => {
      const { cookie, address } = visitor;
      if (cookie === undefined || !shape.test(cookie)) return undefined;
      const holder = await sessionHolder(sql, await accountSecrets.fingerprint('session', cookie));
      const now = clock.now();
      if (!holder || isOver(holder, now)) return undefined;
      noteUse(holder.id, now, address);
      const { id, user_id: user, email, name, email_verified, is_operator, proven_at, member } = holder;
      const person: Person = { user, email, name, email_verified, is_operator, session: id, proven_at: proven_at.getTime(), from: visitor };
      if (!member) return { person, caller: null };
      const { role, ...organisation } = member;
      return { person, caller: { is: 'session', organisation, user, role, scope: 'read_write', person, address } };
    },
    flush,
    close: flush,
  };
};
