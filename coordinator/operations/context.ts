import type { Caller, Organisation } from '../access/caller.ts';
import type { ProbesPart } from '../access/probes.ts';
import type { SecretsAtRest } from '../access/secrets.ts';
import type { MintedToken } from '../access/tokens.ts';
import type { Queryable } from '../store/database.ts';
import type { ShownMonitors } from '../store/shown-monitors.ts';
import type { Cursors } from './cursors.ts';

/** What operations need of the house besides the database. */
export type Instruments = {
  readonly secrets: SecretsAtRest;
  readonly mintToken: () => Promise<MintedToken>;
  readonly cursors: Cursors;
  readonly shownMonitors: ShownMonitors;
  readonly partitionOf: (monitor: string) => number;
  readonly probes: ProbesPart;
  /** Where people and jobs reach the service, without a slash at the end. */
  readonly baseUrl: () => string;
};

/** What every handler is given. */
export type Context = {
  /** Writes run in one transaction; reads ask the pool. */
  readonly sql: Queryable;
  readonly now: number;
  readonly with: Instruments;
};

/** In a write the organisation is locked, and is what it is under that lock. */
export type InOrganisation = Context & { readonly organisation: Organisation; readonly caller: Caller };

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
