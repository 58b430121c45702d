import { lstat, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { backoff, pause } from '../../shared/base/async.ts';
import { lock, shortestPassphrase, unlock } from '../../shared/base/crypto.ts';
import { UsageFault } from '../../shared/base/env.ts';
import { codeOf } from '../../shared/base/errors.ts';
import {
  newSetupKeys,
  type SetupFile,
  type SetupKeys,
  setUpBus,
  setupKeysIn,
} from '../../shared/bus/setup.ts';
import { alone, flag } from '../../shared/client/arguments.ts';
import {
  type Input,
  type InstallationCommand,
  required,
  type StandaloneCommand,
  textIn,
  textOf,
} from './command.ts';

/** Backups of the database, and their restoration. */

const folder = required('folder', 'the folder of the backups');
const withoutResults = flag(
  'without-results',
  'leave raw results out, which are nearly all of it; hourly figures stay',
  alone,
);

/** Milliseconds from `now` to the next HH:MM in UTC. */
export function untilNext(at: string, now: number): number {
  const [, hours, minutes] = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(at) ?? [];
  if (hours === undefined || minutes === undefined)
    throw new UsageFault(`--at: "${at}" must be a time of the day in UTC, such as 03:17.`);
  const next = new Date(now).setUTCHours(Number(hours), Number(minutes), 0, 0);
  return next > now ? next - now : next + 86_400_000 - now;
}

const nightly: InstallationCommand['run'] = async ({ backups }, input) => {
  const options = {
    folder: textOf(input, 'folder'),
    keepDays: wholeNumber(input, 'keep-days', 14, [1, 36_500]),
    withResults: input['without-results'] !== true,
    reserveBytes: wholeNumber(input, 'leave-free-mb', 1_024, [0, 1_000_000_000]) * 1_000_000,
  };
  const at = textIn(input, 'at');
  if (at === undefined) return backups.nightly(options);
  untilNext(at, 0);
  return eachDay(at, () => backups.nightly(options));
};

function wholeNumber(
  input: Input,
  name: string,
  fallback: number,
  [least, limit]: readonly [number, number],
): number {
  const text = textIn(input, name) ?? String(fallback);
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < least || number > limit)
    throw new UsageFault(`--${name}: "${text}" must be a number from ${least} to ${limit}.`);
  return number;
}

/**
 * For containers, which have no timer: it keeps running, and does the work each day. A failure is
 * reported to the heartbeat, and tried again after a while.
 */
async function eachDay(at: string, once: () => Promise<unknown>): Promise<unknown> {
  const leaving = new AbortController();
  let isWorking = false;
  let failures = 0;
  // The first process of a container does not end by a signal without a listener.
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.once(signal, () => {
      if (leaving.signal.aborted) return;
      leaving.abort();
      if (isWorking) process.exit(143); // The next run deletes what is half written.
    });
  for (;;) {
    await pause(
      failures === 0 ? untilNext(at, Date.now()) : backoff(failures - 1, 60_000, 3_600_000),
      leaving.signal,
    );
    if (leaving.signal.aborted) return { ended: 'was told to end' };
    isWorking = true;
    try {
      process.stdout.write(`${JSON.stringify(await once())}\n`);
      failures = 0;
    } catch (error) {
      failures += 1;
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    }
    isWorking = false;
  }
}

export const commandsOfBackups: readonly InstallationCommand[] = [
  {
    words: ['backup'],
    what: 'Write everything to one file, as it is at this moment',
    flags: [required('file', 'where to write it'), withoutResults],
    run: async ({ backup }, input, progress) => {
      const file = textOf(input, 'file');
      return {
        file,
        ...(await backup(file, progress, { withResults: input['without-results'] !== true })),
      };
    },
  },
  {
    words: ['backups', 'nightly'],
    what: 'Write a backup into a folder, restore it on trial, delete old ones, and ping BACKUP_HEARTBEAT_URL',
    flags: [
      folder,
      flag('keep-days', 'how long backups are kept; default 14. The newest is, however old'),
      flag('leave-free-mb', 'what is left free of the disk, or nothing is written; default 1024'),
      withoutResults,
      flag('at', 'stay, and do it each day at this time in UTC, such as 03:17; default once, now'),
    ],
    run: nightly,
  },
  {
    words: ['backups', 'drill'],
    what: 'Restore the newest backup of a folder on trial, in a scratch database that is dropped again',
    flags: [folder, flag('tell', 'ping BACKUP_HEARTBEAT_URL, as nightly does', alone)],
    run: ({ backups }, input) => backups.drillNewest(textOf(input, 'folder'), input.tell === true),
  },
  {
    words: ['backups', 'recovered'],
    what: 'Prepare a database that was restored to an earlier moment by its own log, before a coordinator uses it',
    flags: [],
    run: async ({ backups }) => ({
      ways_in_ended: await backups.takeUp(),
      next: 'Start the coordinators. All users have to sign in again.',
    }),
  },
  {
    words: ['restore'],
    what: 'Restore a backup into an empty database, while no coordinator uses it',
    flags: [
      required('file', 'the backup'),
      flag('replace', 'lose what the database holds now', alone),
    ],
    run: async ({ restore }, input, progress) => {
      const file = textOf(input, 'file');
      return { file, ...(await restore(file, input.replace === true, progress)) };
    },
  },
];

const passphraseFile = required(
  'passphrase-file',
  'a file that holds the passphrase and nothing else',
);

const exportKeys: InstallationCommand['run'] = async ({ keys }, input) => {
  const file = textOf(input, 'file');
  const text = Object.entries(keys)
    .map(([name, value]) => `${name}=${value.trim().replaceAll(/\s*\n\s*/g, ' ')}\n`)
    .join('');
  await writeFile(file, await lock(await passphraseOf(input), text), { mode: 0o600, flag: 'wx' });
  return { file, keys: Object.keys(keys) };
};

/** Not on the command line: other users of the machine would see it. */
async function passphraseOf(input: Input): Promise<string> {
  const text = (await readFile(textOf(input, 'passphrase-file'), 'utf8')).trim();
  if (text.length < shortestPassphrase)
    throw new UsageFault(
      `--passphrase-file: the passphrase must have at least ${shortestPassphrase} characters.`,
    );
  return text;
}

const importKeys: StandaloneCommand['alone'] = async (input) => {
  const text = await unlock(
    await passphraseOf(input),
    await readFile(textOf(input, 'file'), 'utf8'),
  );
  if (text === undefined)
    throw new UsageFault(
      '--file: cannot be decrypted: wrong passphrase, changed file, or not a file of "keys export".',
    );
  const to = textOf(input, 'to');
  await writeFile(to, text, { mode: 0o600, flag: 'wx' });
  const keys = text.split('\n').flatMap((line) => line.split('=', 1)[0] || []);
  return {
    result: {
      to,
      keys,
      next: `Put these lines into coordinator.env, beside DATABASE_URL and NATS_URL, and delete ${to}.`,
    },
  };
};

/**
 * What must be kept beside backups: without these keys no secret in one can be decrypted, and no
 * probe returns to the bus.
 */
export const commandsOfKeys = [
  {
    words: ['keys', 'export'],
    what: 'Write what must be kept beside backups (SECRET_KEY, the keys of the bus) to one file, under a passphrase',
    flags: [
      required('file', 'where to write it; what is there is not written over'),
      passphraseFile,
    ],
    onAnySchema: true,
    run: exportKeys,
  },
  {
    words: ['keys', 'import'],
    what: 'Open a file of "keys export", as settings of a coordinator',
    flags: [
      required('file', 'the file of "keys export"'),
      required('to', 'where to write the settings; what is there is not written over'),
      passphraseFile,
    ],
    alone: importKeys,
  },
] as const satisfies readonly (InstallationCommand | StandaloneCommand)[];

const hostAndPort = /^(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

const init: StandaloneCommand['alone'] = async (input) => {
  const nodes = textIn(input, 'nodes') ?? '1';
  if (nodes !== '1' && nodes !== '3')
    throw new UsageFault('--nodes must be 1 or 3: two have no quorum when one is down.');
  const addresses = addressesOf(input, Number(nodes));
  const data = textIn(input, 'data') ?? '/var/lib/nats';
  const plan = {
    addresses,
    data,
    routes: routesOf(input, addresses),
    listen: textIn(input, 'listen') ?? '0.0.0.0',
    certificate: textIn(input, 'certificate') ?? '/etc/nats/certificate.pem',
    key: textIn(input, 'key') ?? '/etc/nats/key.pem',
  };
  const kept = textIn(input, 'keys');
  const files = setUpBus(plan, kept === undefined ? newSetupKeys(Date.now()) : await keysIn(kept));
  const folder = textIn(input, 'folder');
  if (folder === undefined) return { result: { files }, text: () => asOne(files) };
  await write(folder, files);
  const next =
    'Bring each nats-N.conf to its machine, fill in coordinator.env, and keep a copy of that where the machines are not.';
  return { result: { folder, files: files.map(({ file }) => file), next } };
};

function addressesOf(input: Input, count: number): readonly string[] {
  const addresses = list(textIn(input, 'url'));
  for (const address of addresses)
    if (!address.startsWith('tls://') || !hostAndPort.test(address.slice('tls://'.length)))
      throw new UsageFault(
        `--url: "${address}" must be such as tls://bus.example.org:443; a public bus needs TLS.`,
      );
  if (addresses.length !== count)
    throw new UsageFault(
      `--url names ${addresses.length} of ${count} machines; name each, with commas, such as tls://bus-1.example.org:443,tls://bus-2…`,
    );
  return addresses.map((address) => (/:\d+$/.test(address) ? address : `${address}:443`));
}

function list(text: string | undefined): readonly string[] {
  return (text ?? '').split(',').flatMap((one) => one.trim() || []);
}

function routesOf(input: Input, addresses: readonly string[]): readonly string[] {
  const named = list(textIn(input, 'routes'));
  if (named.length === 0)
    return addresses.map((address) => address.replace('tls://', '').replace(/:\d+$/, ':6222'));
  const wrong = named.find((route) => !hostAndPort.test(route));
  if (wrong !== undefined)
    throw new UsageFault(`--routes: "${wrong}" must be such as 10.0.0.1:6222.`);
  if (named.length !== addresses.length)
    throw new UsageFault(
      `--routes names ${named.length} machines and --url ${addresses.length}; name each in both.`,
    );
  return named.map((route) => (/:\d+$/.test(route) ? route : `${route}:6222`));
}

async function keysIn(file: string): Promise<SetupKeys> {
  const settings = parseEnv(await readFile(file, 'utf8'));
  try {
    return setupKeysIn(settings);
  } catch (error) {
    throw new UsageFault(
      `--keys: ${file} does not hold the keys of a bus. ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/** Each file unchanged after its name: the reader splits the text at these lines. */
function asOne(files: readonly SetupFile[]): string {
  return files.map(({ file, text }) => `# ======== ${file}\n${text}`).join('\n');
}

/**
 * Existing files are never overwritten: keys that a newer bus's replaced would be lost for good.
 */
async function write(folder: string, files: readonly SetupFile[]): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const { file } of files) {
    const isThere = await lstat(join(folder, file)).then(
      () => true,
      (error: unknown) => {
        if (codeOf(error) === 'ENOENT') return false;
        throw error;
      },
    );
    if (isThere)
      throw new UsageFault(
        `--folder: ${join(folder, file)} is there already; this makes a new bus, so name an empty folder.`,
      );
  }
  for (const { file, text } of files)
    await writeFile(join(folder, file), text, { mode: 0o600, flag: 'wx' });
}

/** The commands that create a bus. They need no installation, because there is none yet. */
export const commandsOfTheBus: readonly StandaloneCommand[] = [
  {
    words: ['bus', 'init'],
    what: "Make a bus of your own: nats-server's configuration for each of its machines, and the coordinators' settings",
    flags: [
      required(
        'url',
        'where coordinators and probes reach each machine, such as tls://bus.example.org:443',
      ),
      flag('nodes', 'how many machines: 1 (default) or 3'),
      flag(
        'routes',
        'where three machines reach one another, such as 10.0.0.1,10.0.0.2,10.0.0.3; default the hosts of --url',
      ),
      flag('listen', 'the address that each takes clients on; default 0.0.0.0'),
      flag('data', 'the folder of its data; default /var/lib/nats'),
      flag('certificate', 'its certificate; default /etc/nats/certificate.pem'),
      flag('key', "the certificate's key; default /etc/nats/key.pem"),
      flag(
        'keys',
        'make no new bus, but write this one down again: its coordinator.env, or what "keys import" gave back',
      ),
      flag('folder', 'write the files here, readable only by you; prints them by default'),
    ],
    alone: init,
  },
];
