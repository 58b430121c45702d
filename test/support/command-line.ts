import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { codeOf } from '../../shared/base/errors.ts';

/** Ends the process with what would be right: help that was asked for is no fault. */
export const endWithUsage: (usage: string, fault?: string) => never = (usage, fault) => {
  if (fault === undefined) process.stdout.write(`${usage}\n`);
  else process.stderr.write(`${fault}\n${usage}\n`);
  process.exit(fault === undefined ? 0 : 2);
};

const parsed = <const Options extends ParseArgsOptionsConfig>(
  options: Options,
  allowPositionals: boolean,
) =>
  parseArgs({
    allowPositionals,
    options: { ...options, help: { type: 'boolean', short: 'h', default: false } },
  });

/**
 * The flags of one of the programs for developers; `usage` is asked for only when it is to be
 * shown.
 */
export const readCommandLine = async <const Options extends ParseArgsOptionsConfig>(
  options: Options,
  usage: () => string | Promise<string>,
  { allowPositionals = false }: { readonly allowPositionals?: boolean } = {},
): Promise<{
  readonly values: ReturnType<typeof parsed<Options>>['values'];
  readonly positionals: readonly string[];
}> => {
  let line: ReturnType<typeof parsed<Options>>;
  try {
    line = parsed(options, allowPositionals);
  } catch (error) {
    if (!codeOf(error).startsWith('ERR_PARSE_ARGS')) throw error;
    return endWithUsage(await usage(), error instanceof Error ? error.message : String(error));
  }
  return Reflect.get(line.values, 'help') === true ? endWithUsage(await usage()) : line;
};

/** A number as it was given, or the fallback. */
export const numberOf = (
  name: string,
  text: string | undefined,
  usage: string,
  fits: (value: number) => boolean,
  wanted: string,
): number | undefined => {
  if (text === undefined) return undefined;
  const value = text.trim() === '' ? Number.NaN : Number(text);
  return fits(value) ? value : endWithUsage(usage, `--${name} must be ${wanted}, not "${text}"`);
};
