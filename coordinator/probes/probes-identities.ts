import type { Continent } from '../../shared/base/continents.ts';
import { newId } from '../../shared/base/crypto.ts';
import type { Clock } from '../../shared/base/time.ts';
import { announcementKeys } from '../../shared/bus/announcement.ts';
import { credentialsLiveMs, isEnrolmentProof, printProbeCredentials, probeLimits, probePermissions } from '../../shared/bus/identity.ts';
import { issueCredentials, type Key, keyFromSeed, mintUser } from '../../shared/bus/nkeys.ts';
import type { Queryable } from '../store/store-database.ts';
import { addProbeKey, allProbes, insertProbe, type NamedProbe, type ProbeRow, revokeProbe } from '../store/store-probes.ts';
import { areSignaturesRequired, offeredForMs, type RequireSigned } from './probes-announcements.ts';

/** How long the older credentials of a probe go on working after a rotation. */
const overlapMs = 86_400_000;

type Parts = {
  readonly account: Key;
  readonly clock: Clock;
  /** Where probes reach the bus. */
  readonly natsUrl: string;
  /** How they reach it. */
  readonly tlsFirst?: boolean;
  readonly ca?: string | undefined;
  readonly anchors?: () => readonly string[];
  /** Of the coordinators, whose announcements probes verify with what follows from them. */
  readonly secretKeys: readonly string[];
  readonly requireSigned: RequireSigned;
};

/** `isRelayed`: false for a private probe of the version before. */
type Minted = { readonly probe: string; readonly key: string; readonly of: NamedProbe; readonly isRelayed?: boolean };

/** What a probe's own key may do on the bus, for the time that credentials live. */
export const mintProbe = (
  account: Key,
  { probe, key, of: { name, continent, organisation }, isRelayed = true }: Minted,
  now: number,
): string => {
  const permissions = probePermissions({ probe, continent, organisation }, organisation === null || !isRelayed);
  const user = { name: `probe ${name}`, user: key, account, permissions, limits: probeLimits, expiresAt: now + credentialsLiveMs };
  // Dated before the upgrade, in which alone there are such: they end with those of before, however late a probe asked for them.
  return mintUser(user, organisation === null || isRelayed ? now : now - offeredForMs);
};

/** New credentials for a probe that has some: with what this version lets probes do. */
export const createRenewal = ({ accountSeed, clock }: { readonly accountSeed: string; readonly clock: Clock }) => {
  const account = keyFromSeed(accountSeed, 'account');
  return ({ id, name, continent, organisation_id }: ProbeRow, key: string, isRelayed: boolean): string =>
    mintProbe(account, { probe: id, key, of: { name, continent, organisation: organisation_id }, isRelayed }, clock.now());
};

/** Makes, rotates and revokes probes: rows and outbox lines in the caller's transaction, credentials signed here and stored nowhere. */
export const createProbeIdentities = (parts: Parts) => {
  const { account, clock, natsUrl, tlsFirst = false, ca, anchors = () => [], secretKeys, requireSigned } = parts;
  const signing = async (sql: Queryable) => ({
    signing_keys: [...announcementKeys(secretKeys).map(({ id }) => id)],
    require_signed: await areSignaturesRequired(sql, requireSigned),
  });
  type Signing = Awaited<ReturnType<typeof signing>>;
  const issue = (probe: string, { name, continent, organisation }: NamedProbe, more: Signing): { key: string; credentials: string } => {
    const permissions = probePermissions({ probe, continent, organisation });
    const user = issueCredentials({ name: `probe ${name}`, account, permissions, limits: probeLimits }, clock.now());
    const word = { probe, name, continent, organisation, nats_url: natsUrl, nats_credentials: user.credentials, ...more };
    return { key: user.id, credentials: printProbeCredentials(word) };
  };
  return {
    createProbe: async (sql: Queryable, probe: { name: string; continent: Continent; organisation: string | null }) => {
      const id = newId();
      const { key, credentials } = issue(id, probe, await signing(sql));
      await insertProbe(sql, id, { ...probe, key });
      return { id, credentials };
    },
    isEnrolmentProof,
    enrolProbe: async (sql: Queryable, probe: NamedProbe, key: string) => {
      const id = newId();
      await insertProbe(sql, id, { ...probe, key });
      return { id };
    },
    welcome: async (sql: Queryable, probe: string, of: NamedProbe, key: string) => ({
      ...(await signing(sql)),
      nats_url: natsUrl,
      nats_tls_first: tlsFirst,
      nats_ca: ca ?? null,
      jwt: mintProbe(account, { probe, key, of }, clock.now()),
      anchors: anchors(),
    }),
    rotateProbe: async (sql: Queryable, id: string) => {
      let credentials = '';
      const more = await signing(sql);
      const issueNext = (of: NamedProbe): string => {
        const next = issue(id, of, more);
        credentials = next.credentials;
        return next.key;
      };
      await addProbeKey(sql, id, issueNext, clock.now() + overlapMs);
      return { id, credentials };
    },
    revokeProbe,
    listProbes: async (sql: Queryable, organisation?: string) =>
      (await allProbes(sql, organisation)).map(({ organisation_id, ...row }) => ({
        id: row.id,
        name: row.name,
        continent: row.continent,
        organisation: organisation_id,
        created_at: row.created_at,
        revoked_at: row.revoked_at,
        last_seen_at: row.last_seen_at,
        version: row.version,
        quarantined_at: row.quarantined_at,
        quarantine_reason: row.quarantine_reason,
        doubted_at: row.doubted_at,
        doubt_reason: row.doubt_reason,
        place_trusted_as: row.place_trusted_as,
        clock_offset_ms: row.clock_offset_ms,
      })),
  };
};
