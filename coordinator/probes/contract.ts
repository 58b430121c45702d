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

/** What anyone who relies on a probe may know: its health, and reasons to trust it or not. */
const trust = {
  id: uuid(),
  name: string(),
  continent: string(),
  version: nullable(string()),
  created_at: dateTime(),
  last_seen_at: nullable(dateTime()),
  quarantined: boolean(),
  quarantine_reason: nullable(string()),
  location: string({
    description:
      '`not_proven`: nothing speaks against the continent that it claims; `doubted`: it cannot be there; `trusted`: the operator knows that it is there.',
  }),
  doubt: nullable(string(), { description: 'Why it cannot be on the continent that it claims.' }),
  clock_offset_ms: nullable(integer(), {
    description: 'By how much it corrects the clock of its host.',
  }),
  refuted: integer(
    {},
    { description: 'Hosts that it saw failing while other continents saw them well.' },
  ),
  targets: nullable(integer(), {
    description: 'Of how many hosts that is; null where nothing is refuted.',
  }),
};

export const listProbes = operatorOperation({
  id: 'listProbes',
  access: 'manage',
  does: 'looks',
  summary: 'List probes, revoked ones included',
  response: object('ProbeListOut', {
    items: array(
      object('ProbeOut', {
        ...trust,
        organisation: nullable(uuid()),
        revoked_at: nullable(dateTime()),
      }),
    ),
    count: integer(),
  }),
});

/** For how long back a probe's checks are counted. */
export const countedMinutes = 10;

export const listCheckers = innerOperation({
  id: 'listCheckers',
  access: 'read',
  summary:
    'List the public and private probes of the organisation by continent, with health and trust',
  response: object('CheckersOut', {
    items: array(
      object('CheckerOut', {
        ...trust,
        private: boolean({ description: 'It checks for this organisation alone.' }),
        place: nullable(object('CheckerPlaceOut', { id: uuid(), name: string() }), {
          description: 'Of a private one: the place whose monitors it shares.',
        }),
        state: string({ description: '`well`, `lost`, `doubted`, `quarantined` or `unseen`.' }),
        monitors: integer(
          {},
          {
            description:
              'How many monitors of the organisation it checked in the last ten minutes.',
          },
        ),
        checks: integer({}, { description: 'How often.' }),
        has_checked: boolean({ description: 'It has handed in a result at some time.' }),
      }),
    ),
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
  body: object('PublicProbeInvitationIn', invited),
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
    nats_tls_first: boolean(),
    nats_ca: nullable(string()),
    jwt: string(),
    base_url: string(),
    anchors: array(string()),
    signing_keys: array(string()),
    require_signed: boolean(),
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
