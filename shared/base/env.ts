import { readFileSync } from 'node:fs';
import type { z } from 'zod';

/** Shared by the command lines of the client and of the operator. */

/** An unknown command line. The message says what is valid. */
export class UsageFault extends Error {
  /** The unknown word: the client can ask whether a newer service knows it. */
  readonly unknown: string | undefined;

  constructor(message: string, unknown?: string) {
    super(message);
    this.name = 'UsageFault';
    this.unknown = unknown;
  }
}

/** Anything that is named by a noun and a verb, or by one word. */
export type Named = { readonly words: readonly string[] };

export function commandName({ words }: Named): string {
  return words.join(' ');
}

/**
 * The command that the first words of a line name, with the rest of the line; undefined when there
 * is none.
 */
export function commandNamed<Command extends Named>(
  commands: readonly Command[],
  line: readonly string[],
): { readonly command: Command; readonly rest: readonly string[] } | undefined {
  for (const length of [2, 1]) {
    const name = line.slice(0, length).join(' ');
    const command =
      line.length >= length ? commands.find((one) => commandName(one) === name) : undefined;
    if (command) return { command, rest: line.slice(length) };
  }
  return undefined;
}

/** The environment is no valid configuration; the message lists every fault at once. */
export class ConfigurationFault extends Error {
  constructor(faults: readonly string[]) {
    super(`The configuration cannot be used:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
    this.name = 'ConfigurationFault';
  }
}

/**
 * Reads the variables of a zod object from the environment; `NAME_FILE` gives the contents of a
 * file for `NAME`, the way secrets are mounted. An empty value counts as not set. The result is
 * frozen: no one changes a configuration at run time.
 * @param faultsAcross faults of several variables together, by the names that are set; reported
 * along with the faults of each.
 */
export function readEnvironment<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  environment: Readonly<Record<string, string | undefined>>,
  faultsAcross: (isSet: (name: string) => boolean) => readonly string[] = () => [],
): Readonly<z.infer<z.ZodObject<Shape>>> {
  const faults: string[] = [];
  const unreadable = new Set<string>();
  const values: Record<string, string> = {};
  for (const name of Object.keys(schema.shape)) {
    const direct = environment[name] || undefined;
    const file = environment[`${name}_FILE`] || undefined;
    if (direct !== undefined && file !== undefined)
      faults.push(`${name} and ${name}_FILE are both set; keep one`);
    else if (direct !== undefined) values[name] = direct;
    else if (file !== undefined) {
      try {
        values[name] = readFileSync(file, 'utf8').trim();
      } catch (error) {
        unreadable.add(name);
        faults.push(
          `${name}_FILE cannot be read: ${error instanceof Error ? error.message : String(error)}`,
        );
      }
    }
  }
  const parsed = schema.safeParse(values);
  if (!parsed.success) {
    for (const issue of parsed.error.issues) {
      const name = issue.path.join('.');
      if (!unreadable.has(name)) faults.push(`${name}: ${wordsFor(issue, values[name])}`);
    }
  }
  faults.push(...faultsAcross((name) => Boolean(environment[name] || environment[`${name}_FILE`])));
  if (!parsed.success || faults.length > 0) throw new ConfigurationFault(faults);
  return Object.freeze(parsed.data);
}

/**
 * zod's messages are for programmers: an unreadable number would be "expected number, received
 * NaN".
 */
function wordsFor(issue: z.core.$ZodIssue, value: string | undefined): string {
  if (issue.code === 'too_big' && issue.origin !== 'string')
    return `must be at most ${issue.maximum}`;
  if (issue.code === 'too_small' && issue.origin !== 'string')
    return `must be at least ${issue.minimum}`;
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`;
  if (issue.code !== 'invalid_type') return issue.message;
  if (value === undefined) return 'is not set';
  return issue.expected === 'number' || issue.expected === 'int'
    ? 'must be a whole number'
    : issue.message;
}
