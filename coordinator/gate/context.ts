import { isDeepStrictEqual } from 'node:util';
import type { Operation, RawInput } from '../../shared/api/operation.ts';
import { Refusal, type RefusalCode, refusalCodes } from '../../shared/base/errors.ts';
import type { Queryable, Sql } from '../database/connect.ts';
import type { TextRecords } from '../outbound/documents.ts';
import type { AccountSecrets } from '../secrets/account-secrets.ts';
import type { SecretsAtRest } from '../secrets/at-rest.ts';
import type { Attempts } from './attempts.ts';
import type { AnonymousCaller, Caller, Organisation, Person } from './caller.ts';
import type { Cursors } from './cursors.ts';

/**
 * What operations need besides the database. Subjects have theirs here, too: `dependencies.ts` adds
 * them, so that the gate knows no subject.
 */
export interface GateDependencies {
  readonly secrets: SecretsAtRest;
  readonly accountSecrets: AccountSecrets;
  readonly attempts: Attempts;
  readonly cursors: Cursors;
  readonly textRecords: TextRecords;
  /** The base URL of the service, without a trailing slash. */
  readonly baseUrl: () => string;
}

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
  /** Writes, and calls of visitors, run in one transaction; other reads use the pool. */
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
