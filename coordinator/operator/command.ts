import type { Shape } from '../../shared/api/fields.ts';
import { type Operation, rawInput } from '../../shared/api/operation.ts';
import { type Flag, flag } from '../../shared/client/arguments.ts';
import { flagsOf } from '../../shared/client/commands.ts';
import { operatorIn } from '../gate/caller.ts';
import type { Gate } from '../gate/execute.ts';
import type { OrganisationLookup } from '../gate/lookups.ts';

/**
 * What a command may use. Everything about users, monitors and probes goes through the gate; the
 * rest concerns the installation itself.
 */
export type OperatorDependencies = {
  readonly gate: Gate;
  readonly organisations: OrganisationLookup;
  /** @throws Refusal `user_not_found`. */
  readonly userNamed: (email: string) => Promise<{ readonly id: string }>;
  /** Brings the schema up to date. Returns the names of the migrations. */
  readonly migrate: () => Promise<readonly string[]>;
  readonly backup: (
    file: string,
    progress: Progress,
    what?: { readonly withResults: boolean },
  ) => Promise<Copied>;
  readonly backups: ScheduledBackups;
  readonly restore: (file: string, replace: boolean, progress: Progress) => Promise<Copied>;
  /** Keys to keep beside backups, by the names of their variables. */
  readonly keys: Readonly<Record<string, string>>;
  readonly rotateKey: () => Promise<{ readonly id: string; readonly rewritten: number }>;
  /** Undefined where no previous key was named. */
  readonly replaceSecretKey?:
    | ((progress: Progress) => Promise<{ readonly id: string; readonly rewritten: number }>)
    | undefined;
};

/** The content of a folder of backups, and the drill that restores them as a test. */
type ScheduledBackups = {
  readonly nightly: (options: {
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
type Copied = { readonly tables: number; readonly rows: number };

/** The values of the flags, by their keys. */
export type Input = Readonly<Record<string, unknown>>;

/** The text of a flag that the command must have, or that is checked further on. */
export function textOf(input: Input, key: string): string {
  return textIn(input, key) ?? '';
}

export function textIn(input: Input, key: string): string | undefined {
  const value = input[key];
  return typeof value === 'string' ? value : undefined;
}

type Words = {
  /** Noun and verb, or one word. */
  readonly words: readonly string[];
  readonly what: string;
  readonly flags: readonly Flag[];
};

/** Needs a coordinator's environment: a database, keys, the gate. */
export type InstallationCommand = Words & {
  /** Whether the schema must be up to date before it runs; the default is that it must. */
  readonly onAnySchema?: true;
  /** @returns the one object that is printed. */
  readonly run: (
    dependencies: OperatorDependencies,
    input: Input,
    progress: Progress,
  ) => Promise<unknown>;
};

/** Needs nothing but the machine it runs on. */
export type StandaloneCommand = Words & {
  /**
   * @returns the one object that is printed, and its text for people where that differs from the
   * default.
   */
  readonly alone: (
    input: Input,
  ) => Promise<{ readonly result: unknown; readonly text?: () => string }>;
};

export type OperatorCommand = InstallationCommand | StandaloneCommand;

/** A command without its words, made from an operation. */
export type Action = Omit<InstallationCommand, 'words'>;

export function required(name: string, hint: string): Flag {
  return flag(name, hint, { required: true });
}

const organisation = required('organisation', 'id or name of the organisation');

type Choices = {
  /** Input that is always the same. */
  readonly always?: Input;
  /** Names of flags that differ from their keys, by key. */
  readonly names?: Readonly<Record<string, string>>;
  /** Keys that an operator must give, though the operation has a default. */
  readonly required?: readonly string[];
};

/** The flags of an operation's input. What it is about is its --id. */
export function inputFlags(
  { params, query, body }: Operation,
  { names = {}, required: must = [] }: Choices = {},
): readonly Flag[] {
  return [
    ...flagsOf(params).map((one) => ({
      ...one,
      name: 'id',
      hint: `id of the ${one.key.replace(/_id$/, '').replaceAll('_', ' ')}`,
    })),
    ...flagsOf({ ...query, ...body?.shape } satisfies Shape).map((one) => ({
      ...one,
      name: names[one.key] ?? one.name,
      required: one.required || must.includes(one.key),
    })),
  ];
}

/** Runs in the organisation that --organisation names. */
export function within(operation: Operation, choices: Choices = {}): Action {
  return {
    what: operation.summary,
    flags: [organisation, ...inputFlags(operation, choices)],
    run: async ({ gate, organisations }, input) => {
      const caller = operatorIn(await organisations.named(textOf(input, 'organisation')));
      return (
        await gate.execute(operation, caller, rawInput(operation, { ...choices.always, ...input }))
      ).body;
    },
  };
}

/** Runs on the user whom --email names, in the organisation that --organisation names. */
export function onMember(operation: Operation): Action {
  return {
    what: operation.summary,
    flags: [
      organisation,
      required('email', 'their e-mail address'),
      ...flagsOf(operation.body?.shape ?? {}),
    ],
    run: async ({ gate, organisations, userNamed }, input) => {
      const caller = operatorIn(await organisations.named(textOf(input, 'organisation')));
      const { id: member_id } = await userNamed(textOf(input, 'email'));
      return (await gate.execute(operation, caller, rawInput(operation, { ...input, member_id })))
        .body;
    },
  };
}

/** Runs in the organisation that owns what --id names. */
export function onObject(
  kind: 'monitor' | 'incident' | 'token' | 'channel',
  operation: Operation,
): Action {
  return {
    what: operation.summary,
    flags: inputFlags(operation),
    run: async ({ gate, organisations }, input) => {
      const caller = operatorIn(await organisations.owning(kind, textOf(input, `${kind}_id`)));
      return (await gate.execute(operation, caller, rawInput(operation, input))).body;
    },
  };
}

export function onInstallation(operation: Operation, choices: Choices = {}): Action {
  return {
    what: operation.summary,
    flags: inputFlags(operation, choices),
    run: async ({ gate }, input) =>
      (
        await gate.executeForInstallation(
          operation,
          rawInput(operation, { ...choices.always, ...input }),
        )
      ).body,
  };
}
