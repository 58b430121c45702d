import { isDeepStrictEqual } from 'node:util';
import type { Operation, OutputOf, RawInput } from '../../shared/api/operation.ts';
import type { Continent } from '../../shared/base/continents.ts';
import { Refusal, type RefusalCode, refusalCodes } from '../../shared/base/errors.ts';
import type { Reach } from '../../shared/imports/download.ts';
import type { Queryable, Sql } from '../database/connect.ts';
import type { RememberedMonitors } from '../monitors/memory.ts';
import type {
  TestRunOwner,
  TestRunRequest,
  TestRunState,
  TestRunWait,
} from '../monitors/test-run.ts';
import type { listChannelKinds } from '../notifications/contract.ts';
import type { AlertLinks } from '../notifications/links.ts';
import type { Sender } from '../notifications/transport.ts';
import type { PlanName } from '../organisations/plans.ts';
import type { TextRecords } from '../outbound/documents.ts';
import type { AccountSecrets } from '../people/secrets.ts';
import type { Registries } from '../registrations/model.ts';
import type { Results } from '../results/reading.ts';
import type { SecretsAtRest } from '../secrets/at-rest.ts';
import type { MintedToken } from '../tokens/authenticate.ts';
import type { Attempts } from './attempts.ts';
import type { AnonymousCaller, Caller, Organisation, Person } from './caller.ts';
import type { Cursors } from './cursors.ts';

/**
 * What operations need from the kinds of channels: their fields, validation of a config, its masked
 * form, and a message that is really sent. app.ts passes it in, because kinds and sending belong to
 * notifications.
 */
export type ChannelConfig = { readonly [name: string]: string };

type Kind = OutputOf<typeof listChannelKinds>['items'][number];

/** The result of one message that was sent while the caller waits. */
export type SendResult = {
  readonly status: number | null;
  readonly class: string;
  readonly verdict: 'delivered' | 'retry' | 'refused';
  readonly words: string | null;
  readonly took_ms: number;
};

export type ChannelsPart = {
  readonly kinds: readonly Kind[];
  /**
   * Reads a config from what was sent; `stored`: the values behind masks. Undefined for an unknown
   * kind.
   */
  readonly read: (
    kind: string,
    sent: Readonly<Record<string, unknown>>,
    stored: ChannelConfig,
  ) =>
    | { readonly config: ChannelConfig }
    | { readonly faults: { readonly [field: string]: string } }
    | undefined;
  readonly split: (
    kind: string,
    config: ChannelConfig,
  ) => { readonly open: ChannelConfig; readonly secrets: ChannelConfig };
  readonly shown: (kind: string, config: ChannelConfig) => ChannelConfig;
  /**
   * Where its messages go, so that messages to one host share one limit; null where that is
   * unknown.
   */
  readonly host: (kind: string, config: ChannelConfig) => string | null;
  readonly test: (
    kind: string,
    config: ChannelConfig,
    /** `name`: null before the channel is saved. */
    about: {
      readonly key: string;
      readonly name: string | null;
      readonly channel: string | null;
      readonly organisation: string;
    },
  ) => Promise<SendResult>;
  /** Sends an event to a webhook, and ends within 15 seconds. */
  readonly sendEvent: Sender['send'];
  readonly links: AlertLinks;
  /** What a browser needs in order to become a channel. */
  readonly pushKey: () => Promise<string>;
};

/**
 * What operations may do to probes. Each runs inside the caller's transaction, so that a plan's
 * limit is counted under its lock, and leaves an outbox row; the bus gets it right after the
 * commit. app.ts passes it in, because it needs the keys of the bus.
 */
export type NewProbe = {
  readonly name: string;
  readonly continent: Continent;
  /** The only organisation whose monitors it checks; null for a public probe. */
  readonly organisation: string | null;
  /** Where on its continent a public one is. */
  readonly region?: string | null;
};

/**
 * What a host receives when it becomes a probe: all addresses, and the permissions of its key.
 * Nothing of it is secret.
 */
export type Welcome = {
  readonly nats_url: string;
  readonly nats_ca: string | null;
  readonly jwt: string;
  readonly anchors: readonly string[];
  /** The keys that verify announcements of the coordinators. */
  readonly signing_keys: readonly string[];
};

export type ProbesPart = {
  /**
   * @throws Refusal `name_taken`. The credentials (the text of a NATS credentials file) are shown
   * once and not stored.
   */
  readonly createProbe: (
    sql: Queryable,
    probe: NewProbe,
  ) => Promise<{ readonly id: string; readonly credentials: string }>;
  /** Whether the holder of this key signed the token. */
  readonly isEnrolmentProof: (key: string, proof: string, token: string) => boolean;
  /** Creates a probe that made its key itself. @throws Refusal `name_taken`. */
  readonly enrolProbe: (
    sql: Queryable,
    probe: NewProbe & { readonly place: string | null },
    key: string,
  ) => Promise<{ readonly id: string }>;
  readonly welcome: (id: string, probe: NewProbe, key: string) => Welcome;
  /**
   * Creates new credentials; the old ones stay valid for a day. @throws Refusal `probe_not_found`.
   */
  readonly rotateProbe: (
    sql: Queryable,
    id: string,
  ) => Promise<{ readonly id: string; readonly credentials: string }>;
  /** Its connection is closed within a second of the commit. @throws Refusal `probe_not_found`. */
  readonly revokeProbe: (sql: Queryable, id: string) => Promise<void>;
};

/**
 * Test runs of a config from every continent that could check it (rule 41). They open no incident
 * and are not stored. app.ts passes this in, because it needs the bus.
 */
export type TestRunsPart = {
  /**
   * Returns the id by which to read the answers; undefined without a bus, and while too many test
   * runs are under way.
   */
  readonly begin: (wanted: TestRunRequest) => string | undefined;
  /**
   * Resolves when there are more than `known` answers, the run is over, or the time is; undefined
   * for another owner's test run, or an old one.
   */
  readonly hear: (
    id: string,
    of: TestRunOwner,
    wait: TestRunWait,
  ) => Promise<TestRunState | undefined>;
};

/** Without a bus, nothing can be tested. */
export const noTestRuns: TestRunsPart = { begin: () => undefined, hear: async () => undefined };

/** The sign-up policy, which the operator chooses. */
export type SignUpPolicy = {
  readonly signUp: 'open' | 'invited';
  /** The plan of an organisation that signs up. */
  readonly signUpPlan: PlanName;
  /** Whether mail can be sent. */
  readonly mail: boolean;
};

/** What operations need besides the database. */
export type GateDependencies = {
  readonly secrets: SecretsAtRest;
  readonly mintToken: () => Promise<MintedToken>;
  readonly accountSecrets: AccountSecrets;
  readonly attempts: Attempts;
  readonly cursors: Cursors;
  /** The one reader of single checks. */
  readonly results: Results;
  readonly shownMonitors: RememberedMonitors;
  readonly partitionOf: (monitor: string) => number;
  readonly probes: ProbesPart;
  /** Whether the addresses of public probes are published. */
  readonly identifiesProbes: boolean;
  readonly trials: TestRunsPart;
  readonly channels: ChannelsPart;
  readonly textRecords: TextRecords;
  /** Asks other services for what is imported. */
  readonly reachSource: Reach;
  /** Which registries can be asked about domains. */
  readonly registries: (sql: Queryable) => Promise<Registries>;
  /** The base URL of the service, without a trailing slash. */
  readonly baseUrl: () => string;
  readonly door: SignUpPolicy;
};

/** What a handler adds to the audit log beyond the input; never a secret. */
export type AuditDetails = {
  /**
   * The state before and after a change, where the input may contain secrets, or says too little.
   */
  readonly before?: Readonly<Record<string, unknown>>;
  readonly after?: Readonly<Record<string, unknown>>;
  /** The user who acted, once known, and the organisation concerned. */
  readonly user?: string;
  readonly organisation?: string;
};

type Values = Readonly<Record<string, unknown>>;
type Difference = { readonly before: Values | undefined; readonly after: Values | undefined };

/** The differences between two states of a thing; everything for a created or deleted one. */
export function differences(before: Values | undefined, after: Values | undefined): Difference {
  const differs = ([key, value]: [string, unknown]): boolean =>
    before === undefined ||
    after === undefined ||
    !isDeepStrictEqual(before[key], after[key]) ||
    value === undefined;
  const part = (of: Values | undefined) =>
    of === undefined ? undefined : Object.fromEntries(Object.entries(of).filter(differs));
  return { before: part(before), after: part(after) };
}

/** What every handler gets. */
export type Context = {
  /** Writes run in one transaction; reads use the pool. */
  readonly sql: Queryable;
  readonly now: number;
  readonly with: GateDependencies;
  readonly note: (noted: AuditDetails) => void;
  /**
   * Runs another operation of the same organisation as a step of this one, in its transaction. A
   * step that changes nothing leaves no trace. @throws as a call of it, and then nothing of the step
   * is left.
   */
  readonly perform: (operation: Operation, raw: RawInput) => Promise<Performed>;
};

/** What a step answered, and what it changed; undefined: nothing. */
export type Performed = {
  readonly body: unknown;
  readonly changed: Difference | undefined;
};

/** A write locks the organisation, and reads it under that lock. */
export type OrganisationScope = { readonly organisation: Organisation; readonly caller: Caller };
export type InOrganisation = Context & OrganisationScope;

/** A user's own data; a write locks the user's row. */
export type OwnScope = { readonly person: Person };
export type ByPerson = Context & OwnScope;

/** A caller who is not signed in. */
export type SignedOut = { readonly visitor: AnonymousCaller };
export type ByAnonymous = Context & SignedOut;

/**
 * What is available before the transaction: `sql` reads from the pool, in a step from the
 * transaction that the step is part of.
 */
export type Early<Own> = Omit<Context, 'note' | 'perform'> & { readonly pool: Sql } & Own;

/** A success other than the operation's default one. */
export class AlternateStatus<Body> {
  readonly status: 200;
  readonly body: Body;

  constructor(status: 200, body: Body) {
    this.status = status;
    this.body = body;
  }
}

export type OperationResult<Output> = Promise<Output | AlternateStatus<Output>>;

/** Where the meaning of the code, as the document has it, says more than the message does. */
const words: Partial<Record<RefusalCode, string>> = {
  status_page_monitor_not_found: 'There is no such monitor on this status page.',
  status_page_group_not_found: 'There is no such group on this status page.',
  status_page_post_not_found: 'There is no such post on this status page.',
  invitation_not_found: 'There is no such invitation.',
  probe_not_found: 'There is no such probe.',
};

type NotFound = {
  [Code in RefusalCode]: (typeof refusalCodes)[Code] extends readonly ['not_found', string]
    ? Code
    : never;
}[RefusalCode];

/**
 * The same words for what does not exist and for what belongs to another organisation, so that no
 * one can tell the two apart.
 */
export function notFound(code: NotFound): Refusal {
  return new Refusal(code, words[code] ?? refusalCodes[code][1]);
}

/** Returns the row, or throws the refusal that there is none. */
export function orNotFound<Row>(row: Row | undefined, code: NotFound): Row {
  if (row === undefined) throw notFound(code);
  return row;
}
