import { createHash, randomBytes } from 'node:crypto';
import { type SharedIncident, sharedFrom } from '../domain/shared-incident.ts';
import type { Sql } from '../store/store-database.ts';
import { samplesOf } from '../store/store-incident-samples.ts';
import { sharedIncident } from '../store/store-incident-shares.ts';
import { incidentById, incidentEvidence } from '../store/store-incidents-read.ts';

/** The secret of a share link: long enough that a plain hash of it tells nothing. */
export const newShareText = (): string => randomBytes(24).toString('base64url');

const shape = /^[A-Za-z0-9_-]{32}$/;

export const shareFingerprint = (text: string): Buffer => createHash('sha256').update(`share ${text}`).digest();

export type Shares = {
  /** What whoever has the link may see; undefined when it was withdrawn, or never was. */
  readonly read: (text: string) => Promise<SharedIncident | undefined>;
};

export const createShares = (sql: Sql): Shares => ({
  read: async (text) => {
    if (!shape.test(text)) return undefined;
    const found = await sharedIncident(sql, shareFingerprint(text));
    if (!found) return undefined;
    const { incident: id, organisation, time_zone } = found;
    const incident = await incidentById(sql, organisation, id);
    if (!incident) return undefined;
    const [evidence, { samples }] = await Promise.all([incidentEvidence(sql, id), samplesOf(sql, organisation, id)]);
    return sharedFrom({ incident, evidence, samples, time_zone });
  },
});
