/** For test files: a program run to its end, with what it said. */
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { bundleDownload, type DownloadName, downloadNames } from '../../coordinator/api/bundles.ts';

export type Said = { readonly code: number | null; readonly out: string; readonly err: string };

export const runProgram = (
  command: readonly [string, ...string[]],
  options: { readonly env?: NodeJS.ProcessEnv; readonly input?: string } = {},
): Promise<Said> =>
  new Promise((resolve, reject) => {
    const [program, ...given] = command;
    const child = spawn(program, given, { env: options.env ?? process.env, stdio: ['pipe', 'pipe', 'pipe'] });
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk) => {
      out += String(chunk);
    });
    child.stderr.on('data', (chunk) => {
      err += String(chunk);
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, out, err }));
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input ?? '');
  });

/** The downloads as files, as a user has them. */
export const downloaded = async (): Promise<{ readonly files: Readonly<Record<DownloadName, string>>; readonly remove: () => void }> => {
  const folder = mkdtempSync(join(tmpdir(), 'antipode-downloads-'));
  const entries = await Promise.all(
    downloadNames.map(async (name): Promise<[DownloadName, string]> => {
      const file = join(folder, name);
      writeFileSync(file, await bundleDownload(name));
      return [name, file];
    }),
  );
  const of = new Map(entries);
  return {
    files: {
      'antipode.mjs': of.get('antipode.mjs') ?? '',
      'antipode-mcp.mjs': of.get('antipode-mcp.mjs') ?? '',
      'antipode-probe.mjs': of.get('antipode-probe.mjs') ?? '',
    },
    remove: () => rmSync(folder, { recursive: true }),
  };
};

/** The machine's own Node, which users have; undefined where the only one is the package's. */
export const machineNode = (): string | undefined =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => !folder.includes('node_modules'))
    .map((folder) => join(folder, 'node'))
    .find((program) => {
      try {
        return Number(execFileSync(program, ['-p', 'process.versions.node'], { encoding: 'utf8' }).split('.')[0]) >= 20;
      } catch {
        return false;
      }
    });
