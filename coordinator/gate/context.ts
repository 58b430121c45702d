import type { Continent } from '../../shared/base/continents.ts';
import { Refusal, type RefusalCode } from '../../shared/base/errors.ts';
import type { Queryable, Sql } from '../database/connect.ts';
import type { RememberedMonitors } from '../monitors/memory.ts';
import type { TestRunOwner, TestRunRequest, TestRunState } from '../monitors/test-run.ts';
import type { AlertLinks } from '../notifications/links.ts';
import type { PlanName } from '../organisations/plans.ts';
import type { TextRecords } from '../outbound/documents.ts';
import type { AccountSecrets } from '../people/secrets.ts';
import type { SecretsAtRest } from '../secrets/at-rest.ts';
import type { MintedToken } from '../tokens/authenticate.ts';
import type { Attempts } from './attempts.ts';
import type { AnonymousCaller, Caller, Organisation, Person } from './caller.ts';
import type { Cursors } from './cursors.ts';

/**
 * What operations need of the kinds of channels: what there is to fill in, whether a config is one, what of it is shown, and a message that is really
 * sent. app.ts hands this over, because kinds and sending belong to the room of alerts.
 */
export type ChannelConfig = { readonly [name: string]: string };

export type KindField = {
  readonly name: string;
  readonly label: string;
  readonly hint: string | null;
  readonly secret: boolean;
  readonly optional: boolean;
  readonly input: string;
  readonly choices: readonly string[];
  readonly pattern: string;
};
export type Kind = { readonly id: string; readonly name: string; readonly about: string; readonly fields: readonly KindField[] };

/** What came of one message that was sent while somebody waits. */
export type Tried = {
  readonly status: number | null;
  readonly class: string;
  readonly verdict: 'taken' | 'retry' | 'refused';
  readonly words: string | null;
  readonly took_ms: number;
};

export type ChannelsPart = {
  readonly kinds: readonly Kind[];
  /** A config from what somebody sent; `stored`: what a mask stands for. Undefined for a kind that there is not. */
  readonly read: (
    kind: string,
    sent: Readonly<Record<string, unknown>>,
    stored: ChannelConfig,
  ) => { readonly config: ChannelConfig } | { readonly faults: { readonly [field: string]: string } } | undefined;
  readonly split: (kind: string, config: ChannelConfig) => { readonly open: ChannelConfig; readonly secrets: ChannelConfig };
  readonly shown: (kind: string, config: ChannelConfig) => ChannelConfig;
  /** Where its messages go, so that what goes to one host has one share; null where that cannot be told. */
  readonly host: (kind: string, config: ChannelConfig) => string | null;
  readonly test: (
    kind: string,
    config: ChannelConfig,
    /** `name`: null while it is not saved. */
    about: { readonly key: string; readonly name: string | null; readonly channel: string | null; readonly organisation: string },
  ) => Promise<Tried>;
  readonly links: AlertLinks;
  /** What a browser needs in order to be told. */
  readonly pushKey: () => Promise<string>;
};

/**
 * What operations may do to probes. Each runs inside the caller's transaction (so that a plan's limit is counted under its lock) and leaves
 * an outbox line; the bus hears of it right after the commit. app.ts hands it over, because it needs the keys of the bus.
 */
export type NewProbe = {
  readonly name: string;
  readonly continent: Continent;
  /** The organisation whose monitors alone it checks; null for a public probe. */
  readonly organisation: string | null;
};

export type ListedProbe = {
  readonly id: string;
  readonly name: string;
  readonly continent: Continent;
  readonly organisation: string | null;
  readonly created_at: Date;
  readonly revoked_at: Date | null;
  readonly last_seen_at: Date | null;
  readonly version: string | null;
  readonly quarantined_at: Date | null;
  readonly quarantine_reason: string | null;
  readonly doubted_at: Date | null;
  readonly doubt_reason: string | null;
  readonly place_trusted_as: string | null;
  readonly clock_offset_ms: number | null;
};

/** What a host is told that has become a probe: where everything is, and what its key may do. Nothing of it is secret. */
export type Welcome = {
  readonly nats_url: string;
  readonly nats_tls_first: boolean;
  readonly nats_ca: string | null;
  readonly jwt: string;
  readonly anchors: readonly string[];
  /** What verifies announcements of the coordinators, and whether what is not signed is refused. */
  readonly signing_keys: readonly string[];
  readonly require_signed: boolean;
};

export type ProbesPart = {
  /** @throws Refusal `name_taken`. The credentials (the text of a NATS credentials file) are shown once and stored nowhere. */
  readonly createProbe: (sql: Queryable, probe: NewProbe) => Promise<{ readonly id: string; readonly credentials: string }>;
  /** Whether whoever has this key signed the token. */
  readonly isEnrolmentProof: (key: string, proof: string, token: string) => boolean;
  /** A probe that made its key itself. @throws Refusal `name_taken`. */
  readonly enrolProbe: (sql: Queryable, probe: NewProbe, key: string) => Promise<{ readonly id: string }>;
  readonly welcome: (sql: Queryable, id: string, probe: NewProbe, key: string) => Promise<Welcome>;
  /** New credentials; the older ones go on working for a day. @throws Refusal `probe_not_found`. */
  readonly rotateProbe: (sql: Queryable, id: string) => Promise<{ readonly id: string; readonly credentials: string }>;
  /** Its connection falls within a second of the commit. @throws Refusal `probe_not_found`. */
  readonly revokeProbe: (sql: Queryable, id: string) => Promise<void>;
  /** Public and private ones, or those of one organisation; revoked ones included, oldest first. */
  readonly listProbes: (sql: Queryable, organisation?: string) => Promise<readonly ListedProbe[]>;
};

/** Trials of a config from every continent that could check it (rule 41). They open nothing and are stored nowhere; app.ts hands this over, because it needs the bus. */
export type TestRunsPart = {
  /** The id by which the answers are heard. Undefined without a bus, and while too many are under way. */
  readonly begin: (wanted: TestRunRequest) => string | undefined;
  /** Settles when there are more than `known` answers, or it is over; undefined for a trial of somebody else, or of long ago. */
  readonly hear: (id: string, of: TestRunOwner, known: number) => Promise<TestRunState | undefined>;
};

/** Where there is no bus, nothing can be tried. */
export const noTestRuns: TestRunsPart = { begin: () => undefined, hear: async () => undefined };

/** How people come in here: the operator's choice. */
export type SignUpPolicy = {
  readonly signUp: 'open' | 'invited';
  /** What an organisation gets that signs up. */
  readonly signUpPlan: PlanName;
  /** Whether mail can be sent. */
  readonly mail: boolean;
};

/** What operations need of the house besides the database. */
export type GateDependencies = {
  readonly secrets: SecretsAtRest;
  readonly mintToken: () => Promise<MintedToken>;
  readonly accountSecrets: AccountSecrets;
  readonly attempts: Attempts;
  readonly cursors: Cursors;
  readonly shownMonitors: RememberedMonitors;
  readonly partitionOf: (monitor: string) => number;
  readonly probes: ProbesPart;
  readonly trials: TestRunsPart;
  readonly channels: ChannelsPart;
  readonly textRecords: TextRecords;
  /** Where people and jobs reach the service, without a slash at the end. */
  readonly baseUrl: () => string;
  readonly door: SignUpPolicy;
};

/** What a handler tells the audit log that what was sent does not say; never a secret. */
export type AuditDetails = {
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
  readonly with: GateDependencies;
  readonly note: (noted: AuditDetails) => void;
};

/** In a write the organisation is locked, and is what it is under that lock. */
export type Place = { readonly organisation: Organisation; readonly caller: Caller };
export type InOrganisation = Context & Place;

/** Somebody at what is theirs alone; in a write their row is locked. */
export type Oneself = { readonly person: Person };
export type ByPerson = Context & Oneself;

/** Somebody who is not signed in. */
export type SignedOut = { readonly visitor: AnonymousCaller };
export type ByAnonymous = Context & SignedOut;

/** What there is before the transaction: the pool alone. */
export type Early<Own> = Omit<Context, 'sql' | 'note'> & { readonly pool: Sql } & Own;

/** A success other than the operation's usual one. */
export class AlternateStatus<Body> {
  readonly status: 200;
  readonly body: Body;

  constructor(status: 200, body: Body) {
    this.status = status;
    this.body = body;
  }
}

export type Answer<Output> = Promise<Output | AlternateStatus<Output>>;

const words = {
  monitor_not_found: 'monitor',
  incident_not_found: 'incident',
  maintenance_window_not_found: 'maintenance window',
  group_not_found: 'group',
  status_page_not_found: 'status page',
  status_page_monitor_not_found: 'monitor on this status page',
  status_page_group_not_found: 'group on this status page',
  status_page_post_not_found: 'post on this status page',
  trial_not_found: 'trial',
  channel_not_found: 'channel',
  message_not_found: 'message',
  mute_not_found: 'mute',
  share_not_found: 'link to this incident',
  token_not_found: 'token',
  connection_not_found: 'connected assistant',
  member_not_found: 'member with that e-mail address',
  user_not_found: 'user with that e-mail address',
  session_not_found: 'session',
  passkey_not_found: 'passkey',
  invitation_not_found: 'invitation',
  probe_not_found: 'probe',
  organisation_not_found: 'organisation',
  set_aside_not_found: 'message that was set aside',
} as const satisfies Partial<Record<RefusalCode, string>>;

/** The same words for what does not exist and for what is another organisation's, so that nobody can tell the two apart. */
export const notFound = (code: keyof typeof words): Refusal => new Refusal(code, `There is no such ${words[code]}.`);

/** The row, or the refusal that there is none. */
export const orNotFound = <Row>(row: Row | undefined, code: keyof typeof words): Row => {
  if (row === undefined) throw notFound(code);
  return row;
};
