import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { version } from '../shared/base/process.ts';
import { busEntryFields, probeBusAddress } from '../shared/bus/setup.ts';
import { askHealth } from './joining/checklist.ts';
import { install, refuseWithoutRoot, spaceOfService, spaceOfUnit } from './joining/install.ts';
import {
  checkProbe,
  exits,
  identityIn,
  JoinFault,
  joinAsProbe,
  parseIdentity,
  type Room,
} from './joining/join.ts';
import { haveNewestZones, runProbe, useProxy } from './main.ts';

/**
 * `antipode-probe.mjs`, the probe as one file: runs the command that its first argument names. The
 * check for the Node version runs before any of this is read (see downloads).
 */

const help = `antipode-probe ${version}: checks from where this machine stands.

  node antipode-probe.mjs join URL TOKEN    become the probe that the token is for, check this host, and run
                          --install         as root: as a systemd service instead
                          --bus tls://HOST  reach the bus there, for many thousands of checks; else by URL/bus
                          --ca FILE         trust this authority, too, for the service's own address and bus; the probe keeps it
  node antipode-probe.mjs run               run; if it has not joined yet, join with PROBE_JOIN_URL and PROBE_JOIN_TOKEN of its environment
  node antipode-probe.mjs check             check this host again: Node, clock, DNS, IPv4 and IPv6, bus, anchors, disk
  node antipode-probe.mjs health            for containers: 0 while it runs (with --strict: and is heard)

  --data FOLDER    where the probe keeps its key and its results; else PROBE_DATA_DIR, else ./antipode-probe;
                   check and health find the service that --install made by themselves
  --version, --help

It may reach public addresses of other machines, and the ranges of PROBE_ALLOW_CIDRS=10.0.0.0/8,… in its environment. --install writes what the environment sets
to /etc/antipode-probe/environment, which the service reads.
`;

type Line = ReturnType<typeof readLine>;

/** @throws JoinFault for an unknown flag, or one that lacks its value. */
function readLine(given: readonly string[]) {
  const [alone, text] = [{ type: 'boolean' } as const, { type: 'string' } as const];
  const options = {
    install: alone,
    strict: alone,
    version: alone,
    help: { ...alone, short: 'h' },
    bus: text,
    ca: text,
    data: text,
    root: text,
  };
  try {
    const { positionals: words, values: flags } = parseArgs({
      args: [...given],
      options,
      allowPositionals: true,
    });
    return { words, flags };
  } catch (error) {
    const [what] = (error instanceof Error ? error.message : String(error)).split('. ');
    throw new JoinFault(exits.misused, `${what}.\n\n${help}`);
  }
}

begin().catch((error: unknown) => {
  const isSaid = error instanceof JoinFault;
  // A folder that is missing or not ours: a stack would explain nothing.
  const isOfSystem = error instanceof Error && 'syscall' in error;
  process.stderr.write(
    `${isSaid || isOfSystem ? error.message : error instanceof Error ? error.stack : String(error)}\n`,
  );
  process.exit(isSaid ? error.exit : 1);
});

async function begin(): Promise<void> {
  const line = readLine(process.argv.slice(2));
  const { words, flags } = line;
  const [word] = words;
  const folder = folderOf(flags);
  if (word === 'run' || (word === 'join' && !flags.install)) await haveNewestZones();
  if (word === 'join' || word === 'check') await useProxy(process.env);
  if (flags.version) say(version);
  else if (word === undefined || word === 'help' || flags.help) process.stdout.write(help);
  else if (word === 'run') await run(folder, flags);
  else if (word === 'join') await join(folder, line);
  else if (word === 'check') await checkProbe(await roomOf(flags), say);
  else if (word === 'health') {
    const { exit, words: state } = await askHealth(
      (await roomOf(flags)).kept,
      flags.strict === true,
    );
    say(state);
    process.exitCode = exit;
  } else throw new JoinFault(exits.misused, `Unknown command "${word}".\n\n${help}`);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function folderOf(flags: Line['flags']): string {
  return resolve(flags.data ?? process.env.PROBE_DATA_DIR ?? 'antipode-probe');
}

async function run(folder: string, flags: Line['flags']): Promise<void> {
  const {
    PROBE_CREDENTIALS: word,
    PROBE_CREDENTIALS_FILE: file,
    PROBE_IDENTITY: text,
    PROBE_IDENTITY_FILE: path,
    PROBE_SEATS: seats,
  } = process.env;
  const isNamed = [word, file, text, path, seats].some((each) => each !== undefined && each !== '');
  if (!isNamed) {
    const own = identityIn(folder);
    if (!isJoined(own)) {
      await useProxy(process.env);
      await joinAsTold(folder, own, flags);
    }
    process.env.PROBE_IDENTITY_FILE = own;
  }
  process.env.PROBE_DATA_DIR = folder;
  await runProbe();
}

function isJoined(own: string): boolean {
  return existsSync(own) && parseIdentity(readFileSync(own, 'utf8')).enrolled !== null;
}

/**
 * A container has one command for its whole life: it joins at its first start, and later runs on
 * whether the coordinator is there or not.
 */
async function joinAsTold(folder: string, own: string, flags: Line['flags']): Promise<void> {
  const { PROBE_JOIN_URL: url, PROBE_JOIN_TOKEN: token } = process.env;
  if (!url || !token)
    throw new JoinFault(
      exits.misused,
      `PROBE_CREDENTIALS: is not set, and there is no ${own}; run join first, or set PROBE_JOIN_URL and PROBE_JOIN_TOKEN`,
    );
  await joinAsProbe({ url, token, ...wayOf(flags), ...roomIn(folder), next: 'run' }, say);
}

/** How it reaches coordinators and bus. @throws JoinFault. */
function wayOf({ bus, ca }: Line['flags']) {
  if (bus !== undefined && !probeBusAddress.safeParse(bus).success)
    throw new JoinFault(exits.misused, '--bus: must begin with tls://, wss:// or nats://');
  return { bus, authorities: authoritiesIn(ca) };
}

/** @throws JoinFault when there is none in the file. */
function authoritiesIn(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  try {
    return busEntryFields.ca.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new JoinFault(
      exits.misused,
      `--ca: ${path} cannot be read, or holds no PEM certificate`,
      { cause },
    );
  }
}

function roomIn(folder: string): Room {
  return {
    folder,
    results: folder,
    kept: folder,
    spoolMb: spoolMb(),
  };
}

/** The disk limit of results, as the running probe has it. */
function spoolMb(): number {
  return Number(process.env.PROBE_SPOOL_MB) || 256;
}

async function join(folder: string, { words, flags }: Line): Promise<void> {
  const [, url, token, ...more] = words;
  if (url === undefined || token === undefined || more.length > 0)
    throw new JoinFault(exits.misused, `join takes an address and a token.\n\n${help}`);
  const way = wayOf(flags);
  if (!flags.install) {
    await joinAsProbe({ url, token, ...way, ...roomIn(folder), next: 'run' }, say);
    say('');
    return run(folder, flags);
  }
  const named = flags.root;
  const root = named === undefined ? undefined : resolve(named);
  if (root === undefined) refuseWithoutRoot();
  const { settingsGiven } = await import('./config.ts');
  // Before the token is spent. The spool limit is checked against the disk, below.
  settingsGiven({ ...process.env, PROBE_SPOOL_MB: undefined });
  await joinAsProbe(
    { url, token, ...way, ...(await spaceOfUnit(root)), spoolMb: spoolMb(), next: 'sameLine' },
    say,
  );
  await install(say, settingsGiven(process.env), root);
}

/**
 * The folder of an existing probe: the one that is named or found here, or that of the service that
 * `join --install` made.
 */
async function roomOf(flags: Line['flags']): Promise<Room> {
  const folder = folderOf(flags);
  const isNamed = flags.data !== undefined || Boolean(process.env.PROBE_DATA_DIR);
  const ofService =
    isNamed || existsSync(identityIn(folder))
      ? undefined
      : await spaceOfService(spoolMb(), flags.root);
  return ofService ?? roomIn(folder);
}
