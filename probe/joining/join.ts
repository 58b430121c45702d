import { isIP } from 'node:net';
import { join as joinPath } from 'node:path';
import { z } from 'zod';
import { codeOf } from '../../shared/base/errors.ts';
import { createLog } from '../../shared/base/log.ts';
import { version } from '../../shared/base/process.ts';
import {
  type EnrolmentAnswer,
  enrolmentAnswer,
  enrolmentPath,
  enrolmentProof,
  printProbeCredentials,
} from '../../shared/bus/identity.ts';
import { createKey, formatCredentials, type Key, keyFromSeed } from '../../shared/bus/nkeys.ts';
import { busEntryFields } from '../../shared/bus/setup.ts';
import { whyNoWay } from '../../shared/bus/websocket.ts';
import { readIfThere, replaceFile } from '../disk/files.ts';
import { openOwnCredentials } from '../presence/knowledge.ts';
import { type Posted, post } from '../presence/signal.ts';
import { type ChecklistInput, checklist, type Line } from './checklist.ts';

/** Why a host did not become a probe, in words, with the exit code for a script. */
export class JoinFault extends Error {
  readonly exit: number;

  constructor(exit: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'JoinFault';
    this.exit = exit;
  }
}

/**
 * `misused`: the command line is invalid; `refused`: the coordinator refused; `unreachable`: it
 * could not be reached.
 */
export const exits = { misused: 2, refused: 20, unreachable: 21 } as const;

const patienceMs = 20_000;

const refusal = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

/**
 * Where the coordinator is. A join token never crosses a network unencrypted. @throws JoinFault.
 */
export function coordinatorAt(text: string): URL {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new JoinFault(
      exits.misused,
      `"${text}" is no address of a coordinator; give one such as https://antipode.example`,
    );
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (url.protocol === 'http:' && !isLoopback(host))
    throw new JoinFault(
      exits.misused,
      `${url.origin} would send the token unencrypted: use https:// (http:// is for this host only)`,
    );
  return url;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

export type EnrolmentReply = {
  readonly answer: EnrolmentAnswer;
  readonly sentAt: number;
  readonly receivedAt: number;
};

/**
 * Asks to become the token's probe. The same key gets the same answer again. `authorities`: who may
 * have signed the coordinator's certificate besides those that this machine trusts. @throws
 * JoinFault.
 */
export async function enrol(
  at: URL,
  token: string,
  key: Key,
  authorities?: string,
): Promise<EnrolmentReply> {
  const url = new URL(`${at.pathname.replace(/\/$/, '')}${enrolmentPath}`, at);
  const sentAt = Date.now();
  let answered: Posted;
  try {
    // Follows no redirect: its target would get the token.
    answered = await post(url, {
      headers: { 'content-type': 'application/json', 'user-agent': `antipode-probe/${version}` },
      body: Buffer.from(JSON.stringify({ token, key: key.id, proof: enrolmentProof(key, token) })),
      signal: AbortSignal.timeout(patienceMs),
      authorities,
    });
  } catch (cause) {
    throw new JoinFault(
      exits.unreachable,
      `${url.origin} cannot be reached: ${cause instanceof Error ? whyNoWay(cause) : cause}. The token is still valid; try again.`,
      { cause },
    );
  }
  let body: unknown;
  try {
    body = JSON.parse(answered.text);
  } catch {
    body = undefined; // Another server's page; the status below decides.
  }
  const refused = refusal.safeParse(body);
  if (refused.success)
    throw new JoinFault(
      exits.refused,
      `${url.origin} refused: ${refused.data.error.message} (${refused.data.error.code})`,
    );
  const answer = enrolmentAnswer.safeParse(body);
  if (!answer.success)
    throw new JoinFault(
      exits.unreachable,
      `${url.origin} answered ${answered.status}, and not as a coordinator does. Is this the service's own address?`,
    );
  return { answer: answer.data, sentAt, receivedAt: Date.now() };
}

/**
 * The identity of a host that became a probe with a join token: its key, made here and never sent
 * to anyone, and the coordinator's answer.
 *
 * Modes of the file: absent → `made` (a key; a killed join continues with it) → `enrolled` (for
 * good).
 */
const identity = z.object({
  v: z.literal(1),
  /** The secret. Anyone who can read the file can act as the probe. */
  seed: z.string().startsWith('SU'),
  enrolled: enrolmentAnswer.omit({ now: true }).nullable(),
  /**
   * Who may have signed the certificates of coordinators and bus, besides those that the machine
   * trusts, as PEM: the file of `join --ca`.
   */
  authorities: busEntryFields.ca.exactOptional(),
});

export type Identity = Readonly<z.infer<typeof identity>>;
export type Enrolled = NonNullable<Identity['enrolled']>;

/** @throws in words when the text is invalid. The message does not repeat the text. */
export function parseIdentity(text: string): Identity {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error('is not the text of the file that antipode-probe.mjs join wrote');
  }
  const parsed = identity.safeParse(value);
  if (!parsed.success)
    throw new Error(
      `is invalid: ${parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')}`,
    );
  return parsed.data;
}

export function keyOf({ seed }: Identity): Key {
  return keyFromSeed(seed, 'user');
}

export function writeIdentity(path: string, of: Identity): Promise<void> {
  return replaceFile(path, `${JSON.stringify(of, undefined, 2)}\n`, { durable: true });
}

/** Returns the existing identity or a new key, which is on disk before anyone learns of it. */
export async function openIdentity(path: string): Promise<Identity> {
  const stored = await readIfThere(path);
  if (stored !== undefined)
    try {
      return parseIdentity(stored);
    } catch (cause) {
      throw Object.assign(
        new JoinFault(
          exits.misused,
          `${path} ${cause instanceof Error ? cause.message : String(cause)}; move it away, or name another folder with --data`,
        ),
        { cause },
      );
    }
  const made: Identity = { v: 1, seed: createKey('user').seed, enrolled: null };
  await writeIdentity(path, made);
  return made;
}

/** The same credentials that an operator would have printed. */
export function credentialsOf(seed: string, { jwt, ...enrolled }: Enrolled): string {
  const { probe, name, continent, organisation, nats_url, signing_keys } = enrolled;
  const nats_credentials = formatCredentials({ jwt, seed });
  return printProbeCredentials({
    probe,
    name,
    continent,
    organisation,
    nats_url,
    nats_credentials,
    signing_keys,
  });
}

export type Say = (line: string) => void;

const identityFile = 'identity.json';

export function identityIn(folder: string): string {
  return joinPath(folder, identityFile);
}

/** Where a probe keeps its files. */
export type Room = {
  /** The folder of its key. */
  readonly folder: string;
  /** An existing folder on the disk of the results, and how much of that disk they may take. */
  readonly results: string;
  readonly spoolMb: number;
  /** The running probe's data; absent before its first run. */
  readonly kept: string;
};

/** What to type after a fault is repaired. */
const onwards = {
  run: 'antipode-probe.mjs run',
  sameLine: 'run the same command again, which accepts the token once more from this host',
} as const;
export type Onwards = keyof typeof onwards;

/**
 * Makes a host a probe. If it is killed between steps, run it again: the key is on disk before it
 * is sent, and the coordinator answers the same key again for a spent token.
 */
export async function joinAsProbe(
  of: Room & {
    readonly url: string;
    readonly token: string;
    readonly next: Onwards;
    readonly authorities: string | undefined;
    /** Where it reaches the bus, if not where the coordinator says. */
    readonly bus: string | undefined;
  },
  say: Say,
): Promise<void> {
  const at = coordinatorAt(of.url);
  const path = identityIn(of.folder);
  const stored = await openIdentity(path);
  const own: Identity =
    of.authorities === undefined ? stored : { ...stored, authorities: of.authorities };
  const heard = await enrol(at, of.token, keyOf(own), own.authorities);
  const { now: _, ...answer } = heard.answer;
  const enrolled = { ...answer, nats_url: of.bus ?? answer.nats_url };
  if (own.enrolled !== null && own.enrolled.probe !== enrolled.probe)
    throw new JoinFault(
      exits.misused,
      `${of.folder} is the probe ${own.enrolled.name} already; name another folder with --data`,
    );
  const identity: Identity = { ...own, enrolled };
  await writeIdentity(path, identity);
  const whose =
    enrolled.organisation === null ? 'a public probe' : 'a private probe of your organisation';
  say(
    `This host is ${enrolled.name} in ${enrolled.continent}, ${whose}. Its key is in ${path} and nowhere else.`,
  );
  await sayChecklist(await checklistInputOf(identity, of, heard), of.next, say);
}

/**
 * Prints the checklist of this host line by line. @throws JoinFault with the exit code of the first
 * line that fails.
 */
async function sayChecklist(of: ChecklistInput, next: Onwards, say: Say): Promise<void> {
  let first: Line | undefined;
  for await (const line of checklist(of)) {
    say(lineText(line));
    if (!line.well) first ??= line;
  }
  if (first)
    throw new JoinFault(
      first.exit,
      `${first.what} failed: see above. This host has joined all the same; fix it, then: ${onwards[next]}`,
    );
}

const width = 10;

function lineText({ what, well, words }: Line): string {
  return `${well ? 'ok ' : 'NO '} ${what.padEnd(width)} ${words}`;
}

async function checklistInputOf(
  { seed, enrolled, authorities }: Identity,
  { folder, results, spoolMb, kept }: Room,
  heard?: EnrolmentReply,
): Promise<ChecklistInput> {
  if (enrolled === null)
    throw new JoinFault(exits.misused, `${identityIn(folder)} has not joined yet; run join first`);
  const { nats_url: url, nats_ca: ca, jwt, base_url: baseUrl, anchors } = enrolled;
  // A probe that has run has newer ones on its disk.
  const log = createLog({ name: 'join', level: 'silent' });
  const own = await openOwnCredentials({
    folder: kept,
    given: formatCredentials({ jwt, seed }),
    log,
  });
  return {
    // The answer was sent about in the middle of the time between request and response.
    clockOffset: heard && heard.answer.now - (heard.sentAt + heard.receivedAt) / 2,
    entrance: {
      url,
      ...(ca === null ? {} : { ca }),
      authorities,
      credentials: own.text(),
    },
    baseUrl,
    anchors,
    folder: results,
    spoolMb,
  };
}

/** The checklist of a host that is already a probe. */
export async function checkProbe(room: Room, say: Say): Promise<void> {
  const stored = await readIfThere(identityIn(room.folder)).catch((error: unknown) => {
    if (codeOf(error) !== 'EACCES') throw error;
    throw new JoinFault(
      exits.misused,
      `${identityIn(room.folder)} cannot be read by this user: run this as root, or as the probe's user`,
    );
  });
  if (stored === undefined)
    throw new JoinFault(exits.misused, `there is no ${identityIn(room.folder)}; run join first`);
  await sayChecklist(await checklistInputOf(parseIdentity(stored), room), 'run', say);
}

const head =
  '# What this probe goes by; systemctl restart antipode-probe takes up what is changed here.\n';

/** The text of the file with these settings in it; everything else stays as it is. */
export function withSettings(
  text: string | undefined,
  given: Readonly<Record<string, string>>,
): string {
  const names = Object.keys(given);
  const kept = (text ?? head)
    .split('\n')
    .filter((line) => !names.some((name) => line.startsWith(`${name}=`)));
  while (kept.at(-1) === '') kept.pop();
  return [...kept, ...names.map((name) => `${name}=${quoted(given[name] ?? '')}`), ''].join('\n');
}

function quoted(value: string): string {
  return /^[\w.,:/@+-]*$/.test(value) ? value : `"${value.replaceAll(/["\\$`]/g, '\\$&')}"`;
}

/** One setting of the file, if it is written plainly. */
export function settingIn(text: string, name: string): string | undefined {
  return text
    .split('\n')
    .findLast((line) => line.startsWith(`${name}=`))
    ?.slice(name.length + 1)
    .trim()
    .replaceAll('"', '');
}
