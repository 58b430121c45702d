import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { downloaded, machineNode } from '../support/processes.ts';
import { serveMonitors } from './clients/many.ts';
import { type Bench, type Figure, interleaved } from './figure.ts';
import { cores, cpuOfEnded, find, memoryOf, pinned, stop } from './processes.ts';

const node = machineNode() ?? process.execPath;

/** How long a command takes from its start to its end, in milliseconds. */
const timed = async (command: readonly string[]): Promise<number> => {
  const [program, ...given] = pinned(cores.subject, command);
  const began = performance.now();
  await once(spawn(program, given, { stdio: 'ignore' }), 'exit');
  return performance.now() - began;
};

const hello = `${JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1' },
  },
})}\n`;

/** Memory of a process that waits for messages, after its first answer. */
const atRest = async (command: readonly string[], input: string): Promise<number> => {
  const [program, ...given] = pinned(cores.subject, command);
  const child = spawn(program, given, { stdio: ['pipe', 'pipe', 'ignore'] });
  child.stdin.write(input);
  await once(child.stdout, 'data');
  const memory = child.pid === undefined ? Number.NaN : memoryOf(child.pid);
  await stop(child);
  return memory;
};

const rows = 10_000;
const maxRowsMs = 1_000;

/** What a command that ends takes of a core, user and system, in milliseconds. */
const cpuFor = async (command: readonly string[], env: NodeJS.ProcessEnv): Promise<number> => {
  const before = cpuOfEnded(process.pid);
  const [program, ...given] = pinned(cores.subject, command);
  const [code] = await once(spawn(program, given, { stdio: 'ignore', env }), 'exit');
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}`);
  return cpuOfEnded(process.pid) - before;
};

/** A list of so many, as JSON in a pipe and as a table on a terminal, which `script` plays. */
const longLists = async (
  cli: string,
  say: (progress: string) => void,
): Promise<readonly Figure[]> => {
  const service = await serveMonitors(rows);
  const env = { PATH: process.env.PATH, ANTIPODE_URL: service.url, ANTIPODE_TOKEN: 'svc_bench' };
  const line = [node, cli, 'monitors', 'list', '--all'];
  const script = find('script');
  const ways = {
    JSON: () => cpuFor([...line, '--json'], env),
    'a table': () =>
      script === undefined
        ? Promise.resolve(Number.NaN)
        : cpuFor([script, '-qec', line.join(' '), '/dev/null'], env),
  };
  try {
    return Object.entries(await interleaved(ways, 5, say)).map(([way, took]) => ({
      what: `CPU for ${rows.toLocaleString('en')} monitors as ${way}`,
      ours: Number.isNaN(took)
        ? 'not measured: there is no script(1) here'
        : `${took.toFixed(0)} ms`,
      against: 'no peer: a plain limit',
      ratio: null,
      goal: `≤ ${maxRowsMs} ms`,
      holds: Number.isNaN(took) ? null : took <= maxRowsMs,
    }));
  } finally {
    service.close();
  }
};

/**
 * The two downloads: size, start-up against a Node that does nothing, memory of the assistant
 * server.
 */
export const clients: Bench = {
  name: 'clients',
  about: 'antipode and antipode-mcp on a user’s machine',
  run: async (say) => {
    const { files, remove } = await downloaded();
    try {
      const [cli, mcp] = [files['antipode.mjs'], files['antipode-mcp.mjs']];
      const starts = await interleaved(
        {
          'node -e 0': () => timed([node, '-e', '0']),
          antipode: () => timed([node, cli, '--version']),
          'antipode-mcp': () => timed([node, mcp]),
        },
        9,
        say,
      );
      const lists = await longLists(cli, say);
      const memory = await interleaved(
        {
          node: () => atRest([node, '-e', 'process.stdin.resume(); console.log(1)'], ''),
          'antipode-mcp': () => atRest([node, mcp], hello),
        },
        3,
        say,
      );
      const kilobytes = (file: string) => statSync(file).size / 1024;
      const row = (what: string, ours: number, theirs: number, unit: string, limit: number) => ({
        what,
        ours: `${ours.toFixed(1)} ${unit}`,
        against: `node alone ${theirs.toFixed(1)} ${unit}`,
        ratio: ours / theirs,
        goal: `≤ ${limit}`,
        holds: ours / theirs <= limit,
      });
      const size = (what: string, file: string, limit: number) => ({
        what,
        ours: `${kilobytes(file).toFixed(0)} KiB`,
        against: 'no peer: a plain size',
        ratio: null,
        goal: `≤ ${limit} KiB`,
        holds: kilobytes(file) <= limit,
      });
      return [
        size('size of antipode.mjs', cli, 100),
        size('size of antipode-mcp.mjs', mcp, 600),
        row('start to end of antipode --version', starts.antipode, starts['node -e 0'], 'ms', 2),
        row(
          'start to end of antipode-mcp without input',
          starts['antipode-mcp'],
          starts['node -e 0'],
          'ms',
          3,
        ),
        row(
          'memory of antipode-mcp after the handshake',
          memory['antipode-mcp'],
          memory.node,
          'MiB',
          2,
        ),
        ...lists,
      ];
    } finally {
      remove();
    }
  },
};
