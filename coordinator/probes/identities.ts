import type { Clock } from '../../shared/base/clock.ts';
import type { Continent } from '../../shared/base/continents.ts';
import { newId } from '../../shared/base/ids.ts';
import { printProbeCredentials } from '../../shared/bus/credentials.ts';
import { issueCredentials, type Key } from '../../shared/bus/identity.ts';
import { probeLimits, probePermissions } from '../../shared/bus/probe-user.ts';
import type { Queryable } from '../store/database.ts';
import { addProbeKey, allProbes, insertProbe, type NamedProbe, revokeProbe } from '../store/probes.ts';

/** How long the older credentials of a probe go on working after a rotation. */
const overlapMs = 86_400_000;

type Parts = {
  readonly account: Key;
  readonly clock: Clock;
  /** Where probes reach the bus. */
  readonly natsUrl: string;
};

/** Makes, rotates and revokes probes: rows and outbox lines in the caller's transaction, credentials signed here and stored nowhere. */
export const createProbeIdentities = ({ account, clock, natsUrl }: Parts) => {
  const issue = (probe: string, { name, continent, organisation }: NamedProbe): { key: string; credentials: string } => {
    const permissions = probePermissions(probe, continent, organisation);
    const user = issueCredentials({ name: `probe ${name}`, account, permissions, limits: probeLimits }, clock.now());
    const word = { probe, name, continent, organisation, nats_url: natsUrl, nats_credentials: user.credentials };
    return { key: user.id, credentials: printProbeCredentials(word) };
  };
  return {
    createProbe: async (sql: Queryable, probe: { name: string; continent: Continent; organisation: string | null }) => {
      const id = newId();
      const { key, credentials } = issue(id, probe);
      await insertProbe(sql, id, { ...probe, key });
      return { id, credentials };
    },
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
        clock_offset_ms: row.clock_offset_ms,
      })),
  };
};
