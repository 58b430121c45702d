import { continents } from '../base/continents.ts';
import {
  array,
  boolean,
  dateTime,
  integer,
  maybe,
  nullable,
  object,
  string,
  uuid,
} from './fields.ts';
import { exampleIds, operation, page, pageQuery } from './operation.ts';

/** What anyone who relies on a probe may know: its health, and reasons to trust it or not. */
export const trust = {
  id: uuid({ example: exampleIds.probe }),
  name: string({ meaning: 'Its name.', example: 'fra-1' }),
  continent: string({ meaning: 'The continent that it says it is on.', example: 'Europe' }),
  region: nullable(string(), {
    description:
      'Where on that continent a public probe is, as the operator says: `Europe/Frankfurt` is then a place.',
    example: 'Frankfurt',
  }),
  version: nullable(string(), {
    description: 'Its version, as it last said; null before it was heard.',
    example: '0.2.0',
  }),
  created_at: dateTime({ example: '2026-11-01T08:00:00.000Z' }),
  last_seen_at: nullable(dateTime(), {
    description: 'When it was last seen; null before it ever was.',
    example: '2026-11-18T04:12:09.000Z',
  }),
  quarantined: boolean({
    description: 'Whether its results count as unknown, because others contradict them.',
    example: false,
  }),
  quarantine_reason: nullable(string(), {
    description: 'Why it is quarantined.',
    example: null,
  }),
  location: string({
    description:
      '`not_proven`: nothing speaks against the continent that it claims; `doubted`: it cannot be there; `trusted`: the operator knows that it is there.',
    example: 'not_proven',
  }),
  doubt: nullable(string(), {
    description: 'Why it cannot be on the continent that it claims.',
    example: null,
  }),
  clock_offset_ms: nullable(integer(), {
    description: 'By how much it corrects the clock of its host.',
    example: -12,
  }),
  way: nullable(string(), {
    description: 'How it reaches the bus: `websocket` through `BASE_URL/bus`, or `tcp`.',
    example: 'websocket',
  }),
  origin_as: nullable(integer(), {
    description: 'The autonomous system of its network, as its host or the operator says.',
    example: 64500,
  }),
  refuted: integer(
    {},
    {
      description: 'Hosts that it saw failing while other continents saw them well.',
      example: 0,
    },
  ),
  targets: nullable(integer(), {
    description: 'Of how many hosts that is; null where nothing is refuted.',
    example: null,
  }),
};

/** For how long back a probe's checks are counted. */
export const countedMinutes = 10;

export const listProbes = operation({
  id: 'listProbes',
  method: 'GET',
  path: '/api/v1/probes',
  tag: 'Probes',
  access: 'read',
  summary: 'List the probes that check for you',
  description:
    'The public ones, and your private ones, by continent and name. A probe that is revoked is not listed.',
  query: pageQuery,
  response: page(
    'ProbePage',
    object('ProbeOut', {
      ...trust,
      private: boolean({ description: 'It checks for this organisation alone.', example: false }),
      place: nullable(
        object('ProbePlaceOut', {
          id: uuid({ example: exampleIds.probe }),
          name: string({ example: 'Office' }),
        }),
        {
          description:
            'Of a private one: the place whose monitors it shares; `config.probe` takes its id.',
          example: null,
        },
      ),
      state: string({
        description:
          '`well`, `lost` (not heard any more), `doubted`, `quarantined`, or `unseen` before it was ever heard.',
        example: 'well',
      }),
      kinds: array(string(), {
        description: 'The types of monitors that it can check.',
        example: ['https', 'dns', 'tcp', 'tls', 'icmp'],
      }),
      addresses: array(string(), {
        description:
          'Where the requests of a public probe come from, as in `/probes.json`; empty for a private one, and where the operator does not publish them.',
        example: ['203.0.113.20', '2001:db8::20'],
      }),
      monitors: integer(
        {},
        {
          description: `How many of your monitors it checked in the last ${countedMinutes} minutes.`,
          example: 42,
        },
      ),
      checks: integer({}, { description: 'How often.', example: 420 }),
      has_checked: boolean({
        description: 'It has handed in a result at some time.',
        example: true,
      }),
    }),
  ),
  columns: ['state', 'name', 'continent', 'private', 'version', 'last_seen_at', 'id'],
});

const invitation = {
  id: uuid({ example: exampleIds.invitation }),
  name: string({ example: 'Nairobi' }),
  continent: string({ example: 'Africa' }),
  region: nullable(string(), {
    description: 'Of a public probe: where on its continent it is to be.',
    example: null,
  }),
  place: nullable(uuid(), {
    description: 'The place that it joins; null for one of its own name that no other joins yet.',
    example: null,
  }),
  shown: string({ description: 'How the join token begins, to know it by.', example: 'svcj_4fTq' }),
  state: string({
    description: '`open`, `expired`, or `used` once a host has become the probe.',
    example: 'open',
  }),
  probe: nullable(uuid(), { description: 'The probe that came of it.', example: null }),
  last_seen_at: nullable(dateTime(), {
    description: 'When that probe was last seen.',
    example: null,
  }),
  created_at: dateTime({ example: '2026-11-20T12:00:00.000Z' }),
  expires_at: dateTime({
    meaning: 'When it ends; null for never.',
    example: '2026-11-20T13:00:00.000Z',
  }),
};

/**
 * Private probes of an organisation: inviting and revoking them. The probes of one place share its
 * monitors, and check for one another.
 */
export const ProbeInvitationOut = object('ProbeInvitationOut', invitation);

export const ProbeInvitationMadeOut = object('ProbeInvitationMadeOut', {
  ...invitation,
  token: string({
    description: 'The join token (`svcj_…`), good once within the hour. It is shown once.',
    example: 'svcj_4fTq0000000000000000000000000000000000000',
  }),
  command: string({
    description: 'What to type on the host that is to be the probe.',
    example:
      'curl -fsSO https://antipode.example.com/downloads/antipode-probe.mjs && node antipode-probe.mjs join https://antipode.example.com svcj_4fTq0000000000000000000000000000000000000',
  }),
});

const name = string({ minLength: 1, limits: { maxLength: 200 }, example: 'Nairobi' });
const continent = string({
  pattern: `^(?:${continents.join('|')})$`,
  description: 'Its location, such as `Europe` or `North America`.',
  example: 'Africa',
});

/** Public probes of one continent and region are a place; a private probe joins a place by name. */
export const region = maybe(string({ minLength: 1, limits: { maxLength: 80 } }), {
  description:
    'Where on its continent a public probe is, such as `Frankfurt` or `eu-central`: monitors can name that place.',
  example: 'Frankfurt',
});

/** What an invitation says of the future probe. */
export const invited = { name, continent };

export const inviteProbe = operation({
  id: 'inviteProbe',
  method: 'POST',
  path: '/api/v1/probes/invitations',
  tag: 'Probes',
  access: 'manage',
  dangerous: true,
  summary: 'Invite a private probe',
  description:
    'It then checks the monitors of this organisation alone. The probes of one place share its monitors, and when one is lost the others check them within 20 s: invite at least two. Open invitations count against the private probes of the plan.',
  body: object('ProbeInvitationIn', {
    name,
    continent: maybe(continent, {
      description: 'Where a place of its own is; a place that it joins knows its continent.',
    }),
    place: maybe(string({ minLength: 1, limits: { maxLength: 200 } }), {
      description:
        'The name or id of a place of yours that it joins, or the name of an open invitation, whose place it will share; without it, it makes one of its own name.',
      example: 'Office Nairobi',
    }),
  }),
  response: ProbeInvitationMadeOut,
  success: 201,
  refusals: [
    'name_invalid',
    'name_taken',
    'continent_unknown',
    'place_unknown',
    'plan_limit_private_probes',
  ],
});

export const listProbeInvitations = operation({
  id: 'listProbeInvitations',
  method: 'GET',
  path: '/api/v1/probes/invitations',
  tag: 'Probes',
  access: 'manage',
  does: 'looks',
  summary: 'List invitations of private probes',
  description: 'Newest first. An unused one is deleted a day after it expires.',
  query: pageQuery,
  response: page('ProbeInvitationPage', ProbeInvitationOut),
  columns: ['state', 'name', 'continent', 'expires_at', 'last_seen_at', 'shown', 'id'],
});

export const revokeProbeInvitation = operation({
  id: 'revokeProbeInvitation',
  method: 'DELETE',
  path: '/api/v1/probes/invitations/{probe_invitation_id}',
  tag: 'Probes',
  access: 'manage',
  summary: 'Revoke an invitation of a private probe',
  description:
    'Its join token is good for nothing from then on. One that was used is no invitation any more.',
  params: { probe_invitation_id: uuid() },
  refusals: ['invitation_not_found'],
});

/** A private probe, and the monitors that are left without a probe when it goes. */
const onlyByIt = {
  id: uuid({ example: exampleIds.invitation }),
  name: string({ example: 'Nairobi' }),
  continent: string({ example: 'Africa' }),
  monitors: array(
    object('MonitorOfProbeOut', {
      id: uuid({ example: exampleIds.monitor }),
      name: string({ example: 'Shop' }),
    }),
    {
      description:
        'Monitors that only this probe checks, as no other is in its place: by name, the first fifty.',
    },
  ),
  monitor_count: integer({}, { description: 'How many these are.', example: 1 }),
};

export const EndedProbeOut = object('EndedProbeOut', onlyByIt);

export const endProbe = operation({
  id: 'endProbe',
  method: 'DELETE',
  path: '/api/v1/probes/{probe_id}',
  tag: 'Probes',
  access: 'manage',
  summary: 'Delete a private probe',
  description:
    'Its credentials are void at once, and its host cannot come back as this probe. What it has seen stays. Its place goes on while it has another probe. Without one, its monitors are checked by nobody until they name another; the answer lists them.',
  params: { probe_id: uuid() },
  response: EndedProbeOut,
  refusals: ['probe_not_found'],
});
