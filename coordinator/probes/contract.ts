import {
  array,
  boolean,
  dateTime,
  integer,
  maybe,
  nullable,
  object,
  optional,
  string,
  uuid,
} from '../../shared/api/fields.ts';
import {
  anonymousOperation,
  innerOperation,
  installationOperation,
  operatorOperation,
} from '../../shared/api/operation.ts';
import {
  EndedProbeOut,
  invited,
  ProbeInvitationMadeOut,
  ProbeInvitationOut,
  region,
  trust,
} from '../../shared/api/probes.ts';

/**
 * The probes of the installation, public and private.
 *
 * Operations that only pages and operators call, with who may (`access`). Those of the API are in
 * `shared/api/`.
 */

const CredentialsOut = object('CredentialsOut', { id: uuid(), credentials: string() });
const probeId = { probe_id: uuid() };

export const createProbe = installationOperation({
  id: 'createProbe',
  access: 'manage',
  summary: 'Create a probe; its credentials are shown once',
  body: object('ProbeIn', {
    name: string(),
    continent: string({ description: 'Its location, such as `Europe` or `North America`.' }),
    region,
    organisation: maybe(uuid(), {
      description: "The organisation whose monitors alone it checks; without it everybody's.",
    }),
  }),
  response: CredentialsOut,
  refusals: [
    'name_invalid',
    'name_taken',
    'continent_unknown',
    'organisation_not_found',
    'plan_limit_private_probes',
  ],
});

export const rotateProbe = installationOperation({
  id: 'rotateProbe',
  access: 'manage',
  summary: 'Give a probe new credentials; the old ones work for another day',
  params: probeId,
  response: CredentialsOut,
  refusals: ['probe_not_found'],
});

export const revokeProbe = installationOperation({
  id: 'revokeProbe',
  access: 'manage',
  summary: 'Revoke a probe',
  params: probeId,
  response: object('RevokedProbeOut', { id: uuid() }),
  refusals: ['probe_not_found'],
});

export const trustProbe = installationOperation({
  id: 'trustProbe',
  access: 'manage',
  summary:
    'Confirm that a probe is on the continent that it claims, or undo that; this ends all doubt about it',
  params: probeId,
  body: object('TrustProbeIn', { is_trusted: optional(boolean(), true) }),
  response: object('TrustedProbeOut', {
    id: uuid(),
    name: string(),
    continent: string(),
    is_trusted: boolean(),
  }),
  refusals: ['probe_not_found'],
});

export const setProbeRegion = installationOperation({
  id: 'setProbeRegion',
  access: 'manage',
  summary: 'Set where on its continent a public probe is; without a region, nobody says so',
  params: probeId,
  body: object('ProbeRegionIn', { region }),
  response: object('ProbeRegionOut', {
    id: uuid(),
    name: string(),
    continent: string(),
    region: nullable(string()),
  }),
  refusals: ['probe_not_found', 'name_invalid'],
});

export const listAllProbes = operatorOperation({
  id: 'listAllProbes',
  access: 'manage',
  does: 'looks',
  summary: 'List all probes, revoked ones included',
  response: object('ProbeListOut', {
    items: array(
      object('AnyProbeOut', {
        ...trust,
        organisation: nullable(uuid()),
        revoked_at: nullable(dateTime()),
      }),
    ),
    count: integer(),
  }),
});

export const showOwnProbe = innerOperation({
  id: 'showOwnProbe',
  access: 'manage',
  does: 'looks',
  summary: 'Get a private probe, with the monitors that only it checks',
  params: probeId,
  response: object('OwnProbeOut', EndedProbeOut.shape),
  refusals: ['probe_not_found'],
});

export const invitePublicProbe = installationOperation({
  id: 'invitePublicProbe',
  access: 'manage',
  summary: 'Invite a host to be a public probe; the join token is shown once',
  body: object('PublicProbeInvitationIn', { ...invited, region }),
  response: ProbeInvitationMadeOut,
  refusals: ['name_invalid', 'name_taken', 'continent_unknown'],
});

export const listAllProbeInvitations = installationOperation({
  id: 'listAllProbeInvitations',
  access: 'manage',
  does: 'looks',
  summary: 'List the newest invitations of probes, public and private, with their state',
  response: object('AllProbeInvitationsOut', {
    items: array(
      object('OwnedProbeInvitationOut', {
        ...ProbeInvitationOut.shape,
        organisation: nullable(uuid()),
      }),
    ),
  }),
});

export const revokeAnyProbeInvitation = installationOperation({
  id: 'revokeAnyProbeInvitation',
  access: 'manage',
  summary: 'Revoke an invitation of a probe',
  params: { probe_invitation_id: uuid() },
  response: object('RevokedProbeInvitationOut', { id: uuid() }),
  refusals: ['invitation_not_found'],
});

/** All that a host needs to be a probe. It makes its keys itself, and no one else has them. */
export const enrolProbe = anonymousOperation({
  id: 'enrolProbe',
  access: 'read',
  does: 'acts',
  summary: 'Join as a probe with a join token',
  body: object('EnrolmentIn', {
    token: string(),
    key: string({ description: 'The public key that the host made.' }),
    proof: string({ description: 'The token, signed with that key.' }),
  }),
  response: object('EnrolmentOut', {
    probe: uuid(),
    name: string(),
    continent: string(),
    organisation: nullable(uuid()),
    nats_url: string(),
    nats_ca: nullable(string()),
    jwt: string(),
    base_url: string(),
    anchors: array(string()),
    signing_keys: array(string()),
    now: integer({}, { description: 'The time, in milliseconds.' }),
  }),
  refusals: [
    'join_token_invalid',
    'join_token_expired',
    'join_token_used',
    'join_proof_invalid',
    'name_taken',
    'too_many_attempts',
  ],
});
