import { array, boolean, dateTime, integer, maybe, nullable, object, string, uuid } from '../fields.ts';
import { innerOperation } from '../operation.ts';

/** The probes of the installation, public and private. */

const CredentialsOut = object('CredentialsOut', { id: uuid(), credentials: string() });
const probeId = { probe_id: uuid() };

export const createProbe = innerOperation({
  id: 'createProbe',
  access: 'manage',
  summary: 'Create a probe, whose credentials are shown once',
  body: object('ProbeIn', {
    name: string(),
    continent: string(),
    organisation: maybe(uuid(), { description: "The organisation whose monitors alone it checks; without it everybody's." }),
  }),
  response: CredentialsOut,
  refusals: ['name_invalid', 'name_taken', 'continent_unknown', 'organisation_not_found', 'plan_limit_private_probes'],
});

export const rotateProbe = innerOperation({
  id: 'rotateProbe',
  access: 'manage',
  summary: 'Give a probe new credentials; the old ones work for another day',
  params: probeId,
  response: CredentialsOut,
  refusals: ['probe_not_found'],
});

export const revokeProbe = innerOperation({
  id: 'revokeProbe',
  access: 'manage',
  summary: 'End a probe for good',
  params: probeId,
  response: object('RevokedProbeOut', { id: uuid() }),
  refusals: ['probe_not_found'],
});

export const listProbes = innerOperation({
  id: 'listProbes',
  access: 'manage',
  does: 'looks',
  summary: 'List probes, revoked ones included',
  response: object('ProbeListOut', {
    items: array(
      object('ProbeOut', {
        id: uuid(),
        name: string(),
        continent: string(),
        organisation: nullable(uuid()),
        version: nullable(string()),
        created_at: dateTime(),
        last_seen_at: nullable(dateTime()),
        revoked_at: nullable(dateTime()),
        quarantined: boolean(),
        quarantine_reason: nullable(string()),
      }),
    ),
    count: integer(),
  }),
});
