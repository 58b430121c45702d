import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import { isOver } from '../domain/signed-in-session.ts';
import type { Sql } from '../store/store-database.ts';
import { sessionHolder, writeSessionUses } from '../store/store-sessions.ts';
import type { AccountSecrets } from './access-account-secrets.ts';
import type { Caller, Person, Visitor } from './access-caller.ts';
import { createLastUses } from './access-last-uses.ts';

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

/** As many characters as 256 bits take in base64url: nothing else was ever given out. */
const shape = /^[\w-]{43}$/;

export const createSessions = ({ sql, clock, log, accountSecrets }: Parts): Sessions => {
  type Use = { readonly at: number; readonly address: string };
  const uses = createLastUses<Use>({ write: (all) => writeSessionUses(sql, all), log, of: 'sessions', again: 'page' });

  return {
    authenticate: async (visitor) => {
      const { cookie, address } = visitor;
      if (cookie === undefined || !shape.test(cookie)) return undefined;
      const holder = await sessionHolder(sql, await accountSecrets.fingerprint('session', cookie));
      const now = clock.now();
      if (!holder || isOver(holder, now)) return undefined;
      uses.note(holder.id, { at: now, address });
      const { id, user_id: user, email, name, email_verified, is_operator, proven_at, member } = holder;
      const person: Person = { user, email, name, email_verified, is_operator, session: id, proven_at: proven_at.getTime(), from: visitor };
      if (!member) return { person, caller: null };
      const { role, ...organisation } = member;
      return { person, caller: { is: 'session', organisation, user, role, scope: 'read_write', person, address } };
    },
    flush: uses.flush,
    close: uses.flush,
  };
};
