import { array, boolean, dateTime, dict, integer, maybe, moment, nullable, number, object, optional, string, uuid } from './fields.ts';
import { IncidentOut } from './incidents.ts';
import { innerOperation } from './operation.ts';
import { OrganisationOut } from './organisation.ts';
import { StatusPageSummaryOut } from './status-pages.ts';

/** What the account pages and the operator's commands ask for and the API does not offer: organisations, people, tokens, probes. */

const MemberOut = object('MemberOut', { id: uuid(), email: string(), role: string() });

export const createOrganisation = innerOperation({
  id: 'createOrganisation',
  access: 'manage',
  faces: ['operator'],
  summary: 'Create an organisation',
  body: object('OrganisationIn', { name: string(), plan: optional(string(), 'self_hosted'), time_zone: optional(string(), 'UTC') }),
  response: OrganisationOut,
  refusals: ['name_invalid', 'plan_unknown', 'time_zone_invalid'],
});

export const createUser = innerOperation({
  id: 'createUser',
  access: 'manage',
  faces: ['operator'],
  summary: 'Create a user as a member of the organisation',
  body: object('UserIn', { email: string(), password: string(), role: string() }),
  response: MemberOut,
  refusals: ['email_invalid', 'email_taken', 'password_invalid', 'role_unknown', 'plan_limit_members'],
});

export const setMemberRole = innerOperation({
  id: 'setMemberRole',
  access: 'manage',
  faces: ['web', 'operator'],
  summary: 'Give a member another role, which ends their tokens',
  body: object('MemberRoleIn', { email: string(), role: string() }),
  response: MemberOut,
  refusals: ['user_not_found', 'member_not_found', 'role_unknown', 'last_owner', 'plan_limit_members'],
});

export const removeMember = innerOperation({
  id: 'removeMember',
  access: 'manage',
  faces: ['web', 'operator'],
  summary: 'Take a member out of the organisation, and their tokens with them',
  body: object('MemberIn', { email: string() }),
  response: object('RemovedOut', { id: uuid() }),
  refusals: ['member_not_found', 'last_owner'],
});

export const createToken = innerOperation({
  id: 'createToken',
  access: 'read',
  faces: ['web', 'operator'],
  summary: 'Create an API token, which is shown once',
  body: object('TokenIn', {
    email: maybe(string(), { description: 'Whose token; only the operator makes one for somebody else.' }),
    name: string(),
    scope: string(),
    expires_at: maybe(moment()),
  }),
  response: object('TokenOut', { id: uuid(), name: string(), scope: string(), token: string() }),
  refusals: ['member_not_found', 'name_invalid', 'scope_unknown', 'role_insufficient'],
});

export const revokeToken = innerOperation({
  id: 'revokeToken',
  access: 'read',
  faces: ['web', 'operator'],
  summary: 'End an API token',
  params: { token_id: uuid() },
  response: object('RevokedTokenOut', { id: uuid() }),
  refusals: ['token_not_found'],
});

export const createStatusPage = innerOperation({
  id: 'createStatusPage',
  access: 'write',
  faces: ['web', 'operator'],
  summary: 'Create a status page',
  body: object('StatusPageIn', { name: string(), slug: string() }),
  response: StatusPageSummaryOut,
  refusals: ['name_invalid', 'slug_invalid', 'slug_taken', 'plan_limit_status_pages'],
});

export const getBeatAddress = innerOperation({
  id: 'getBeatAddress',
  access: 'read',
  faces: ['web', 'operator'],
  summary: 'Tell the address that a heartbeat monitor is pinged at',
  params: { monitor_id: uuid() },
  response: object('BeatAddressOut', { id: uuid(), address: string() }),
  refusals: ['monitor_not_found', 'not_a_heartbeat'],
});

const BeatOut = object('BeatOut', {
  id: uuid(),
  kind: string({ description: '`success`, `start`, `fail` or `log`.' }),
  at: dateTime(),
  exit_code: nullable(integer()),
  rid: nullable(uuid()),
  run_ms: nullable(integer(), { description: 'How long the run took that it ended.' }),
  method: string(),
  body: string(),
  taken_by: string({ description: 'The probe whose ear took it, or `coordinator`.' }),
});

export const listBeats = innerOperation({
  id: 'listBeats',
  access: 'read',
  faces: ['web', 'operator'],
  summary: 'List the last beats of a heartbeat monitor, newest first',
  params: { monitor_id: uuid() },
  response: object('BeatListOut', { items: array(BeatOut) }),
  refusals: ['monitor_not_found', 'not_a_heartbeat'],
});

export const rotateBeatAddress = innerOperation({
  id: 'rotateBeatAddress',
  access: 'write',
  faces: ['web', 'operator'],
  summary: 'Give a heartbeat monitor a new address; the old one goes on working for a day',
  params: { monitor_id: uuid() },
  response: object('RotatedBeatAddressOut', { id: uuid(), address: string(), old_until: dateTime() }),
  refusals: ['monitor_not_found', 'not_a_heartbeat'],
});

const EvidenceOut = object('EvidenceOut', {
  part: string({ description: '`seen`, `confirmed` or `matrix`.' }),
  continent: string(),
  probe: string(),
  at: dateTime(),
  outcome: string(),
  took_ms: number(),
  cause: nullable(string()),
  phases: nullable(dict()),
  evidence: nullable(dict()),
});

export const showIncident = innerOperation({
  id: 'showIncident',
  access: 'read',
  faces: ['web', 'operator'],
  summary: 'Show an incident with what the failing checks saw',
  params: { incident_id: uuid() },
  response: object('IncidentDetailsOut', {
    ...IncidentOut.shape,
    scope: nullable(string()),
    layer: nullable(string()),
    evidence: array(EvidenceOut),
  }),
  refusals: ['incident_not_found'],
});

const CredentialsOut = object('CredentialsOut', { id: uuid(), credentials: string() });
const probeId = { probe_id: uuid() };

export const createProbe = innerOperation({
  id: 'createProbe',
  access: 'manage',
  faces: ['operator'],
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
  faces: ['operator'],
  summary: 'Give a probe new credentials; the old ones work for another day',
  params: probeId,
  response: CredentialsOut,
  refusals: ['probe_not_found'],
});

export const revokeProbe = innerOperation({
  id: 'revokeProbe',
  access: 'manage',
  faces: ['operator'],
  summary: 'End a probe for good',
  params: probeId,
  response: object('RevokedProbeOut', { id: uuid() }),
  refusals: ['probe_not_found'],
});

export const listProbes = innerOperation({
  id: 'listProbes',
  access: 'manage',
  faces: ['operator'],
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

/** Done in an organisation, by somebody who may: what pages and the operator share. */
export const accountOperations = {
  createUser,
  setMemberRole,
  removeMember,
  createToken,
  revokeToken,
  createStatusPage,
  getBeatAddress,
  rotateBeatAddress,
  listBeats,
  showIncident,
} as const;

/** Done to the installation, by the operator alone. */
export const installationOperations = { createOrganisation, createProbe, rotateProbe, revokeProbe, listProbes } as const;
