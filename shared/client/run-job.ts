import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { constants } from 'node:os';
import { UsageFault } from '../base/env.ts';
import { keptOfOutput, pingHeartbeat } from '../base/heartbeat.ts';
import { type CommandContext, exits } from './http.ts';

export const runHelp = `Run a job and tell its heartbeat: when it starts, how it ends, and what it said last

Usage
  antipode run --ping ADDRESS -- COMMAND [ARGUMENTS]

  The address is that of the heartbeat; ANTIPODE_BEAT may hold it instead. No token is needed. Each run has an id of its own, so that
  runs may overlap. The command's output goes where it would go without this, and its exit code is this program's: a heartbeat that
  cannot be told never fails the job.

Example
  antipode run --ping https://antipode.example/beat/KEY -- /usr/local/bin/backup --all
`;

const attempts = { start: 2, end: 5 } as const;

export async function runJob(given: readonly string[], world: CommandContext): Promise<number> {
  if (given[0] === '--help' || given[0] === '-h') {
    world.out(runHelp);
    return exits.done;
  }
  const { address, command } = readJob(given, world.environment);
  const obstacle = world.reach?.(address);
  if (obstacle !== undefined) world.err(`antipode: ${obstacle}\n`);
  const id = randomUUID();
  const tail = createTail();
  // The job does not wait for the start ping. The end ping does, to arrive in this order.
  const started = pingHeartbeat(`${address}/start?rid=${id}`, '', attempts.start);
  const code = await run(command, tail.take);
  const startFault = await started;
  if (startFault !== undefined) world.err(`antipode: the start was not told: ${startFault}\n`);
  const endFault = await pingHeartbeat(`${address}/${code}?rid=${id}`, tail.text(), attempts.end);
  if (endFault !== undefined) world.err(`antipode: the end was not told: ${endFault}\n`);
  return code;
}

type Job = { readonly address: string; readonly command: readonly [string, ...string[]] };

function readJob(given: readonly string[], environment: CommandContext['environment']): Job {
  const end = given.indexOf('--');
  const [own, [program, ...rest]] =
    end < 0 ? [given, []] : [given.slice(0, end), given.slice(end + 1)];
  const [flag = '', value] = own;
  const [name, joined] = flag.startsWith('--ping=')
    ? ['--ping', flag.slice('--ping='.length)]
    : [flag, undefined];
  if (own.length > 0 && name !== '--ping')
    throw new UsageFault(`run takes --ping and, behind --, the command; not "${flag}".`);
  if (own.length > (joined === undefined ? 2 : 1))
    throw new UsageFault(
      `The command stands behind --, as in antipode run --ping ADDRESS -- ${own.at(-1)}`,
    );
  if (program === undefined)
    throw new UsageFault(
      'run needs a command behind --, as in antipode run --ping ADDRESS -- backup --all',
    );
  const address = (joined ?? value ?? environment.ANTIPODE_BEAT ?? '').replace(/\/+$/, '');
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    throw new UsageFault(
      'run needs the address of the heartbeat, as in --ping https://antipode.example/beat/KEY',
    );
  return { address, command: [program, ...rest] };
}

/** Keeps the end of a stream, never more than the service keeps. */
function createTail(): { readonly take: (chunk: Buffer) => void; readonly text: () => string } {
  let kept = Buffer.alloc(0);
  return {
    take: (chunk) => {
      kept = Buffer.concat([kept, chunk]).subarray(-keptOfOutput);
    },
    // Leaves out a character that was cut in half at the beginning.
    text: () => kept.toString('utf8').replace(/^\ufffd+/, ''),
  };
}

/** The exit code that a shell would report for the command. */
function run(
  [program, ...given]: Job['command'],
  onOutput: (chunk: Buffer) => void,
): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn(program, given, { stdio: ['inherit', 'pipe', 'pipe'] });
    const end = passSignals(child);
    for (const [from, to] of [
      [child.stdout, process.stdout] as const,
      [child.stderr, process.stderr] as const,
    ]) {
      from.on('data', onOutput);
      from.pipe(to, { end: false });
    }
    child.once('error', (error: NodeJS.ErrnoException) => {
      end();
      const why = error.code === 'ENOENT' ? 'there is no such command' : error.message;
      process.stderr.write(`antipode: ${program} cannot be run: ${why}\n`);
      onOutput(Buffer.from(`${program} cannot be run: ${why}\n`));
      resolve(error.code === 'ENOENT' ? 127 : 126);
    });
    child.once('close', (code, signal) => {
      end();
      resolve(code ?? 128 + (signal ? constants.signals[signal] : 0));
    });
  });
}

/** Passes signals for the job on to it; a signal typed at the terminal has reached it already. */
function passSignals(child: ChildProcess): () => void {
  const passed = (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((signal) => {
    const pass = (): void => {
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
    };
    process.on(signal, pass);
    return () => void process.off(signal, pass);
  });
  return () => {
    for (const end of passed) end();
  };
}
