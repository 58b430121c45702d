import { Refusal } from '../../shared/base/errors.ts';
import { dnsName } from '../../shared/checks/dns/values.ts';
import type { Role } from '../gate/caller.ts';
import { limitReached, type PlanName } from '../gate/plans.ts';
import { emailFrom, lastOwner, type Move } from '../organisations/model.ts';
import { everybody, type GroupRole, groupsFrom, roleOfGroups } from './group-roles.ts';

type Claims = Readonly<Record<string, unknown>>;

/** What counts of what a provider says of somebody. */
export type Vouched = {
  readonly subject: string;
  /** Proven to the provider; undefined: none is. */
  readonly email: string | undefined;
  readonly name: string;
  /** Undefined: it says nothing of groups. */
  readonly groups: readonly string[] | undefined;
  /** What the provider calls its own session. */
  readonly session: string | null;
  /** When the subject last proved who they are, in seconds; undefined: it does not say. */
  readonly proven_at: number | undefined;
};

const longestText = 255;
const longestName = 100;

/** An address and whether it is proven count only where one statement has both. */
export function vouchedFrom(
  token: Claims,
  info: Claims | undefined,
  groupsClaim: string,
): Vouched | Refusal {
  const said = [token, ...(info === undefined ? [] : [info])];
  const first = (name: string): unknown => said.find((each) => each[name] !== undefined)?.[name];
  const subject = shortText(token.sub);
  if (subject === undefined)
    return new Refusal('provider_refused', 'The provider does not say who signed in.');
  const { sid, auth_time } = token;
  return {
    subject,
    email: said.map(provenEmailOf).find((email) => email !== undefined),
    name: nameOf(first('name')),
    groups: groupsFrom(first(groupsClaim)),
    session: shortText(sid) ?? null,
    proven_at: typeof auth_time === 'number' ? auth_time : undefined,
  };
}

/** What to call somebody, by what a provider says. */
export function nameOf(said: unknown): string {
  return String(shortText(said) ?? '')
    .replaceAll(/\p{Cc}/gu, ' ')
    .trim()
    .slice(0, longestName);
}

function shortText(claim: unknown): string | undefined {
  return typeof claim === 'string' &&
    claim !== '' &&
    claim.length <= longestText &&
    !claim.includes('\0')
    ? claim
    : undefined;
}

/** Microsoft says `xms_edov` of a domain whose owner proved it, in place of `email_verified`. */
function provenEmailOf({ email, email_verified, xms_edov }: Claims): string | undefined {
  return (email_verified === undefined ? xms_edov : email_verified) === true
    ? emailOf(email)
    : undefined;
}

/** Undefined: it is no e-mail address. */
export function emailOf(said: unknown): string | undefined {
  if (typeof said !== 'string') return undefined;
  try {
    return emailFrom(said);
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

/** Only as DNS has it: what looks alike is another domain. */
export function domainOf(email: string): string {
  return email.slice(email.lastIndexOf('@') + 1).toLowerCase();
}

type Circumstances = {
  readonly vouched: Vouched;
  /** Whoever this subject signed in as before. */
  readonly known: string | undefined;
  /** Whoever connects their account, and proved a moment ago whose it is. */
  readonly connecting: string | null;
  /** The account that has the address. */
  readonly taken: boolean;
  /** That account, where nobody has come in by it yet: the provider had it made. */
  readonly awaiting?: string | undefined;
  /** The only domain that the provider vouches for; null: any. */
  readonly domain: string | null;
  /** The name of the provider, for sentences. */
  readonly name: string;
};

export type Entry =
  | { readonly is: 'known' | 'connect'; readonly user: string }
  | { readonly is: 'new'; readonly email: string };

/**
 * Whom a provider's word lets in. An account that exists is never taken over by its address, be it
 * proven or not: whoever has it connects it themselves.
 */
export function entryOf(of: Circumstances): Entry | Refusal {
  const { vouched, known, connecting, taken, awaiting, domain, name } = of;
  const { email } = vouched;
  if (connecting !== null)
    return known === undefined || known === connecting
      ? { is: known === undefined ? 'connect' : 'known', user: connecting }
      : new Refusal(
          'identity_taken',
          `This account of ${name} is connected with another one here.`,
        );
  if (known !== undefined) return { is: 'known', user: known };
  if (email === undefined)
    return new Refusal(
      'provider_refused',
      `${name} does not say that your e-mail address is confirmed. Confirm it there, then sign in again.`,
    );
  if (domain !== null && domainOf(email) !== domain)
    return new Refusal('provider_refused', `${name} signs in addresses of ${domain} only.`);
  if (awaiting !== undefined) return { is: 'connect', user: awaiting };
  return taken
    ? new Refusal(
        'account_exists',
        `There is an account with your address already. Sign in to it as before, then connect ${name} in your profile. If somebody else had the address before you, ask whoever manages this service.`,
      )
    : { is: 'new', email };
}

/**
 * The role after a sign-in; undefined: none. Without a table the provider has no say, and what it
 * does not say changes nothing.
 */
export function roleAfter(
  table: readonly GroupRole[],
  groups: readonly string[] | undefined,
  present: Role | undefined,
): Role | undefined {
  if (table.length === 0) return present;
  if (groups !== undefined) return roleOfGroups(groups, table);
  return present ?? table.find(({ group }) => group === everybody)?.role;
}

/** What a provider says of somebody by SCIM: whether they are there, and in which groups. */
export type Standing = { readonly active: boolean; readonly groups: readonly string[] };

/**
 * The role of somebody whom a provider provisions; undefined: none. Whomever it does not know yet
 * stays, or turning it on would remove everybody.
 */
export function roleProvisioned(
  table: readonly GroupRole[],
  standing: Standing | undefined,
  present: Role | undefined,
): Role | undefined {
  if (standing === undefined) return present;
  return standing.active ? roleAfter(table, standing.groups, present) : undefined;
}

type House = {
  readonly plan: PlanName;
  /** How many there are now. */
  readonly members: number;
  readonly owners: number;
};

/** The moves that an organisation cannot take, and why; each leaves the others as they are. */
export function heldBack<Each extends Move>(
  moves: readonly Each[],
  { plan, ...house }: House,
): ReadonlyMap<Each, Refusal> {
  const held = new Map<Each, Refusal>();
  let { members, owners } = house;
  for (const move of moves.toSorted((one, other) => turnOf(one) - turnOf(other))) {
    const { before, after } = move;
    const refusal =
      before === undefined
        ? limitReached('members', plan, members)
        : before === 'owner' && owners < 2
          ? lastOwner()
          : undefined;
    if (refusal) held.set(move, refusal);
    else {
      members += Number(after !== undefined) - Number(before !== undefined);
      owners += Number(after === 'owner') - Number(before === 'owner');
    }
  }
  return held;
}

/** With a new owner the one before may go, and whoever goes makes room. */
function turnOf({ after }: Move): number {
  if (after === 'owner') return 0;
  return after === undefined ? 1 : 2;
}

/** How long the browser has to come back. */
export const signInMs = 600_000;

/** How old a proof may be that was asked for a moment ago. */
const freshS = 300;

export function isStale({ proven_at }: Vouched, now: number): boolean {
  return proven_at !== undefined && now / 1_000 - proven_at > freshS;
}

/** The name of a proof in DNS is that of a status page's domain; its text is another. */
export function signInProof(token: string): string {
  return `antipode-sign-in=${token}`;
}

export function tokenOfProof(text: string): string {
  return text.replace(/^antipode-sign-in=/, '');
}

/** A domain of e-mail addresses, as DNS writes it. @throws Refusal `domain_invalid`. */
export function mailDomainFrom(text: string): string {
  const name = dnsName(text.trim().replace(/^@/, ''));
  if (
    name !== undefined &&
    name.length <= 240 &&
    /^(?:[a-z0-9-]{1,63}\.)+[a-z][a-z0-9-]+$/.test(name)
  )
    return name;
  throw new Refusal('domain_invalid', {
    domain: 'must be the domain of your e-mail addresses, such as example.com.',
  });
}

/** @throws Refusal `issuer_invalid`. */
export function issuerFrom(text: string): string {
  const issuer = text.trim();
  const url = URL.parse(issuer);
  if (url?.protocol === 'https:' && url.username === '' && url.search === '' && url.hash === '')
    return issuer;
  throw new Refusal('issuer_invalid', {
    issuer: 'must be the https:// address that your provider calls its issuer.',
  });
}
