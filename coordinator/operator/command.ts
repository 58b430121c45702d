import { type Operation, rawInput } from '../../shared/api/operation.ts';
import { UsageFault } from '../../shared/base/env.ts';
import { lossyNumberIn } from '../../shared/base/json.ts';
import { operatorIn } from '../gate/caller.ts';
import type { OrganisationLookup } from '../gate/lookups.ts';
import type { Gate } from '../gate/setup.ts';

/**
 * What a command may use. Everything about users, monitors and probes goes through the gate; the
 * rest concerns the installation itself.
 */
export type OperatorDependencies = {
  readonly gate: Gate;
  readonly organisations: OrganisationLookup;
  /** Brings the schema up to date. Returns the names of the migrations. */
  readonly migrate: () => Promise<readonly string[]>;
  readonly backup: (file: string, progress: Progress, what?: { readonly withResults: boolean }) => Promise<Copied>;
  readonly backups: ScheduledBackups;
  readonly restore: (file: string, replace: boolean, progress: Progress) => Promise<Copied>;
  /** Keys to keep beside backups, by the names of their variables. */
  readonly keys: Readonly<Record<string, string>>;
  readonly rotateKey: () => Promise<{ readonly id: string; readonly rewritten: number }>;
  /** Undefined where no previous key was named. */
  readonly replaceSecretKey?: ((progress: Progress) => Promise<{ readonly id: string; readonly rewritten: number }>) | undefined;
};

/** The content of a folder of backups, and the drill that restores them as a test. */
export type ScheduledBackups = {
  readonly nightly: (wishes: {
    readonly folder: string;
    readonly keepDays: number;
    readonly withResults: boolean;
    readonly reserveBytes: number;
  }) => Promise<unknown>;
  readonly drillNewest: (folder: string, tells: boolean) => Promise<unknown>;
  /**
   * For use after a recovery from the database's own log. Returns how many credentials were
   * deleted.
   */
  readonly takeUp: () => Promise<number>;
};

export type Progress = (table: string, rows: number) => void;
export type Copied = { readonly tables: number; readonly rows: number };

export type OperatorFlag = {
  readonly what: string;
  readonly required?: true;
  /** The flag takes no value. */
  readonly alone?: true;
};

/** The given flags, by name. */
export type Given = { readonly get: (flag: string) => string | undefined; readonly has: (flag: string) => boolean };

type Words = {
  /** Noun and verb, or one word. */
  readonly words: readonly string[];
  readonly what: string;
  readonly flags: Readonly<Record<string, OperatorFlag>>;
};

/** Needs a coordinator's environment: a database, keys, the gate. */
export type InstallationCommand = Words & {
  /** Whether the schema must be up to date before it runs. */
  readonly onToday: boolean;
  /** @returns the one object that is printed. */
  readonly run: (parts: OperatorDependencies, given: Given, progress: Progress) => Promise<unknown>;
};

/** Needs nothing but the machine it runs on. */
export type LoneCommand = Words & {
  /**
   * @returns the one object that is printed, and its text for people where that differs from the
   * default.
   */
  readonly alone: (given: Given) => Promise<{ readonly result: unknown; readonly text?: () => string }>;
};

export type OperatorCommand = InstallationCommand | LoneCommand;

/** The building blocks of commands: flags, and calls of the gate. */

export const required = (what: string): OperatorFlag => ({ what, required: true });

export const organisation = required('id or name of the organisation');
export const email = required('e-mail address of the user');
export const id = (of: string): OperatorFlag => required(`id of the ${of}`);

export const days: OperatorFlag = { what: 'how many days back; default 7' };
export const oneOrAll: OperatorCommand['flags'] = { id: { what: 'id of the message' }, all: { what: 'every one of them', alone: true } };

/** Exceptions to the rule that a flag in snake case is the operation's key: key and flag. */
type Names = Readonly<Record<string, string>>;

/** The operation's input from the flags, by its own table: `--time-zone` is its time_zone. */
export const input = (given: Given, { params, query, body }: Operation, names: Names = {}): Record<string, unknown> =>
  Object.fromEntries(
    Object.keys({ ...params, ...query, ...body?.shape }).flatMap((key) => {
      const flag = names[key] ?? key.replaceAll('_', '-');
      return given.has(flag) ? [[key, given.get(flag)]] : [];
    }),
  );

/** Runs in the organisation that --organisation names; `always` adds fixed input. */
export const within =
  (operation: Operation, always: Readonly<Record<string, unknown>> = {}) =>
  async ({ gate, organisations }: OperatorDependencies, given: Given) => {
    const caller = operatorIn(await organisations.named(given.get('organisation') ?? ''));
    return (await gate.execute(operation, caller, rawInput(operation, { ...always, ...input(given, operation) }))).body;
  };

/** Runs in the organisation that owns what --id names. */
export const upon =
  (kind: 'monitor' | 'incident' | 'token' | 'channel', operation: Operation) =>
  async ({ gate, organisations }: OperatorDependencies, given: Given) => {
    const caller = operatorIn(await organisations.owning(kind, given.get('id') ?? ''));
    return (await gate.execute(operation, caller, rawInput(operation, input(given, operation, { [`${kind}_id`]: 'id' })))).body;
  };

export const onInstallation =
  (operation: Operation, names?: Names) =>
  async ({ gate }: OperatorDependencies, given: Given) =>
    (await gate.executeForInstallation(operation, rawInput(operation, input(given, operation, names)))).body;

export const today = { onToday: true } as const;

/** The JSON of --config. @throws UsageFault with `example`. */
export const configOf = (text: string | undefined, example: string): unknown => {
  if (text === undefined) return undefined;
  try {
    const config: unknown = JSON.parse(text);
    const lossy = lossyNumberIn(text);
    if (lossy === undefined) return config;
    throw new UsageFault(`--config: the number ${lossy.slice(0, 40)} is not kept exactly; write it as a text, in quotes.`);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new UsageFault(`--config is not JSON (${error.message}); write such as --config '${example}'.`);
  }
};
