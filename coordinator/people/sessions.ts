import { newId } from '../../shared/base/crypto.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Queryable, Sql } from '../database/connect.ts';
import type { AnonymousCaller, Person, Role, SignedIn } from '../gate/caller.ts';
import type { ByAnonymous } from '../gate/context.ts';
import { createLastUses } from '../gate/lookups.ts';
import type { PlanName } from '../gate/plans.ts';
import { operates } from '../gate/records.ts';
import type { AccountSecrets } from '../secrets/account-secrets.ts';
import { sessionCookieOf } from '../web/cookies.ts';
import type { OwnMembership } from './queries.ts';

/** How long users stay signed in, and for how long a proof of identity counts. */

const minute = 60_000;
const day = 86_400_000;

/** An unused session ends after this time. */
export const idleMs = 7 * day;
/** The maximum age of a session, however much it is used. */
export const oldestMs = 30 * day;

export function isOver(
  session: { readonly created_at: number; readonly last_used_at: number },
  now: number,
): boolean {
  return now - session.last_used_at >= idleMs || now - session.created_at >= oldestMs;
}

/** How long links and half-done operations are valid. */
export const linkLifetimes = {
  operator: 60 * minute,
  passwordReset: 60 * minute,
  email: 2 * day,
  signUp: 2 * day,
  invitation: 7 * day,
  secondStep: 10 * minute,
  passkey: 5 * minute,
} as const;

/** The value of a Set-Cookie header. */
export function setSessionCookie(text: string, isSecure: boolean): string {
  return `${sessionCookieOf(isSecure)}=${text}; Max-Age=${oldestMs / 1000}; ${attributes(isSecure)}`;
}

function attributes(isSecure: boolean): string {
  return `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
}

export function endSessionCookie(isSecure: boolean): string {
  return `${sessionCookieOf(isSecure)}=; Max-Age=0; ${attributes(isSecure)}`;
}

/**
 * A session with everything that a page depends on, as it is now. The organisation's part is null
 * for a user without any.
 */
type SessionHolder = {
  readonly id: string;
  readonly created_at: number;
  readonly last_used_at: number;
  readonly proven_at: number;
  readonly user_id: string;
  readonly email: string;
  readonly name: string;
  readonly email_verified: boolean;
  readonly is_operator: boolean;
  /** Who vouched for it; null: it was begun here. */
  readonly provider_id: string | null;
  /** The only organisation in which it acts; null: any of the user's. */
  readonly within: string | null;
  readonly member: {
    readonly id: string;
    readonly name: string;
    readonly plan: PlanName;
    readonly time_zone: string;
    readonly ends_at: number | null;
    readonly role: Role;
  } | null;
};

/** In the organisation that the session chose, or the user's first one. */
async function sessionHolder(
  sql: Queryable,
  fingerprint: Buffer,
): Promise<SessionHolder | undefined> {
  const [row] = await sql<SessionHolder[]>`
    select s.id, s.created_at, s.last_used_at, s.proven_at, s.user_id, u.email, u.name,
      u.email_verified_at is not null as email_verified,
      ${operates(sql)} as is_operator, p.id as provider_id,
      p.organisation_id as within,
      (select json_build_object('id', o.id, 'name', o.name, 'plan', o.plan, 'time_zone',
        o.time_zone, 'ends_at', (extract(epoch from o.ends_at) * 1000)::float8, 'role', m.role)
        from memberships m join organisations o on o.id = m.organisation_id
        where m.user_id = s.user_id and ${isVouched(sql)} and ${wanted(sql)} is null
        order by m.organisation_id = s.organisation_id desc nulls last, o.key limit 1) as member
    from sessions s join users u on u.id = s.user_id
    left join identities i on i.id = s.identity_id
    left join sign_in_providers p on p.id = i.provider_id
    where s.fingerprint = ${fingerprint}`;
  return row;
}

/** Whether the provider `p` of a session, if any, speaks for membership `m`. */
function isVouched(sql: Queryable) {
  return sql`(p.organisation_id is null or p.organisation_id = m.organisation_id)`;
}

/**
 * The provider that alone opens membership `m`, as in addresses, the organisation's own before the
 * installation's; null: a session of provider `p` does, or needs none. Owners always keep another
 * way in.
 */
function wanted(sql: Queryable) {
  return sql`(select coalesce(w.organisation_id::text, 'installation') from (
      select id, organisation_id from sign_in_providers
      where only_way and (organisation_id = m.organisation_id or organisation_id is null)
      order by organisation_id nulls last limit 1) w
    where m.role <> 'owner' and w.id is distinct from p.id)`;
}

type OwnOrganisation = OwnMembership & { readonly wants: string | null };

/** The user's organisations, oldest first, and what those want that the session does not open. */
export function organisationsOf(
  sql: Queryable,
  { user, session }: Person,
): Promise<OwnOrganisation[]> {
  return sql<OwnOrganisation[]>`
    select o.id, o.name, m.role, (extract(epoch from o.ends_at) * 1000)::float8 as ends_at,
      ${wanted(sql)} as wants
    from memberships m join organisations o on o.id = m.organisation_id
    left join sessions s on s.id = ${session}
    left join identities i on i.id = s.identity_id
    left join sign_in_providers p on p.id = i.provider_id
    where m.user_id = ${user} and ${isVouched(sql)} order by o.key`;
}

/** The one with this id, if the session opens it. */
export async function openedBy(
  sql: Queryable,
  person: Person,
  organisation: string,
): Promise<OwnMembership | undefined> {
  const own = await organisationsOf(sql, person);
  return own.find(({ id, wants }) => id === organisation && wants === null);
}

type NewSession = {
  readonly id: string;
  readonly fingerprint: Buffer;
  readonly user: string;
  readonly at: number;
  readonly address: string;
  readonly device: string;
  readonly by?: Voucher | undefined;
};

/** The identity of a provider that a session is of, and what the provider calls its own. */
export type Voucher = { readonly identity: string; readonly session: string | null };

export async function insertSession(
  sql: Queryable,
  { id, fingerprint, user, at, address, device, by }: NewSession,
): Promise<void> {
  await sql`insert into sessions (id, fingerprint, user_id, created_at, last_used_at, proven_at,
    address, device, identity_id, provider_session)
    values (${id}, ${fingerprint}, ${user}, ${new Date(at)}, ${new Date(at)}, ${new Date(at)},
      ${address}, ${device}, ${by?.identity ?? null}, ${by?.session ?? null})`;
}

/** Long enough to tell browsers apart; longer texts are cut. */
const longestDevice = 300;

/**
 * Every sign-in gets a new session: the browser's previous one ends, so that no one continues in a
 * session that an attacker planted.
 */
export async function beginSession(
  { sql, now, note, visitor, with: { accountSecrets } }: ByAnonymous,
  user: string,
  by?: Voucher,
): Promise<string> {
  note({ user });
  if (visitor.cookie !== undefined)
    await deleteSessionOf(sql, await accountSecrets.fingerprint('session', visitor.cookie));
  const { text, fingerprint } = await accountSecrets.mint('session');
  const { address, device } = visitor;
  await insertSession(sql, {
    id: newId(),
    fingerprint,
    user,
    at: now,
    address,
    device: device.slice(0, longestDevice),
    by,
  });
  return text;
}

/** Ends the session of a cookie. */
export async function deleteSessionOf(sql: Queryable, fingerprint: Buffer): Promise<void> {
  await sql`delete from sessions where fingerprint = ${fingerprint}`;
}

/** True when it was one of the user's. */
export async function deleteSession(sql: Queryable, user: string, id: string): Promise<boolean> {
  return (await sql`delete from sessions where user_id = ${user} and id = ${id}`).count > 0;
}

/** Ends all sessions of a user except the given one. Returns their number. */
export async function deleteSessions(
  sql: Queryable,
  user: string,
  except: string | null,
): Promise<number> {
  return (await sql`delete from sessions where user_id = ${user} and id is distinct from ${except}`)
    .count;
}

export async function writeProven(sql: Queryable, id: string, at: number): Promise<void> {
  await sql`update sessions set proven_at = ${new Date(at)} where id = ${id}`;
}

export async function writeActiveOrganisation(
  sql: Queryable,
  id: string,
  organisation: string,
): Promise<void> {
  await sql`update sessions set organisation_id = ${organisation} where id = ${id}`;
}

type SessionRow = {
  readonly id: string;
  readonly created_at: number;
  readonly last_used_at: number;
  readonly address: string;
  readonly device: string;
};

export function sessionsOf(sql: Queryable, user: string): Promise<SessionRow[]> {
  return sql<
    SessionRow[]
  >`select id, created_at, last_used_at, address, device from sessions where user_id = ${user}
  order by last_used_at desc, id`;
}

/**
 * Writes when and from where sessions were last used, many in one statement; times never move
 * backwards, because several coordinators report.
 */
async function writeSessionUses(
  sql: Queryable,
  uses: ReadonlyMap<string, { readonly at: number; readonly address: string }>,
): Promise<void> {
  if (uses.size === 0) return;
  const rows = [...uses].map(([id, { at, address }]) => ({
    id,
    at: new Date(at).toISOString(),
    address,
  }));
  await sql`update sessions s set last_used_at = u.at, address = u.address
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as u (id uuid, at timestamptz,
      address text)
    where s.id = u.id and s.last_used_at < u.at`;
}

export type Sessions = {
  /**
   * The user of the cookie's session, read afresh; undefined without a valid one. Membership and
   * role are those of this moment.
   */
  readonly authenticate: (visitor: AnonymousCaller) => Promise<SignedIn | undefined>;
  /** Writes when sessions were last used. */
  readonly flush: () => Promise<void>;
  readonly close: () => Promise<void>;
};

type Dependencies = {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly accountSecrets: AccountSecrets;
};

/** As many characters as 256 bits take in base64url: no other text was ever issued. */
const shape = /^[\w-]{43}$/;

export function createSessions({ sql, clock, log, accountSecrets }: Dependencies): Sessions {
  type Use = { readonly at: number; readonly address: string };
  const uses = createLastUses<Use>({
    write: (all) => writeSessionUses(sql, all),
    log,
    of: 'sessions',
    again: 'page',
  });

  return {
    authenticate: async (visitor) => {
      const { cookie, address } = visitor;
      if (cookie === undefined || !shape.test(cookie)) return undefined;
      const holder = await sessionHolder(sql, await accountSecrets.fingerprint('session', cookie));
      const now = clock.now();
      if (!holder || isOver(holder, now)) return undefined;
      uses.note(holder.id, { at: now, address });
      const {
        id,
        user_id: user,
        email,
        name,
        email_verified,
        is_operator,
        proven_at,
        provider_id,
        within,
        member,
      } = holder;
      const person: Person = {
        user,
        email,
        name,
        email_verified,
        is_operator,
        session: id,
        proven_at,
        ...(provider_id === null ? {} : { provider: within ?? 'installation' }),
        ...(within === null ? {} : { within }),
        from: visitor,
      };
      if (!member) return { person, caller: null };
      const { role, ...organisation } = member;
      return {
        person,
        caller: { is: 'session', organisation, user, role, scope: 'read_write', person, address },
      };
    },
    flush: uses.flush,
    close: uses.flush,
  };
}

/** The browser's name in the user's words. Order matters: most browsers also claim to be others. */
const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(e|A|iOS)?\//, 'Edge'],
  [/\b(OPR|Opera)\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bVivaldi\//, 'Vivaldi'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b(Headless)?(Chrome|Chromium|CriOS)\//, 'Chrome'],
  [/\bVersion\/[\d.]+ .*Safari\//, 'Safari'],
  [/^curl\//, 'curl'],
];

const systems: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\b(Macintosh|Mac OS X)\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

/** For example "Firefox on Linux". */
export function deviceOf(userAgent: string): string {
  const browser = named(browsers, userAgent);
  const system = named(systems, userAgent);
  if (browser === undefined && system === undefined) return 'Unknown device';
  if (system === undefined) return browser ?? '';
  return `${browser ?? 'A browser'} on ${system}`;
}

function named(rows: typeof browsers, text: string): string | undefined {
  return rows.find(([sign]) => sign.test(text))?.[1];
}
