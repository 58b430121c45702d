import { execFile, execFileSync } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { pingCommand } from './support/checkers.ts';
import { cases } from './support/laboratory-cases.ts';

/**
 * The guard in a world where every address answers: a network namespace in which the whole IPv4 and
 * IPv6 space is this machine, with traps on every port that matters, a resolver that changes its
 * mind, and servers that redirect. The kernel's own count of connections decides.
 */

const ways = [
  ['unshare', '--net'],
  ['unshare', '--net', '--map-root-user'],
] as const;

const way = ways.find(([command, ...words]) => {
  try {
    execFileSync(command, [...words, 'ip', 'link', 'set', 'lo', 'up'], { stdio: 'ignore' });
    return true;
  } catch {
    return false; // No right to make a namespace in this way, or no tool for it: the next way, or the loud word below.
  }
});
if (!way)
  process.stderr.write(
    'SKIPPED: the laboratory of the guard needs the right to make network namespaces (root, or unprivileged user namespaces) and `ip`\n',
  );

const ping = await pingCommand();
const known = cases.filter(({ kind }) => ping !== undefined || kind !== 'icmp');

const line = z.object({
  name: z.string(),
  opened: z.number(),
  sent: z.number(),
  trapped: z.array(z.string()),
  cause: z.string().nullable(),
});

test.skipIf(!way)(
  `in ${known.length} ways to reach a forbidden address, no connection is opened`,
  async () => {
    const [command, ...words] = way ?? ['false'];
    const { stdout } = await promisify(execFile)(
      command,
      [...words, process.execPath, 'test/probe/support/laboratory-run.ts', ...(ping ?? [])],
      {
        maxBuffer: 16_777_216,
      },
    );
    const seen = stdout
      .trim()
      .split('\n')
      .map((text) => line.parse(JSON.parse(text)));
    expect(seen.map(({ name }) => name)).toEqual(known.map(({ name }) => name));
    expect(seen).toEqual(
      known.map(({ name, opens, sends = 0, cause, trapped = [] }) => ({
        name,
        opened: opens,
        sent: sends,
        trapped,
        cause,
      })),
    );
  },
  120_000,
);
