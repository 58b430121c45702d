import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const program = join(import.meta.dirname, '../support/throwing-checks.ts');

test('whatever a check throws and wherever, the probe goes on, and that check alone is its own fault', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [program]);
  const lines: { host: string; outcome: string; cause?: string | null }[] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const own = { outcome: 'unknown', cause: 'probe_internal' };
  const well = { outcome: 'ok', cause: null };
  const told = Object.fromEntries(lines.map(({ host, ...rest }) => [host, rest]));
  expect(told).toEqual({
    'at-once': own,
    'in-a-timer': own,
    'in-a-turn': own,
    'in-a-microtask': own,
    'in-a-lost-promise': own,
    'in-a-socket': own,
    'in-a-stream': own,
    'at-its-deadline': own,
    'in a shared socket': own,
    well,
    'well by dns': well,
    'reported badly': well,
    // What the one who is told of a check throws is the probe's, as ever.
    nobody: { outcome: 'Error: boom' },
  });
  expect(lines).toHaveLength(Object.keys(told).length);
});
