/**
 * A home in one file: its first line is what the home remembers, its keys among it; the rest is a
 * backup of its database. Whoever has the file has all that the home has.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import {
  busEnvironment,
  commandOf,
  environmentFile,
  inherited,
  keepState,
  lockHome,
  openCache,
  openHome,
  openLogs,
  readJson,
  readSettings,
  stateFile,
  stateShape,
} from './home.ts';
import { startPostgres } from './nats.ts';
import { createProcesses } from './processes.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** @throws when nothing runs on the home. */
export async function backUp(environment: Environment, to: NodeJS.WritableStream): Promise<void> {
  const home = openHome(environment);
  const state = readJson(stateFile(home), stateShape);
  const ours = readJson(environmentFile(home), z.record(z.string(), z.string()));
  const free = lockHome(home);
  free?.release();
  if (free !== undefined || state === undefined || ours === undefined)
    throw new Error(`nothing runs on ${home}: start it first, and back it up while it runs`);
  await inScratch(home, async (file) => {
    await operate({ ...environment, ...ours }, 'backup', '--file', file);
    to.write(`${JSON.stringify(state)}\n`);
    await pipeline(createReadStream(file), to);
  });
}

/** Into a home that nothing was ever started on. What is restored runs with the next start. */
export async function restore(
  environment: Environment,
  from: NodeJS.ReadableStream,
  say: (line: string) => void,
): Promise<void> {
  const settings = readSettings(environment);
  if (settings.databaseUrl !== undefined)
    throw new Error(
      'DATABASE_URL: a backup of a home is restored into its own database; for another, use operator restore',
    );
  const home = openHome(environment);
  const lock = lockHome(home);
  if (lock === undefined || readJson(stateFile(home), stateShape) !== undefined)
    throw new Error(
      `${home} holds a service already: restore into another folder, with ANTIPODE_HOME`,
    );
  const processes = createProcesses({ say, onStarted: () => undefined });
  try {
    await inScratch(home, async (file) => {
      const state = await readBackup(from, file);
      const cache = openCache(environment, home);
      const logs = openLogs(home);
      const ground = { home, cache, logs, settings, state, processes, say };
      say('starting the database');
      const DATABASE_URL = await startPostgres(ground);
      await operate(
        {
          ...inherited(environment, cache),
          ...busEnvironment(state.bus, 'nats://127.0.0.1:4222'),
          DATABASE_URL,
          SECRET_KEY: settings.secretKey ?? state.secretKey,
        },
        'restore',
        // An interrupted one is begun anew.
        '--replace',
        '--file',
        file,
      );
      // From here on a start takes it for its own.
      keepState(home, state);
    });
  } finally {
    await processes.dismiss();
    lock.release();
  }
}

async function inScratch(home: string, work: (file: string) => Promise<void>): Promise<void> {
  const scratch = await mkdtemp(join(home, 'backup-'));
  try {
    await work(join(scratch, 'database'));
  } finally {
    await rm(scratch, { recursive: true });
  }
}

/** Its first line is the state; what follows goes into the file. */
async function readBackup(from: NodeJS.ReadableStream, file: string) {
  const rest = createWriteStream(file, { mode: 0o600 });
  let head: Buffer = Buffer.alloc(0);
  let isHead = true;
  for await (const part of from) {
    const bytes = Buffer.from(part);
    if (isHead) {
      head = Buffer.concat([head, bytes]);
      const end = head.indexOf('\n');
      if (end < 0) continue;
      isHead = false;
      rest.write(head.subarray(end + 1));
      head = head.subarray(0, end);
    } else if (!rest.write(bytes)) await once(rest, 'drain');
  }
  rest.end();
  await once(rest, 'finish');
  try {
    return stateShape.parse(JSON.parse(head.toString()));
  } catch (cause) {
    throw new Error('this is no backup of a home: its first line does not say what it remembers', {
      cause,
    });
  }
}

/** One of the operator's commands, which say on standard error how far they are. */
async function operate(env: Environment, ...words: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, [...commandOf('coordinator'), 'operator', ...words], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`the ${words[0]} of the database failed`);
}
