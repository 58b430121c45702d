import { join as joinPath } from 'node:path';
import { codeOf } from '../../shared/base/error-code.ts';
import { createLog } from '../../shared/base/log.ts';
import { formatCredentials } from '../../shared/bus/bus-nkeys.ts';
import { readIfThere } from '../disk/disk.ts';
import { openOwnCredentials } from '../presence/presence-own-credentials.ts';
import { checklist, type Line, type Surroundings } from './joining-checklist.ts';
import { coordinatorAt, enrol, exits, type Heard, JoinFault } from './joining-enrol.ts';
import { type Identity, keyOf, openIdentity, parseIdentity, writeIdentity } from './joining-identity.ts';

export type Say = (line: string) => void;

const identityFile = 'identity.json';
export const identityIn = (folder: string): string => joinPath(folder, identityFile);

/** Where a probe has its things. */
export type Room = {
  /** Its key. */
  readonly folder: string;
  /** Of the disk that its results will lie on, a folder that is there already, and how much of it these may take. */
  readonly results: string;
  readonly spoolMb: number;
  /** What it keeps as it runs; not there before it has run. */
  readonly kept: string;
};

/** What to type when something was not well and is mended. */
const onwards = {
  run: 'antipode-probe.mjs run',
  sameLine: 'type the same line again, which takes the token once more from this host',
} as const;
export type Onwards = keyof typeof onwards;

const surroundingsOf = async (
  { seed, enrolled, authorities }: Identity,
  { folder, results, spoolMb, kept }: Room,
  heard?: Heard,
): Promise<Surroundings> => {
  if (enrolled === null) throw new JoinFault(exits.misused, `${identityIn(folder)} is of no probe yet; run join first`);
  const { probe, nats_url: url, nats_tls_first: tlsFirst, nats_ca: ca, jwt, anchors } = enrolled;
  // A probe that has run has newer ones on its disk.
  const log = createLog({ name: 'join', level: 'silent' });
  const own = await openOwnCredentials({ folder: kept, probe, given: formatCredentials({ jwt, seed }), log });
  return {
    // The answer left about in the middle of the time that was waited for it.
    clockOffset: heard && heard.answer.now - (heard.sentAt + heard.receivedAt) / 2,
    entrance: { url, tlsFirst, ...(ca === null ? {} : { ca }), authorities, credentials: own.text() },
    ...{ anchors, folder: results, spoolMb },
  };
};

const width = 10;
const lineText = ({ what, well, words }: Line): string => `${well ? 'ok ' : 'NO '} ${what.padEnd(width)} ${words}`;

/** Says line by line how this host is. @throws JoinFault with the exit code of the first thing that is not well. */
const sayChecklist = async (of: Surroundings, next: Onwards, say: Say): Promise<void> => {
  let first: Line | undefined;
  for await (const line of checklist(of)) {
    say(lineText(line));
    if (!line.well) first ??= line;
  }
  if (first)
    throw new JoinFault(
      first.exit,
      `${first.what} is not well: see above. This host is the probe all the same; mend it, then: ${onwards[next]}`,
    );
};

/**
 * A host becomes a probe. Killed between its steps it is run again as it was: the key is on the disk before it is told, and a token that this key
 * has spent is answered to it once more.
 */
export const becomeProbe = async (
  of: Room & { readonly url: string; readonly token: string; readonly next: Onwards; readonly authorities: string | undefined },
  say: Say,
): Promise<void> => {
  const at = coordinatorAt(of.url);
  const path = identityIn(of.folder);
  const stored = await openIdentity(path);
  const own: Identity = of.authorities === undefined ? stored : { ...stored, authorities: of.authorities };
  const heard = await enrol(at, of.token, keyOf(own), own.authorities);
  const { now: _, ...enrolled } = heard.answer;
  if (own.enrolled !== null && own.enrolled.probe !== enrolled.probe)
    throw new JoinFault(exits.misused, `${of.folder} is the probe ${own.enrolled.name} already; name another folder with --data`);
  const identity: Identity = { ...own, enrolled };
  await writeIdentity(path, identity);
  const whose = enrolled.organisation === null ? 'a public probe' : 'a private probe of your organisation';
  say(`This host is ${enrolled.name} in ${enrolled.continent}, ${whose}. Its key is in ${path} and nowhere else.`);
  await sayChecklist(await surroundingsOf(identity, of, heard), of.next, say);
};

/** The checklist of a host that is a probe already. */
export const checkProbe = async (room: Room, say: Say): Promise<void> => {
  const stored = await readIfThere(identityIn(room.folder)).catch((error: unknown) => {
    if (codeOf(error) !== 'EACCES') throw error;
    throw new JoinFault(exits.misused, `${identityIn(room.folder)} is not for you to read: run this as root, or as the probe's user`);
  });
  if (stored === undefined) throw new JoinFault(exits.misused, `there is no ${identityIn(room.folder)}; run join first`);
  await sayChecklist(await surroundingsOf(parseIdentity(stored), room), 'run', say);
};
