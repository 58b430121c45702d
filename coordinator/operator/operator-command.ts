import type { OrganisationLookup } from '../access/access-organisation-lookup.ts';
import type { Gate } from '../operations/operations.ts';

/** What a command may use. Everything about people, monitors and probes goes through the gate; the rest is the house's own. */
export type OperatorParts = {
  readonly gate: Gate;
  readonly organisations: OrganisationLookup;
  /** The names of the migrations that the schema was brought up to date with. */
  readonly migrate: () => Promise<readonly string[]>;
  readonly backup: (file: string, progress: Progress, what?: { readonly withResults: boolean }) => Promise<Copied>;
  readonly backups: ScheduledBackups;
  readonly restore: (file: string, replace: boolean, progress: Progress) => Promise<Copied>;
  /** What must be kept beside backups, by the names of the variables that hold it. */
  readonly keys: Readonly<Record<string, string>>;
  readonly rotateKey: () => Promise<{ readonly id: string; readonly rewritten: number }>;
  /** Missing where no key before this one was named. */
  readonly replaceSecretKey?: ((progress: Progress) => Promise<{ readonly id: string; readonly rewritten: number }>) | undefined;
};

/** What stands in a folder of backups, and the drill that restores them on trial. */
export type ScheduledBackups = {
  readonly nightly: (wishes: {
    readonly folder: string;
    readonly keepDays: number;
    readonly withResults: boolean;
    readonly reserveBytes: number;
  }) => Promise<unknown>;
  readonly drillNewest: (folder: string, tells: boolean) => Promise<unknown>;
  /** After a recovery by the database's own log; how many ways in are gone. */
  readonly takeUp: () => Promise<number>;
};

export type Progress = (table: string, rows: number) => void;
export type Copied = { readonly tables: number; readonly rows: number };

export type OperatorFlag = {
  readonly what: string;
  readonly required?: true;
  /** Stands alone, without a value. */
  readonly alone?: true;
};

/** The flags that were given, by name. */
export type Given = { readonly get: (flag: string) => string | undefined; readonly has: (flag: string) => boolean };

type Words = {
  /** Noun and verb, or one word. */
  readonly words: readonly string[];
  readonly what: string;
  readonly flags: Readonly<Record<string, OperatorFlag>>;
};

/** Needs a coordinator's environment: a database, keys, the gate. */
export type HouseCommand = Words & {
  /** Whether the schema must be up to date before it runs. */
  readonly onToday: boolean;
  /** @returns the one object that is printed. */
  readonly run: (parts: OperatorParts, given: Given, progress: Progress) => Promise<unknown>;
};

/** Needs nothing but the machine it runs on. */
export type LoneCommand = Words & {
  /** @returns the one object that is printed, and how people read it where that is not the usual. */
  readonly alone: (given: Given) => Promise<{ readonly result: unknown; readonly text?: () => string }>;
};

export type OperatorCommand = HouseCommand | LoneCommand;
