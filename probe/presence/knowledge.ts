import { createHash } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import type { Starts } from '../../shared/actor/supervisor.ts';
import type { Log } from '../../shared/base/log.ts';
import { ownAddresses } from '../../shared/base/network.ts';
import {
  type PresenceMessage,
  type PresenceReply,
  signingKeys,
} from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import {
  formatCredentials,
  type Key,
  keyFromSeed,
  parseCredentials,
  readJwt,
} from '../../shared/bus/nkeys.ts';
import { isWebsocket } from '../../shared/bus/websocket.ts';
import type { Assignment } from '../../shared/checks/assignment.ts';
import { mergeSecrets } from '../../shared/checks/config.ts';
import {
  createSealPair,
  type NetworkKey,
  openBox,
  openKey,
  type SealPair,
  sealPairFrom,
} from '../../shared/checks/sealed-secrets.ts';
import type { Endpoint } from '../checks/guard.ts';
import { readIfThere, replaceFile } from '../disk/files.ts';

/**
 * Where the bus listens and which addresses are this machine's own, as literal addresses, for the
 * guard: no check may talk to the probe's bus. Found addresses stay until others are found, so a
 * broken resolver opens nothing.
 */
export type BusEndpoints = {
  readonly bus: () => readonly Endpoint[];
  readonly own: () => readonly string[];
};

const everyMs = 60_000;
const defaultPort = 4222;

/**
 * Equal for probes on one host, also in several containers, and tells nothing else of it: what its
 * kernel calls this run of itself, where it says so, or else its name.
 */
export async function hostIdentity(): Promise<string> {
  // A sandbox may refuse it: then the name is all that is left to go by.
  const run = await readIfThere('/proc/sys/kernel/random/boot_id').catch(() => undefined);
  return createHash('sha256')
    .update(`antipode: host ${run?.trim() ?? hostname()}`)
    .digest('base64url');
}

export async function watchBusEndpoints(
  url: string,
  supervisor: Starts<'bus addresses'>,
  log: Log,
): Promise<BusEndpoints> {
  let bus: readonly Endpoint[] = [];
  let own: readonly string[] = ownAddresses();
  const resolve = async (): Promise<void> => {
    own = ownAddresses();
    const found = await Promise.all(
      url.split(',').map(async (server) => {
        // It comes in at the coordinators' own address, which anybody may check.
        if (isWebsocket(server)) return [];
        const { hostname, port } = new URL(server);
        const all = await lookup(hostname.replace(/^\[|\]$/g, ''), { all: true });
        return all.map(({ address }) => ({ address, port: Number(port || defaultPort) }));
      }),
    );
    bus = found.flat();
  };
  // When a later tick fails, the last known addresses stay blocked.
  await resolve().catch((error: unknown) =>
    log.warn(
      { err: error },
      'could not resolve the address of the bus; it is blocked once it is known',
    ),
  );
  supervisor.ticker('bus addresses', { everyMs, tick: resolve });
  return { bus: () => bus, own: () => own };
}

/**
 * What the coordinators send to every probe: their address, the anchors for its self-check, the
 * keys that open secrets. It is on disk, the keys only sealed, so a probe that starts while all
 * coordinators are down checks as before.
 */
export type NetworkKnowledge = {
  readonly sealKey: string;
  readonly baseUrl: () => string;
  readonly anchors: () => readonly string[];
  /** Whether public probes sign their requests and are listed. */
  readonly identifies: () => boolean;
  /** The keys of the coordinators: whose announcements count. */
  readonly trust: () => readonly string[];
  /**
   * `inUse`: the keys that seal what this probe holds. They are kept even when the reply no longer
   * names them.
   */
  readonly learn: (
    reply: Pick<PresenceReply, 'base_url' | 'anchors' | 'seal_keys' | 'signing' | 'identify'>,
    inUse?: () => ReadonlySet<string>,
  ) => void;
  /** Something arrived that is sealed under this key. */
  readonly want: (key: string) => void;
  /** Whether a wanted key is missing: the next presence will bring it. */
  readonly isWanting: () => boolean;
  /**
   * The assignment with its secrets opened; for one check, never stored. @throws when they cannot
   * be opened.
   */
  readonly unseal: (assignment: Assignment) => Assignment;
  /** Settles when what was learned is on disk, or cannot be written. */
  readonly settled: () => Promise<void>;
};

const secretsOf = z.record(z.string(), z.string());

export async function openNetworkKnowledge(options: {
  readonly folder: string;
  /** The announcement keys from the credentials. What a coordinator sent later takes precedence. */
  readonly signingKeys: readonly string[];
  readonly log: Log;
}): Promise<NetworkKnowledge> {
  const { folder, signingKeys: given, log } = options;
  const path = join(folder, 'network.json');
  const pair = await ownPair(join(folder, 'seal.key'));
  let now = await readKnown(path, log);
  let text = JSON.stringify(now);
  let saving: Promise<void> = Promise.resolve();
  const keys = new Map<string, NetworkKey>();
  /** The keys as they came, as they are on disk. */
  const boxes = new Map<string, string>();
  const wanted = new Set<string>();

  const forgetKeys = (
    sealed: Readonly<Record<string, string>>,
    inUse: () => ReadonlySet<string>,
  ): void => {
    const unnamed = [...keys.keys()].filter((id) => sealed[id] === undefined);
    if (unnamed.length === 0) return;
    const used = inUse();
    for (const id of unnamed) {
      if (used.has(id)) continue;
      keys.delete(id);
      boxes.delete(id);
    }
  };

  const openKeys = (sealed: Readonly<Record<string, string>>): void => {
    for (const [id, box] of Object.entries(sealed)) {
      // Each sealing of a key differs: the first stays.
      if (keys.has(id)) continue;
      try {
        keys.set(id, openKey(pair, id, box));
        boxes.set(id, box);
        wanted.delete(id);
      } catch (error) {
        log.error({ err: error, key: id }, 'a network key cannot be decrypted');
      }
    }
  };
  openKeys(now.seal_keys);

  return {
    sealKey: pair.open,
    baseUrl: () => now.base_url,
    anchors: () => now.anchors,
    identifies: () => now.identify === true,
    trust: () => now.signing?.keys ?? given,
    want: (key) => {
      if (!keys.has(key)) wanted.add(key);
    },
    isWanting: () => wanted.size > 0,
    learn: (
      { base_url, anchors, seal_keys, signing, identify = now.identify },
      inUse = () => new Set(),
    ) => {
      openKeys(seal_keys);
      forgetKeys(seal_keys, inUse);
      now = {
        v: 1,
        base_url,
        anchors,
        seal_keys: Object.fromEntries(boxes),
        signing,
        ...(identify === undefined ? {} : { identify }),
      };
      const next = JSON.stringify(now);
      if (next === text) return;
      text = next;
      saving = saving
        .then(() => replaceFile(path, next, { durable: false }))
        .catch((error: unknown) =>
          log.warn({ err: error }, "could not store the network's settings"),
        );
    },
    unseal: (assignment) => {
      if (assignment.sealed === null) return assignment;
      const secrets = secretsOf.parse(
        JSON.parse(openBox(keys, assignment.sealed, assignment.monitor)),
      );
      return { ...assignment, config: mergeSecrets(assignment.kind, assignment.config, secrets) };
    },
    settled: () => saving,
  };
}

/**
 * The probe's own key pair, made at its first start. Losing it loses nothing: the coordinator seals
 * the keys to any pair that the probe names.
 */
async function ownPair(path: string): Promise<SealPair> {
  const stored = await readIfThere(path);
  if (stored !== undefined) return sealPairFrom(stored.trim());
  const made = createSealPair();
  await replaceFile(path, `${made.secret}\n`, { durable: true });
  return made;
}

const known = z.object({
  v: z.literal(1),
  base_url: z.string(),
  anchors: z.array(z.string()),
  seal_keys: z.record(z.string(), z.string()),
  signing: z.object({ keys: signingKeys }).exactOptional(),
  identify: z.boolean().exactOptional(),
});

type StoredKnowledge = z.infer<typeof known>;

async function readKnown(path: string, log: Log): Promise<StoredKnowledge> {
  const nothing: StoredKnowledge = { v: 1, base_url: '', anchors: [], seal_keys: {} };
  try {
    const text = await readIfThere(path);
    return text === undefined ? nothing : known.parse(JSON.parse(text));
  } catch (error) {
    log.warn(
      { err: error },
      'the stored network settings cannot be read; the next presence brings them again',
    );
    return nothing;
  }
}

/**
 * The probe's permissions on the bus and their expiry: a JWT for its own key. The answer to a
 * presence renews it long before it expires. The newest is on disk, so a starting probe continues
 * with it, whatever it was given originally.
 *
 * Modes: `given` → `renewed` (as often as a new one comes).
 */
export type OwnCredentials = {
  readonly key: Key;
  /** The text of a credentials file, as it is now. */
  readonly text: () => string;
  /** The remedy, in words, if the credentials have expired: the bus refuses them. */
  readonly ended: (now: number) => string | undefined;
  /** What a presence says of them. */
  readonly described: () => Pick<PresenceMessage, 'credentials'>;
  /**
   * Adopts renewed credentials and reconnects to the bus, because their permissions apply only from
   * then on.
   */
  readonly hear: (
    reply: Pick<PresenceReply, 'jwt'>,
    bus: Pick<Bus, 'reconnect'> | undefined,
  ) => void;
};

type Own = {
  readonly jwt: string;
  readonly issuer: string;
  readonly issuedAt: number;
  readonly endsAt: number | undefined;
};

export async function openOwnCredentials(of: {
  readonly folder: string;
  /** The text of the credentials file that the probe was given. */
  readonly given: string;
  readonly log: Log;
}): Promise<OwnCredentials> {
  const { log } = of;
  const path = join(of.folder, 'renewed.jwt');
  const given = parseCredentials(of.given);
  const key = keyFromSeed(given.seed, 'user');
  let own = readOwn(given.jwt, key);
  /** The text being written to disk: answers repeat it meanwhile. */
  let saving: string | undefined;

  const read = (jwt: string, fault: string): Own | undefined => {
    try {
      return readOwn(jwt, key);
    } catch (error) {
      log.warn({ err: error }, fault);
      return undefined;
    }
  };
  const stored = await readIfThere(path);
  const kept =
    stored === undefined
      ? undefined
      : read(
          stored.trim(),
          'the renewed credentials on the disk cannot be read; those that were given are used',
        );
  if (kept && replaces(kept, own)) own = kept;

  return {
    key,
    text: () => formatCredentials({ jwt: own.jwt, seed: given.seed }),
    ended: (now) =>
      own.endsAt === undefined || own.endsAt > now
        ? undefined
        : `the credentials of this probe ended on ${new Date(own.endsAt).toISOString()}: it was off, or alone, for too long, and the bus does not let it in. Have it invited again for the same continent, and run "antipode-probe.mjs join" with the new token and the same data folder: it keeps its key, its name and what it has not yet handed over`,
    described: () =>
      own.endsAt === undefined
        ? {}
        : { credentials: { key: key.id, issued_at: own.issuedAt, ends_at: own.endsAt } },
    hear: ({ jwt }, bus) => {
      if (jwt === undefined || saving !== undefined) return;
      const next = read(jwt, 'the renewed credentials cannot be read');
      if (!next || !replaces(next, own)) return;
      saving = jwt;
      // On disk first: the credentials in use survive a power loss.
      replaceFile(path, `${jwt}\n`, { durable: true })
        .then(() => {
          own = next;
          log.info(
            { until: next.endsAt === undefined ? 'never' : new Date(next.endsAt).toISOString() },
            'renewed the credentials',
          );
          return bus?.reconnect();
        })
        .catch((error: unknown) =>
          log.error(
            { err: error },
            'could not renew the credentials; retrying with the next presence',
          ),
        )
        .finally(() => {
          saving = undefined;
        });
    },
  };
}

/** @throws when it is no JWT for this key. */
function readOwn(jwt: string, key: Key): Own {
  const { sub, iss, iat, exp } = readJwt(jwt);
  if (sub !== key.id) throw new Error('the JWT is for another key');
  return {
    jwt,
    issuer: iss,
    issuedAt: iat * 1_000,
    endsAt: exp === undefined ? undefined : exp * 1_000,
  };
}

/** Whether one of the same account replaces the other: it expires later. */
function replaces(one: Own, other: Own): boolean {
  return (
    one.issuer === other.issuer &&
    one.endsAt !== undefined &&
    other.endsAt !== undefined &&
    one.endsAt > other.endsAt
  );
}
