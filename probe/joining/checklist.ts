import { Resolver } from 'node:dns/promises';
import { rm, statfs, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';
import { codeOf } from '../../shared/base/errors.ts';
import { anchorOf, isUnknownAuthority } from '../../shared/base/network.ts';
import type { BusEntry } from '../../shared/bus/dialling.ts';
import { type Bus, connectOnce } from '../../shared/bus/nats.ts';
import { isWebsocket, unknownAuthority } from '../../shared/bus/websocket.ts';
import { canReckonSchedules } from '../../shared/checks/heartbeat/schedule.ts';
import { outgoingTo } from '../checks/guard.ts';
import { socketName } from '../disk/files.ts';

/** What a running probe answers to a health query on its machine. */
export const healthShape = z.object({
  name: z.string(),
  continent: z.string(),
  version: z.string(),
  /** Whether the probe reaches the bus now. */
  bus: z.boolean(),
  /** How many seconds ago a coordinator last answered; null: never since the start. */
  heard_s: z.number().nullable(),
  monitors: z.number(),
  waiting: z.number(),
});

export type Health = z.infer<typeof healthShape>;

/** `heardAt`: by the process's own clock. */
export function healthText({
  heardAt,
  bus,
  ...of
}: Omit<Health, 'heard_s' | 'bus'> & {
  readonly heardAt: number | undefined;
  readonly bus: Pick<Bus, 'isConnected'> | undefined;
}): string {
  const heard_s = heardAt === undefined ? null : (performance.now() - heardAt) / 1_000;
  const health: Health = { ...of, bus: bus?.isConnected() ?? false, heard_s };
  return JSON.stringify(health);
}

/**
 * For containers. A probe is healthy while it checks, even if no one receives its results: a
 * restart would only lose time. 1: it does not run. `strict`: 2 where no coordinator has answered
 * for half a minute.
 */
export async function askHealth(
  folder: string,
  strict: boolean,
): Promise<{ readonly exit: number; readonly words: string }> {
  const said = await ask(join(folder, socketName));
  if (said === undefined || said === '') return { exit: 1, words: `no probe runs on ${folder}` };
  const { name, continent, bus, heard_s, monitors, waiting } = healthShape.parse(JSON.parse(said));
  const isHeard = heard_s !== null && heard_s <= 30;
  const heard =
    heard_s === null
      ? 'no coordinator has answered yet'
      : `a coordinator answered ${Math.round(heard_s)} s ago`;
  const words =
    `${name} in ${continent} checks ${monitors} monitors; ` +
    `${bus ? 'on the bus' : 'the bus cannot be reached'}, ${heard}, ${waiting} results wait`;
  return { exit: strict && !isHeard ? 2 : 0, words };
}

const patienceMs = 3_000;

function ask(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path);
    let text = '';
    socket.setTimeout(patienceMs, () => socket.destroy());
    socket.on('data', (data: Buffer) => {
      text += data.toString();
    });
    socket.once('error', () => resolve(undefined));
    socket.once('close', () => resolve(text));
  });
}

/**
 * Whether this host can be a good probe: one line for each requirement, with the remedy where one
 * fails.
 */
export type Line = {
  readonly what: string;
  readonly well: boolean;
  readonly words: string;
  /** The exit code when this is the first line that fails. */
  readonly exit: number;
};

export type ChecklistInput = {
  /**
   * By how many milliseconds this host's clock is behind the coordinator's; undefined where no
   * coordinator answered.
   */
  readonly clockOffset: number | undefined;
  readonly entrance: BusEntry;
  /** The coordinators' address, and what else vouches for this probe. */
  readonly baseUrl: string;
  readonly anchors: readonly string[];
  readonly folder: string;
  readonly spoolMb: number;
};

/**
 * A Node older than this cannot start the probe. A Node that starts it passes, and the line names
 * what it lacks.
 */
const exits = {
  node: 0,
  clock: 10,
  dns: 11,
  addresses: 12,
  bus: 13,
  anchors: 14,
  disk: 15,
} as const;
const maxClockMs = 5_000;

type Finding = { readonly well: boolean; readonly words: string };

export function judgeNode(): Finding {
  const { node } = process.versions;
  if (canReckonSchedules()) return well(node);
  return well(
    `${node}; heartbeats with a cron schedule cannot be judged from here: that needs Node 26`,
  );
}

function well(words: string): Finding {
  return { well: true, words };
}

export function judgeClock(offset: number | undefined): Finding {
  if (offset === undefined) return well('told with the first sign of life');
  const text = `${(Math.abs(offset) / 1_000).toFixed(1)} s ${offset > 0 ? 'behind' : 'ahead of'} the coordinator's`;
  if (Math.abs(offset) <= maxClockMs) return well(text);
  return ill(`${text}. Let it be set by the network: timedatectl set-ntp true, or chrony`);
}

function ill(words: string): Finding {
  return { well: false, words };
}

/** Yields every line as soon as its result is known. A failure does not end the others. */
export async function* checklist(of: ChecklistInput): AsyncGenerator<Line> {
  const bus = checkBus(of);
  const looks: readonly (readonly [
    what: keyof typeof exits,
    look: () => Finding | Promise<Finding>,
  ])[] = [
    ['node', judgeNode],
    ['clock', () => judgeClock(of.clockOffset)],
    ['dns', async () => beside(await bus, await checkDns())],
    ['addresses', async () => beside(await bus, await checkAddresses())],
    ['bus', () => bus],
    ['anchors', () => checkAnchors(of)],
    ['disk', () => checkDisk(of)],
  ];
  for (const [what, look] of looks) yield { what, ...(await look()), exit: exits[what] };
}

/** A host that reaches the bus all the same is behind a proxy, and checks what is inside. */
function beside(bus: Finding, found: Finding): Finding {
  return found.well || !bus.well
    ? found
    : well(`${found.words}, unless it is to check only what a proxy leaves inside`);
}

async function checkDns(): Promise<Finding> {
  const servers = new Resolver().getServers();
  const faults = await Promise.all(servers.map(answersNames));
  const answering = servers.filter((_, place) => faults[place] === undefined);
  if (answering.length > 0)
    return well(`${answering.join(', ')} ${answering.length === 1 ? 'answers' : 'answer'}`);
  return ill(
    'no resolver of this host answers ' +
      `(${servers.map((server, place) => `${server}: ${faults[place]}`).join(', ')}). Name one ` +
      'that does in /etc/resolv.conf',
  );
}

/** Any answer counts, even "no such name": it proves that the server answers. */
async function answersNames(server: string): Promise<string | undefined> {
  const resolver = new Resolver({ timeout: patienceMs, tries: 1 });
  resolver.setServers([server]);
  try {
    await resolver.resolveNs('.');
    return undefined;
  } catch (error) {
    const code = codeOf(error) ?? messageOf(error);
    return [
      'ENOTFOUND',
      'ENODATA',
      'ESERVFAIL',
      'EREFUSED',
      'ENOTIMP',
      'EFORMERR',
      'EBADRESP',
    ].includes(code)
      ? undefined
      : code;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}

/** Addresses reserved for documentation: this sends nothing to them and only finds the route. */
async function checkAddresses(): Promise<Finding> {
  const [four, six] = await Promise.all([
    outgoingTo({ address: '192.0.2.1', port: 53, family: 4 }),
    outgoingTo({ address: '2001:db8::1', port: 53, family: 6 }),
  ]);
  if (four !== null && six !== null) return well(`IPv4 from ${four}, IPv6 from ${six}`);
  if (four !== null)
    return well(`IPv4 from ${four}; no IPv6, so what has only IPv6 is not checked from here`);
  if (six !== null)
    return well(`IPv6 from ${six}; no IPv4, so what has only IPv4 is not checked from here`);
  return ill('no way out, neither by IPv4 nor by IPv6. Give this host a default route');
}

async function checkBus({ entrance }: ChecklistInput): Promise<Finding> {
  try {
    await connectOnce(entrance);
  } catch (error) {
    if (isUnknownAuthority(error)) return ill(`${entrance.url}: ${unknownAuthority}`);
    const remedy = isWebsocket(entrance.url)
      ? 'If a proxy is the only way out, name it: HTTPS_PROXY=http://host:port'
      : 'Open the way to that host and port for outgoing TCP';
    return ill(`${entrance.url} does not let this probe in: ${messageOf(error)}. ${remedy}`);
  }
  const isSecret =
    entrance.url.split(',').every((server) => /^(tls|wss):/.test(server.trim())) ||
    entrance.ca !== undefined;
  return well(
    isSecret
      ? `${entrance.url} lets this probe in, with TLS`
      : `${entrance.url} lets this probe in, in the clear`,
  );
}

async function checkAnchors({ anchors, baseUrl }: ChecklistInput): Promise<Finding> {
  const others = anchors.filter((anchor) => anchor !== anchorOf(baseUrl));
  if (others.length === 0) return well('none are named; the bus stands for them');
  const faults = await Promise.all(anchors.map(reaches));
  const reached = anchors.filter((_, place) => faults[place] === undefined);
  if (reached.length > 0) return well(`${reached.join(', ')} can be reached`);
  return ill(
    'none can be reached ' +
      `(${anchors.map((anchor, place) => `${anchor}: ${faults[place]}`).join(', ')}), and without ` +
      `one every failure would be this probe's own. Open the way to one, or have the operator ` +
      'name others as PROBE_ANCHORS',
  );
}

function reaches(anchor: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const [, host = '', port = ''] = /^\[?([^\]]*?)\]?:(\d+)$/.exec(anchor) ?? [];
    const socket = connect({ host, port: Number(port), timeout: patienceMs });
    const end = (fault: string | undefined): void => {
      socket.destroy();
      resolve(fault);
    };
    socket.once('connect', () => end(undefined));
    socket.once('timeout', () => end('no answer'));
    socket.once('error', (error) => end(codeOf(error) ?? error.message));
  });
}

const mib = 1_024 * 1_024;

async function checkDisk({ folder, spoolMb }: ChecklistInput): Promise<Finding> {
  const trial = join(folder, 'trial');
  try {
    await writeFile(trial, 'x', { flush: true });
    await rm(trial);
    const { bavail, bsize } = await statfs(folder);
    const free = Math.floor((bavail * bsize) / mib);
    if (free >= spoolMb) return well(`${free} MiB free in ${folder}`);
    return ill(
      `${free} MiB free in ${folder}, and results may take ${spoolMb}. Make room, or set PROBE_SPOOL_MB lower`,
    );
  } catch (error) {
    return ill(
      `${folder} cannot be written to: ${messageOf(error)}. Give this user the folder, or name another with --data`,
    );
  }
}
