import type { AccountSecrets } from '../access/access-account-secrets.ts';
import type { Attempts } from '../access/access-attempts.ts';
import type { Caller, Organisation, Person, Visitor } from '../access/access-caller.ts';
import type { SecretsAtRest } from '../access/access-secrets-at-rest.ts';
import type { MintedToken } from '../access/access-tokens.ts';
import type { PlanName } from '../domain/plan-limits.ts';
import type { TextRecords } from '../outgoing/outgoing-dns-text-records.ts';
import type { Queryable, Sql } from '../store/store-database.ts';
import type { ShownMonitors } from '../store/store-remembered-monitors.ts';
import type { ChannelsPart } from './channels/operation-channel-needs.ts';
import type { Cursors } from './operation-cursors.ts';
import type { ProbesPart } from './probes/operation-probe-needs.ts';
import type { TrialsPart } from './trials/operation-trial-needs.ts';

/** How people come in here: the operator's choice. */
export type Door = {
  readonly signUp: 'open' | 'invited';
  /** What an organisation gets that signs up. */
  readonly signUpPlan: PlanName;
  /** Whether mail can be sent. */
  readonly mail: boolean;
};

/** What operations need of the house besides the database. */
export type Instruments = {
  readonly secrets: SecretsAtRest;
  readonly mintToken: () => Promise<MintedToken>;
  readonly accountSecrets: AccountSecrets;
  readonly attempts: Attempts;
  readonly cursors: Cursors;
  readonly shownMonitors: ShownMonitors;
  readonly partitionOf: (monitor: string) => number;
  readonly probes: ProbesPart;
  readonly trials: TrialsPart;
  readonly channels: ChannelsPart;
  readonly textRecords: TextRecords;
  /** Where people and jobs reach the service, without a slash at the end. */
  readonly baseUrl: () => string;
  readonly door: Door;
};

/** What a handler tells the audit log that what was sent does not say; never a secret. */
export type Noted = {
  /** What was changed, as it was and as it is: where what was sent may hold what must not be kept, or says too little. */
  readonly before?: Readonly<Record<string, unknown>>;
  readonly after?: Readonly<Record<string, unknown>>;
  /** Who it turned out to be, and whom it concerns. */
  readonly user?: string;
  readonly organisation?: string;
};

/** What every handler is given. */
export type Context = {
  /** Writes run in one transaction; reads ask the pool. */
  readonly sql: Queryable;
  readonly now: number;
  readonly with: Instruments;
  readonly note: (noted: Noted) => void;
};

/** In a write the organisation is locked, and is what it is under that lock. */
export type Place = { readonly organisation: Organisation; readonly caller: Caller };
export type InOrganisation = Context & Place;

/** Somebody at what is theirs alone; in a write their row is locked. */
export type Oneself = { readonly person: Person };
export type ByPerson = Context & Oneself;

/** Somebody who is not signed in. */
export type AtTheDoor = { readonly visitor: Visitor };
export type ByVisitor = Context & AtTheDoor;

/** What there is before the transaction: the pool alone. */
export type Early<Own> = Omit<Context, 'sql' | 'note'> & { readonly pool: Sql } & Own;

/** A success other than the operation's usual one. */
export class Otherwise<Body> {
  readonly status: 200;
  readonly body: Body;

  constructor(status: 200, body: Body) {
    this.status = status;
    this.body = body;
  }
}

export type Answer<Output> = Promise<Output | Otherwise<Output>>;
