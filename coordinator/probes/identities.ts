import { z } from 'zod';
import { createRecentCache } from '../../shared/base/async.ts';
import type { Continent } from '../../shared/base/continents.ts';
import { newId } from '../../shared/base/crypto.ts';
import type { Clock } from '../../shared/base/time.ts';
import { announcementKeys } from '../../shared/bus/announcement.ts';
import {
  credentialsLifetimeMs,
  isEnrolmentProof,
  printProbeCredentials,
  probeLimits,
  probePermissions,
} from '../../shared/bus/identity.ts';
import { jsonOf } from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import {
  issueCredentials,
  type Key,
  keyFromSeed,
  mintUser,
  readJwt,
  withRevocations,
} from '../../shared/bus/nkeys.ts';
import { deriveNetworkKey, type NetworkKey } from '../../shared/checks/sealed-secrets.ts';
import type { Queryable, Sql } from '../database/connect.ts';
import { readSealing, type Sealing, sealEpochOf, type WrappedKey } from '../secrets/at-rest.ts';
import {
  addProbeKey,
  insertProbe,
  type NamedProbe,
  type ProbeRow,
  revokeProbe,
} from './queries.ts';

/** How long the older credentials of a probe remain valid after a rotation. */
const overlapMs = 86_400_000;

type Dependencies = {
  readonly account: Key;
  readonly clock: Clock;
  /** Where probes reach the bus. */
  readonly natsUrl: () => string;
  readonly ca?: string | undefined;
  readonly anchors?: () => readonly string[];
  /** The coordinators' keys, from which those are derived that verify announcements. */
  readonly secretKeys: readonly string[];
};

type Minted = {
  readonly probe: string;
  readonly key: string;
  readonly of: NamedProbe;
};

/** What a probe's own key may do on the bus, for the lifetime of its credentials. */
function mintProbe(
  account: Key,
  { probe, key, of: { name, continent, organisation } }: Minted,
  now: number,
): string {
  const permissions = probePermissions({ probe, continent, organisation });
  const user = {
    name: `probe ${name}`,
    user: key,
    account,
    permissions,
    limits: probeLimits,
    expiresAt: now + credentialsLifetimeMs,
  };
  return mintUser(user, now);
}

/** New credentials for a probe that has some. */
export function createRenewal({
  accountSeed,
  clock,
}: {
  readonly accountSeed: string;
  readonly clock: Clock;
}) {
  const account = keyFromSeed(accountSeed, 'account');
  return ({ id, name, continent, organisation_id }: ProbeRow, key: string): string =>
    mintProbe(
      account,
      { probe: id, key, of: { name, continent, organisation: organisation_id } },
      clock.now(),
    );
}

/**
 * Makes, rotates and revokes probes: rows and outbox lines in the caller's transaction; credentials
 * are signed here and stored nowhere.
 */
export function createProbeIdentities(dependencies: Dependencies) {
  const { account, clock, natsUrl, ca, anchors = () => [], secretKeys } = dependencies;
  const signing_keys = announcementKeys(secretKeys).map(({ id }) => id);
  const issue = (
    probe: string,
    { name, continent, organisation }: NamedProbe,
  ): { key: string; credentials: string } => {
    const permissions = probePermissions({ probe, continent, organisation });
    const user = issueCredentials(
      { name: `probe ${name}`, account, permissions, limits: probeLimits },
      clock.now(),
    );
    const word = {
      probe,
      name,
      continent,
      organisation,
      nats_url: natsUrl(),
      nats_credentials: user.credentials,
      signing_keys,
    };
    return { key: user.id, credentials: printProbeCredentials(word) };
  };
  return {
    createProbe: async (
      sql: Queryable,
      probe: NamedProbe & { readonly place?: string | null; readonly region?: string | null },
    ) => {
      const id = newId();
      const { key, credentials } = issue(id, probe);
      await insertProbe(sql, id, { ...probe, key });
      return { id, credentials };
    },
    isEnrolmentProof,
    enrolProbe: async (
      sql: Queryable,
      probe: NamedProbe & { readonly place: string | null; readonly region?: string | null },
      key: string,
    ) => {
      const id = newId();
      await insertProbe(sql, id, { ...probe, key });
      return { id };
    },
    welcome: (probe: string, of: NamedProbe, key: string) => ({
      signing_keys,
      nats_url: natsUrl(),
      nats_ca: ca ?? null,
      jwt: mintProbe(account, { probe, key, of }, clock.now()),
      anchors: anchors(),
    }),
    rotateProbe: async (sql: Queryable, id: string) => {
      let credentials = '';
      const issueNext = (of: NamedProbe): string => {
        const next = issue(id, of);
        credentials = next.credentials;
        return next.key;
      };
      await addProbeKey(sql, id, issueNext, clock.now() + overlapMs);
      return { id, credentials };
    },
    revokeProbe,
  };
}

/**
 * The keys that seal secrets on their way, one for each place (a continent, or a private one),
 * derived with the place's epoch. The revocation of a probe raises the epoch of its place in the
 * same transaction. The next steps need no order and can be repeated from any point. Presence gives
 * the new key to the remaining probes. The owners of partitions seal and publish again what their
 * partition's marker does not list as done. A probe keeps an older key for as long as it holds
 * something sealed with it.
 */
export type NetworkKeys = {
  readonly keyOf: KeyOf;
  readonly epochOf: (place: string) => number;
  /** As the database has them now: nothing may be published under a key that was retired before. */
  readonly keysNow: () => Promise<KeyOf>;
  /**
   * Reads them again; true when any epoch rose. Then the directory is read before they are in
   * force: a revoked probe must be known before the new key is given away.
   */
  readonly refresh: (directory: () => Promise<void>) => Promise<boolean>;
};

export type KeyOf = (place: string) => NetworkKey;

type NetworkKeysDependencies = {
  readonly sql: Sql;
  /** The SECRET_KEY in force. @throws when we do not know it. */
  readonly masterOf: (newest: WrappedKey | undefined) => string;
};

export async function createNetworkKeys({
  sql,
  masterOf,
}: NetworkKeysDependencies): Promise<NetworkKeys> {
  const derived = createRecentCache<string, NetworkKey>(1_000);
  type Read = Pick<Sealing, 'epochs'> & { readonly master: string };
  const read = async (): Promise<Read> => {
    const { epochs, newest } = await readSealing(sql);
    return { epochs, master: masterOf(newest) };
  };
  let known = await read();

  const derive = ({ epochs, master }: Read, place: string): NetworkKey => {
    const epoch = sealEpochOf(epochs, place);
    const name = `${epoch} ${place} ${master}`;
    const have = derived.find(name);
    if (have) return have;
    const made = deriveNetworkKey(master, place, epoch);
    derived.keep(name, made);
    return made;
  };

  return {
    keyOf: (place) => derive(known, place),
    epochOf: (place) => sealEpochOf(known.epochs, place),
    keysNow: async () => {
      const now = await read();
      return (place) => derive(now, place);
    },
    refresh: async (directory) => {
      const now = await read();
      if ([...now.epochs].every(([place, epoch]) => epoch <= (known.epochs.get(place) ?? 1)))
        return false;
      await directory();
      const grown = [...now.epochs].filter(
        ([place, epoch]) => epoch > (known.epochs.get(place) ?? 1),
      );
      // Another read may have been faster than this one. Epochs only rise, and another SECRET_KEY
      // raises all of them.
      if (grown.length > 0)
        known = { epochs: new Map([...known.epochs, ...grown]), master: now.master };
      return grown.length > 0;
    },
  };
}

/**
 * Tells the server which users are void: it drops their connections at once and admits none of them
 * again. The list is in the account's JWT, which the server stores. It only grows, so that what
 * another database revoked stays revoked.
 */
type RevocationsDependencies = {
  readonly system: Bus;
  readonly account: string;
  readonly operator: Key;
};

const answer = z.looseObject({
  data: z.looseObject({ code: z.number() }).optional(),
  error: z.looseObject({ description: z.string().optional() }).optional(),
});

/** `revoked`: user → milliseconds since the epoch. @throws when the server does not accept it. */
export async function pushRevocations(
  { system, account, operator }: RevocationsDependencies,
  revoked: ReadonlyMap<string, number>,
  now: number,
): Promise<void> {
  const jwt = new TextDecoder().decode(
    (await system.request(`$SYS.REQ.ACCOUNT.${account}.CLAIMS.LOOKUP`, '')).data,
  );
  const before = readJwt(jwt).nats.revocations ?? {};
  const seconds = (ms: number): number => Math.ceil(ms / 1_000);
  const missing = [...revoked].filter(([user, at]) => (before[user] ?? 0) < seconds(at));
  if (missing.length === 0) return;
  const next = {
    ...before,
    ...Object.fromEntries(missing.map(([user, at]) => [user, seconds(Math.max(at, now))])),
  };
  const reply = await system.request(
    '$SYS.REQ.CLAIMS.UPDATE',
    withRevocations(jwt, next, operator, now),
    { timeoutMs: 5_000 },
  );
  const read = answer.parse(jsonOf(reply.data));
  // A refusal is an answer too.
  if (read.data?.code !== 200)
    throw new Error(
      `the bus did not take the revocations: ${read.error?.description ?? 'no reason given'}`,
    );
}

/**
 * What operations may do to probes. Each runs inside the caller's transaction, so that a plan's
 * limit is counted under its lock, and leaves an outbox row; the bus gets it right after the
 * commit. app.ts passes it in, because it needs the keys of the bus.
 */
type NewProbe = {
  readonly name: string;
  readonly continent: Continent;
  /** The only organisation whose monitors it checks; null for a public probe. */
  readonly organisation: string | null;
  /** Where on its continent a public one is. */
  readonly region?: string | null;
};

/**
 * What a host receives when it becomes a probe: all addresses, and the permissions of its key.
 * Nothing of it is secret.
 */
type Welcome = {
  readonly nats_url: string;
  readonly nats_ca: string | null;
  readonly jwt: string;
  readonly anchors: readonly string[];
  /** The keys that verify announcements of the coordinators. */
  readonly signing_keys: readonly string[];
};

export type ProbesPart = {
  /**
   * @throws Refusal `name_taken`. The credentials (the text of a NATS credentials file) are shown
   * once and not stored.
   */
  readonly createProbe: (
    sql: Queryable,
    probe: NewProbe,
  ) => Promise<{ readonly id: string; readonly credentials: string }>;
  /** Whether the holder of this key signed the token. */
  readonly isEnrolmentProof: (key: string, proof: string, token: string) => boolean;
  /** Creates a probe that made its key itself. @throws Refusal `name_taken`. */
  readonly enrolProbe: (
    sql: Queryable,
    probe: NewProbe & { readonly place: string | null },
    key: string,
  ) => Promise<{ readonly id: string }>;
  readonly welcome: (id: string, probe: NewProbe, key: string) => Welcome;
  /**
   * Creates new credentials; the old ones stay valid for a day. @throws Refusal `probe_not_found`.
   */
  readonly rotateProbe: (
    sql: Queryable,
    id: string,
  ) => Promise<{ readonly id: string; readonly credentials: string }>;
  /** Its connection is closed within a second of the commit. @throws Refusal `probe_not_found`. */
  readonly revokeProbe: (sql: Queryable, id: string) => Promise<void>;
};
