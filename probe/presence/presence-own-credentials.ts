import { join } from 'node:path';
import { z } from 'zod';
import type { Log } from '../../shared/base/log.ts';
import type { PresenceMessage, PresenceReply } from '../../shared/bus/bus-messages.ts';
import type { Bus } from '../../shared/bus/bus-nats.ts';
import { formatCredentials, type Key, keyFromSeed, parseCredentials, readJwt } from '../../shared/bus/bus-nkeys.ts';
import { subjects } from '../../shared/bus/bus-subjects.ts';
import { readIfThere, replaceFile } from '../disk/disk.ts';

/**
 * What this probe may do on the bus, and until when: a JWT for its own key. One that ends is renewed long before, with the answer to a presence; the
 * newest is on the disk, so that a probe that starts goes on with it, whatever it was given once.
 *
 * Modes: `given` → `renewed` (as often as it comes).
 */
export type OwnCredentials = {
  readonly key: Key;
  /** The text of a credentials file, as it is now. */
  readonly text: () => string;
  /** What there is to do, in words, when they have ended by now: the bus lets nobody in with them. */
  readonly ended: (now: number) => string | undefined;
  /** What a presence says of them. */
  readonly described: () => Pick<PresenceMessage, 'credentials' | 'rights'>;
  /** Whether all that the bus's server would answer goes through the relay. */
  readonly isRelayed: () => boolean;
  /** Takes up renewed ones. The bus is entered anew, because what they grant counts from there on. */
  readonly hear: (reply: Pick<PresenceReply, 'jwt'>, bus: Pick<Bus, 'reconnect'> | undefined) => void;
};

type Own = {
  readonly jwt: string;
  readonly issuer: string;
  readonly issuedAt: number;
  readonly endsAt: number | undefined;
  readonly isRelayed: boolean;
};

/** @throws when it is no JWT for this key. */
const readOwn = (jwt: string, key: Key, probe: string): Own => {
  const { sub, iss, iat, exp, nats } = readJwt(jwt);
  const { allow } = published.parse(nats).pub;
  if (sub !== key.id) throw new Error('the JWT is for another key');
  const isRelayed = allow.includes(`${subjects.relay(probe)}.>`);
  return { jwt, issuer: iss, issuedAt: iat * 1_000, endsAt: exp === undefined ? undefined : exp * 1_000, isRelayed };
};

const published = z.looseObject({ pub: z.looseObject({ allow: z.array(z.string()).default([]) }).default({ allow: [] }) });

/** Whether one of the same account replaces the other: it is the first that is relayed, or goes on for longer. */
const replaces = (one: Own, other: Own): boolean => {
  if (one.issuer !== other.issuer || (other.isRelayed && !one.isRelayed)) return false;
  if (one.isRelayed && !other.isRelayed) return true;
  return one.endsAt !== undefined && other.endsAt !== undefined && one.endsAt > other.endsAt;
};

export const openOwnCredentials = async (of: {
  readonly folder: string;
  readonly probe: string;
  /** The text of a credentials file, as the probe was given it. */
  readonly given: string;
  readonly log: Log;
}): Promise<OwnCredentials> => {
  const { log } = of;
  const path = join(of.folder, 'renewed.jwt');
  const given = parseCredentials(of.given);
  const key = keyFromSeed(given.seed, 'user');
  let own = readOwn(given.jwt, key, of.probe);
  /** What is on its way to the disk: answers go on saying it meanwhile. */
  let saving: string | undefined;

  const read = (jwt: string, fault: string): Own | undefined => {
    try {
      return readOwn(jwt, key, of.probe);
    } catch (error) {
      log.warn({ err: error }, fault);
      return undefined;
    }
  };
  const stored = await readIfThere(path);
  const kept =
    stored === undefined
      ? undefined
      : read(stored.trim(), 'the renewed credentials on the disk cannot be read; those that were given are used');
  if (kept && replaces(kept, own)) own = kept;

  return {
    key,
    text: () => formatCredentials({ jwt: own.jwt, seed: given.seed }),
    ended: (now) =>
      own.endsAt === undefined || own.endsAt > now
        ? undefined
        : `the credentials of this probe ended on ${new Date(own.endsAt).toISOString()}: it was off, or alone, for too long, and the bus does not let it in. Have it invited again for the same continent, and run "antipode-probe.mjs join" with the new token and the same data folder: it keeps its key, its name and what it has not yet handed over`,
    described: () => ({
      rights: { key: key.id, issued_at: own.issuedAt, relayed: own.isRelayed },
      ...(own.endsAt === undefined ? {} : { credentials: { key: key.id, issued_at: own.issuedAt, ends_at: own.endsAt } }),
    }),
    isRelayed: () => own.isRelayed,
    hear: ({ jwt }, bus) => {
      if (jwt === undefined || saving !== undefined) return;
      const next = read(jwt, 'the renewed credentials cannot be read');
      if (!next || !replaces(next, own)) return;
      saving = jwt;
      // On the disk first: what the bus was entered with is there after a loss of power.
      replaceFile(path, `${jwt}\n`, { durable: true })
        .then(() => {
          own = next;
          log.info({ until: next.endsAt === undefined ? 'never' : new Date(next.endsAt).toISOString() }, 'the credentials are renewed');
          return bus?.reconnect();
        })
        .catch((error: unknown) => log.error({ err: error }, 'the credentials could not be renewed; the next presence brings them again'))
        .finally(() => {
          saving = undefined;
        });
    },
  };
};
