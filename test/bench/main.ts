import { readdirSync } from 'node:fs';
import { cpus } from 'node:os';
import { pathToFileURL } from 'node:url';
import { endWithUsage, numberOf, readCommandLine } from '../support/command-line.ts';
import type { Bench, Figure } from './figure.ts';

/**
 * `npm run bench [-- NAME …] [--json] [--seconds N]`: every figure is a ratio against a limit or a peer measured in the same run. A bench is a file of
 * this folder that exports one. A goal that is missed, or a bench that fails, is exit code 1.
 * `--seconds` shortens (or lengthens) the windows of those that watch for a while.
 */
const notBenches = new Set(['main.ts', 'figure.ts', 'processes.ts']);

const isBench = (value: unknown): value is Bench =>
  typeof value === 'object' &&
  value !== null &&
  'run' in value &&
  'about' in value &&
  'name' in value;

const load = async (): Promise<Bench[]> => {
  const files = readdirSync(import.meta.dirname).filter(
    (file) => file.endsWith('.ts') && !notBenches.has(file),
  );
  const modules = await Promise.all(
    files
      .toSorted()
      .map((file): Promise<object> => import(pathToFileURL(`${import.meta.dirname}/${file}`).href)),
  );
  return modules.flatMap((module) => Object.values(module).filter(isBench));
};

const flags = 'npm run bench -- [NAME …] [--json] [--seconds N]';
const usage = async (): Promise<string> => {
  const all = await load();
  const width = Math.max(...all.map(({ name }) => name.length));
  return `${flags}\nWithout a name all but million are run, one after the other. There are:\n${all.map(({ name, about }) => `  ${name.padEnd(width)}  ${about}`).join('\n')}`;
};

const { values, positionals } = await readCommandLine(
  { json: { type: 'boolean', default: false }, seconds: { type: 'string' } },
  usage,
  {
    allowPositionals: true,
  },
);
const seconds = numberOf(
  'seconds',
  values.seconds,
  flags,
  (value) => value > 0 && value < 86_400,
  'a number of seconds above 0',
);
const options = seconds === undefined ? {} : { windowMs: seconds * 1_000 };
const benches = await load();
const unknown = positionals.filter((name) => !benches.some((bench) => bench.name === name));
if (unknown.length > 0) endWithUsage(await usage(), `There is no bench ${unknown.join(', ')}.`);
const wanted =
  positionals.length > 0
    ? benches.filter(({ name }) => positionals.includes(name))
    : benches.filter(({ onlyByName }) => !onlyByName);

const onTerminal = process.stderr.isTTY;
const results: { readonly bench: string; readonly figures: readonly Figure[] }[] = [];
let failed = false;
for (const [nth, bench] of wanted.entries()) {
  const began = performance.now();
  const seconds = (): string => `${((performance.now() - began) / 1_000).toFixed(0)} s`;
  // On a terminal one line that changes; in a file a line for each step, so that it can be told
  // from one that hangs.
  const say = (progress: string) => {
    const step = `[${nth + 1}/${wanted.length}] ${bench.name}, ${seconds()}: ${progress}`;
    process.stderr.write(onTerminal ? `\r\u001b[K${step}` : `${step}\n`);
  };
  say(bench.about);
  try {
    const figures = await bench.run(say, options);
    results.push({ bench: bench.name, figures });
    failed ||= figures.some(({ holds }) => holds === false);
    say('done');
  } catch (error) {
    failed = true;
    process.stderr.write(
      `${onTerminal ? '\r\u001b[K' : ''}${bench.name} failed: ${error instanceof Error ? error.stack : String(error)}\n`,
    );
  }
}
if (onTerminal) process.stderr.write('\r\u001b[K');

if (values.json)
  process.stdout.write(
    `${JSON.stringify({ node: process.version, cores: cpus().length, results }, null, 2)}\n`,
  );
else {
  const rows = results.flatMap(({ bench, figures }) =>
    figures.map(({ what, ours, against, ratio, goal, holds }) => [
      bench,
      what,
      ours,
      against,
      ratio === null ? '–' : ratio.toFixed(2),
      goal,
      holds === null ? '?' : holds ? 'yes' : 'NO',
    ]),
  );
  const table = [['bench', 'figure', 'ours', 'against', 'ratio', 'goal', 'holds'], ...rows];
  const widths = (table[0] ?? []).map((_, column) =>
    Math.max(...table.map((row) => row[column]?.length ?? 0)),
  );
  process.stdout.write(
    `${table
      .map((row) =>
        row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd(),
      )
      .join('\n')}\n`,
  );
}
process.exitCode = failed ? 1 : 0;
