import { operations } from '../../shared/api/index.ts';
import { rawInput } from '../../shared/api/operation.ts';
import { UsageFault } from '../../shared/base/env.ts';
import { isRecord } from '../../shared/base/json.ts';
import { operatorIn } from '../gate/caller.ts';
import { getPingAddress, listBeats, rotatePingAddress } from '../monitors/contract.ts';
import { listMessages, testChannel } from '../notifications/contract.ts';
import {
  createOrganisation,
  createUser,
  endOrganisation,
  keepOrganisation,
  removeMember,
  setMemberRole,
} from '../organisations/contract.ts';
import { createSignInLink } from '../people/contract.ts';
import {
  createProbe as createProbeOperation,
  invitePublicProbe,
  listAllProbeInvitations,
  listProbes,
  revokeAnyProbeInvitation,
  revokeProbe,
  rotateProbe,
  trustProbe,
} from '../probes/contract.ts';
import { createToken, listTokens, revokeToken } from '../tokens/contract.ts';
import {
  configOf,
  days,
  email,
  type InstallationCommand,
  id,
  input,
  type OperatorCommand,
  oneOrAll,
  onInstallation,
  organisation,
  required,
  today,
  upon,
  within,
} from './command.ts';
import {
  dropSetAside,
  listNotices,
  listOrganisations,
  listRefused,
  listSetAside,
  markOperator,
  retrySetAside,
  sayOutageFalse,
  showSetAside,
  unmarkOperator,
} from './contract.ts';
import { commandsOfBackups, commandsOfKeys, commandsOfTheBus } from './installation-commands.ts';

const createChannel: InstallationCommand['run'] = async ({ gate, organisations }, given) => {
  const config = configOf(given.get('config'), '{"address":"ada@example.org"}');
  const caller = operatorIn(await organisations.named(given.get('organisation') ?? ''));
  const flat = { ...input(given, operations.createChannel), config };
  return (await gate.execute(operations.createChannel, caller, rawInput(operations.createChannel, flat))).body;
};

/** Recipients and notifications. */
export const commandsOfChannels: readonly OperatorCommand[] = [
  {
    ...today,
    words: ['channel', 'create'],
    what: 'Create a channel of an organisation, for all its monitors; the secret of a webhook is shown once',
    flags: {
      organisation,
      kind: required('such as email, slack or webhook; a wrong one is answered with all of them'),
      config: required('what the kind asks for, as JSON'),
      name: { what: 'what it is called' },
      'delay-s': { what: 'told so many seconds later, if the incident is then still open and not acknowledged' },
      'reminder-s': { what: 'reminded after so many seconds, then at doubling distances' },
    },
    run: createChannel,
  },
  {
    ...today,
    words: ['channel', 'list'],
    what: 'List the channels of an organisation',
    flags: { organisation },
    run: within(operations.listChannels),
  },
  {
    ...today,
    words: ['channel', 'test'],
    what: 'Send a message to a channel, and show what it answers',
    flags: { id: id('channel') },
    run: upon('channel', testChannel),
  },
  {
    ...today,
    words: ['channel', 'remove'],
    what: 'Delete a channel; what it told stays',
    flags: { id: id('channel') },
    run: upon('channel', operations.deleteChannel),
  },
  {
    ...today,
    words: ['alert', 'list'],
    what: 'List the last hundred messages of an organisation, with every attempt and its answer',
    flags: { organisation, channel: { what: 'id of the only channel to tell of' } },
    run: within(listMessages),
  },
];

/** The host's own shell expands its home; a name that begins like a flag is excluded. */
const shellWord = (path: string): string => {
  const plain = path.startsWith('-') ? `./${path}` : path;
  return /^~?[\w./-]+$/.test(plain) ? plain : `'${plain.replaceAll("'", "'\\''")}'`;
};

/** The command for a host that knows our certificate authority only from a file. */
const naming = (invited: unknown, ca: string | undefined): unknown => {
  if (ca === undefined || !isRecord(invited) || typeof invited.command !== 'string') return invited;
  const file = shellWord(ca);
  return { ...invited, command: invited.command.replace('curl ', `curl --cacert ${file} `).replace(' join ', ` join --ca ${file} `) };
};

const invite: InstallationCommand['run'] = async ({ gate, organisations }, given) => {
  const [named, ca] = [given.get('organisation'), given.get('ca')];
  const flat = input(given, invitePublicProbe);
  if (named === undefined)
    return naming((await gate.executeForInstallation(invitePublicProbe, rawInput(invitePublicProbe, flat))).body, ca);
  const caller = operatorIn(await organisations.named(named));
  return naming((await gate.execute(operations.inviteProbe, caller, rawInput(operations.inviteProbe, flat))).body, ca);
};

/** Invitations for hosts to become probes. */
export const commandsOfInvitations: readonly OperatorCommand[] = [
  {
    ...today,
    words: ['probe', 'invite'],
    what: 'Invite a host to be a probe: prints the line to type there; its token is good once, within the hour',
    flags: {
      name: required('what it is called'),
      continent: required('where it stands, such as Europe or "North America"'),
      organisation: { what: 'id or name of the organisation whose monitors alone it checks' },
      ca: { what: 'file on that host with the authority that signed our certificate, where the host does not trust it anyway' },
    },
    run: invite,
  },
  {
    ...today,
    words: ['probe', 'invitations'],
    what: 'List the newest invitations of probes, with what came of them',
    flags: {},
    run: onInstallation(listAllProbeInvitations),
  },
  {
    ...today,
    words: ['probe', 'uninvite'],
    what: 'Take an invitation back that nobody has followed yet',
    flags: { id: id('invitation') },
    run: onInstallation(revokeAnyProbeInvitation, { probe_invitation_id: 'id' }),
  },
];

/** Users, members and their tokens. */
export const commandsOfPeople: readonly OperatorCommand[] = [
  {
    ...today,
    words: ['user', 'create'],
    what: 'Create a user as a member of an organisation',
    flags: { email, password: required('at least 10 characters'), organisation, role: required('owner, admin, member or viewer') },
    run: within(createUser),
  },
  {
    ...today,
    words: ['user', 'sign-in-link'],
    what: 'Make a link that signs a user in once, without password or second step; it is good for an hour',
    flags: { email, 'for-start': { what: 'good until it is used or the next such link is made, as npm start prints it', alone: true } },
    run: ({ gate }, given) => {
      const operation = createSignInLink;
      const flat = { email: given.get('email'), made_for: given.has('for-start') ? 'start' : 'operator' };
      return gate.executeForInstallation(operation, rawInput(operation, flat)).then(({ body }) => body);
    },
  },
  {
    ...today,
    words: ['user', 'mark'],
    what: 'Let a user see the operator’s page: organisations, probes, notices, refused, set aside, figures',
    flags: { email },
    run: onInstallation(markOperator),
  },
  {
    ...today,
    words: ['user', 'unmark'],
    what: 'Take the operator’s page from a user, from their next request on',
    flags: { email },
    run: onInstallation(unmarkOperator),
  },
  {
    ...today,
    words: ['member', 'role'],
    what: 'Give a user another role in an organisation, which ends their tokens there',
    flags: { email, organisation, role: required('owner, admin, member or viewer') },
    run: within(setMemberRole),
  },
  {
    ...today,
    words: ['member', 'remove'],
    what: 'Take a user out of an organisation, and their tokens with them',
    flags: { email, organisation },
    run: within(removeMember),
  },
  {
    ...today,
    words: ['token', 'create'],
    what: 'Create an API token of a member; it is shown once',
    flags: {
      email,
      organisation,
      name: required('what the token is for'),
      scope: required('read or read_write'),
      'expires-at': { what: 'when it ends; default never' },
    },
    run: within(createToken),
  },
  {
    ...today,
    words: ['token', 'list'],
    what: 'List the API tokens of an organisation, the newest first: whose, for what, last used when; never the tokens',
    flags: { organisation, cursor: { what: 'what an earlier list gave as next_cursor' } },
    run: within(listTokens, { limit: 200 }),
  },
  {
    ...today,
    words: ['token', 'revoke'],
    what: 'End an API token',
    flags: { id: id('token') },
    run: upon('token', revokeToken),
  },
];

const createMonitor: InstallationCommand['run'] = async ({ gate, organisations }, given) => {
  const config = configOf(given.get('config'), '{"method":"HEAD"}');
  const caller = operatorIn(await organisations.named(given.get('organisation') ?? ''));
  const flat = {
    ...input(given, operations.createMonitor),
    ...(config === undefined ? {} : { config }),
  };
  return (await gate.execute(operations.createMonitor, caller, rawInput(operations.createMonitor, flat))).body;
};

const createProbe: InstallationCommand['run'] = async ({ gate, organisations }, given) => {
  const named = given.get('organisation');
  const owner = named === undefined ? {} : { organisation: (await organisations.named(named)).id };
  const flat = { ...input(given, createProbeOperation), ...owner };
  return (await gate.executeForInstallation(createProbeOperation, rawInput(createProbeOperation, flat))).body;
};

/**
 * Every command of the operator: its words, its flags, and its calls of the gate or the
 * installation.
 */
export const commands: readonly OperatorCommand[] = [
  {
    ...today,
    words: ['organisation', 'create'],
    what: 'Create an organisation',
    flags: {
      name: required('what it is called'),
      plan: { what: 'free, team, business or self_hosted (default)' },
      'time-zone': { what: 'its IANA time zone; default UTC' },
    },
    run: onInstallation(createOrganisation),
  },
  {
    ...today,
    words: ['organisation', 'list'],
    what: 'List the organisations, by name, a page at a time; those that are about to be deleted say when',
    flags: { cursor: { what: 'next_cursor of the page before' } },
    run: onInstallation(listOrganisations),
  },
  {
    ...today,
    words: ['organisation', 'delete'],
    what: 'Delete an organisation in seven days, with all that belongs to it; its owners hear of it at once',
    flags: { organisation, name: required('what it is called, to be sure') },
    run: within(endOrganisation),
  },
  {
    ...today,
    words: ['organisation', 'keep'],
    what: 'Undo the deletion of an organisation: everything is as it was',
    flags: { organisation },
    run: within(keepOrganisation),
  },
  ...commandsOfPeople,
  ...commandsOfChannels,
  ...commandsOfTheBus,
  ...commandsOfKeys,
  ...commandsOfInvitations,
  {
    ...today,
    words: ['probe', 'create'],
    what: 'Create a probe; its credentials are shown once',
    flags: {
      name: required('what it is called'),
      continent: required('where it stands, such as Europe or "North America"'),
      organisation: { what: 'id or name of the organisation whose monitors alone it checks' },
    },
    run: createProbe,
  },
  {
    ...today,
    words: ['probe', 'rotate'],
    what: 'Give a probe new credentials; the old ones work for another day',
    flags: { id: id('probe') },
    run: onInstallation(rotateProbe, { probe_id: 'id' }),
  },
  {
    ...today,
    words: ['probe', 'revoke'],
    what: 'End a probe for good',
    flags: { id: id('probe') },
    run: onInstallation(revokeProbe, { probe_id: 'id' }),
  },
  {
    ...today,
    words: ['probe', 'trust'],
    what: 'Say that a probe stands on the continent that it claims: a doubt ends, and comes up no more',
    flags: { id: id('probe'), 'take-back': { what: 'say it no more: the probe is measured again', alone: true } },
    run: async ({ gate }, given) => {
      const flat = { probe_id: given.get('id'), is_trusted: !given.has('take-back') };
      return (await gate.executeForInstallation(trustProbe, rawInput(trustProbe, flat))).body;
    },
  },
  {
    ...today,
    words: ['probe', 'list'],
    what: 'List probes, revoked ones included',
    flags: {},
    run: onInstallation(listProbes),
  },
  {
    ...today,
    words: ['monitor', 'create'],
    what: 'Create a monitor',
    flags: {
      organisation,
      type: required('https, dns or heartbeat'),
      target: { what: 'what is watched; a heartbeat needs none' },
      name: { what: 'what it is called; default the host of the target' },
      'interval-s': { what: 'seconds between checks' },
      config: { what: 'settings of the type, as JSON; every key stands at /api/v1/docs#config' },
    },
    run: createMonitor,
  },
  {
    ...today,
    words: ['monitor', 'beat-address'],
    what: 'Tell the address that a heartbeat monitor is pinged at',
    flags: { id: id('monitor') },
    run: upon('monitor', getPingAddress),
  },
  {
    ...today,
    words: ['monitor', 'beats'],
    what: 'List the last beats of a heartbeat monitor, newest first, with what each said and how long its run took',
    flags: { id: id('monitor') },
    run: upon('monitor', listBeats),
  },
  {
    ...today,
    words: ['monitor', 'rotate-beat-address'],
    what: 'Give a heartbeat monitor a new address; the old one goes on working for a day, or for less',
    flags: { id: id('monitor'), 'overlap-s': { what: 'seconds that older addresses go on working; 0 ends one that has leaked at once' } },
    run: upon('monitor', rotatePingAddress),
  },
  {
    ...today,
    words: ['status-page', 'create'],
    what: 'Create a status page',
    flags: { organisation, name: required('its title'), slug: required('the last part of its address') },
    run: within(operations.createStatusPage),
  },
  {
    ...today,
    words: ['incident', 'show'],
    what: 'Show an incident with what the failing checks saw',
    flags: { id: id('incident') },
    run: upon('incident', operations.getIncidentEvidence),
  },
  {
    ...today,
    words: ['incident', 'false'],
    what: 'Say of a confirmed outage that there was none; /about counts it',
    flags: { id: id('incident'), 'take-back': { what: 'say that it was one after all', alone: true } },
    run: async ({ gate }, given) => {
      const flat = { incident_id: given.get('id'), is_false: !given.has('take-back') };
      return (await gate.executeForInstallation(sayOutageFalse, rawInput(sayOutageFalse, flat))).body;
    },
  },
  {
    ...today,
    words: ['notice', 'list'],
    what: 'List what the house tells you: all that is open, with what to do, and what ended in the last days',
    flags: { days },
    run: onInstallation(listNotices),
  },
  {
    ...today,
    words: ['refused', 'list'],
    what: 'List what was refused on the bus, by day, probe and reason',
    flags: { days, probe: { what: 'id of the only probe to tell of' } },
    run: onInstallation(listRefused, { probe_id: 'probe' }),
  },
  {
    ...today,
    words: ['set-aside', 'list'],
    what: 'List messages that could not be worked on',
    flags: {},
    run: onInstallation(listSetAside),
  },
  {
    ...today,
    words: ['set-aside', 'show'],
    what: 'Show a message that could not be worked on, as it came',
    flags: { id: id('message') },
    run: onInstallation(showSetAside, { set_aside_id: 'id' }),
  },
  {
    ...today,
    words: ['set-aside', 'retry'],
    what: 'Have a message that could not be worked on worked on again, by the coordinators',
    flags: oneOrAll,
    run: onInstallation(retrySetAside, { set_aside_id: 'id' }),
  },
  {
    ...today,
    words: ['set-aside', 'drop'],
    what: 'Forget a message that could not be worked on: what it told is lost',
    flags: oneOrAll,
    run: onInstallation(dropSetAside, { set_aside_id: 'id' }),
  },
  {
    words: ['migrate'],
    what: "Bring the database to this version's schema",
    flags: {},
    onToday: false,
    run: async ({ migrate }) => ({ applied: await migrate() }),
  },
  ...commandsOfBackups,
  {
    ...today,
    words: ['key', 'rotate'],
    what: 'Encrypt all secrets under a new key',
    flags: {},
    run: ({ rotateKey }) => rotateKey(),
  },
  {
    ...today,
    words: ['secret-key', 'replace'],
    what: 'Put everything under the new SECRET_KEY, while SECRET_KEY_PREVIOUS holds the one before it',
    flags: {},
    run: ({ replaceSecretKey }, _given, progress) => {
      if (replaceSecretKey) return replaceSecretKey(progress);
      throw new UsageFault(
        'SECRET_KEY_PREVIOUS is not set: restart all coordinators with the new SECRET_KEY and the old one as SECRET_KEY_PREVIOUS, then run this with the same.',
      );
    },
  },
];
