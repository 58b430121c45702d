import { operations } from '../../shared/api/index.ts';
import { innerOperations, installationOperations } from '../../shared/api/inner/index.ts';
import { type Operation, rawInput } from '../../shared/api/operation.ts';
import { lossyNumberIn } from '../../shared/base/exact-numbers.ts';
import { operatorIn } from '../access/caller.ts';
import { type Command, type Flag, type Given, type OperatorParts, UsageFault } from './command.ts';

const required = (what: string): Flag => ({ what, required: true });

const organisation = required('id or name of the organisation');
const email = required('e-mail address of the user');
const id = (of: string): Flag => required(`id of the ${of}`);

const days: Flag = { what: 'how many days back; default 7' };
const oneOrAll: Command['flags'] = { id: { what: 'id of the message' }, all: { what: 'every one of them', alone: true } };

/** The flags as the operation's input, under the names that it uses. */
const input = (given: Given, names: Readonly<Record<string, string>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(names).flatMap(([flag, key]) => (given.has(flag) ? [[key, given.get(flag)]] : [])));

type Names = Readonly<Record<string, string>>;

/** Done in the organisation that --organisation names. */
const within =
  (operation: Operation, names: Names) =>
  async ({ gate, organisations }: OperatorParts, given: Given) => {
    const caller = operatorIn(await organisations.named(given.get('organisation') ?? ''));
    return (await gate.execute(operation, caller, rawInput(operation, input(given, names)))).body;
  };

/** Done in the organisation that owns what --id names. */
const upon =
  (kind: 'monitor' | 'incident' | 'token', operation: Operation, names: Names = {}) =>
  async ({ gate, organisations }: OperatorParts, given: Given) => {
    const caller = operatorIn(await organisations.owning(kind, given.get('id') ?? ''));
    return (await gate.execute(operation, caller, rawInput(operation, { ...input(given, names), [`${kind}_id`]: given.get('id') }))).body;
  };

const onInstallation =
  (operation: Operation, names: Names) =>
  async ({ gate }: OperatorParts, given: Given) =>
    (await gate.executeForInstallation(operation, rawInput(operation, input(given, names)))).body;

const configOf = (text: string | undefined): unknown => {
  if (text === undefined) return undefined;
  try {
    const config: unknown = JSON.parse(text);
    const lossy = lossyNumberIn(text);
    if (lossy === undefined) return config;
    throw new UsageFault(`--config: the number ${lossy.slice(0, 40)} is not kept exactly; write it as a text, in quotes.`);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new UsageFault(`--config is not JSON (${error.message}); write such as --config '{"method":"HEAD"}'.`);
  }
};

const createMonitor: Command['run'] = async ({ gate, organisations }, given) => {
  const config = configOf(given.get('config'));
  const caller = operatorIn(await organisations.named(given.get('organisation') ?? ''));
  const flat = {
    ...input(given, { type: 'type', target: 'target', name: 'name', 'interval-s': 'interval_s' }),
    ...(config === undefined ? {} : { config }),
  };
  return (await gate.execute(operations.createMonitor, caller, rawInput(operations.createMonitor, flat))).body;
};

const createProbe: Command['run'] = async ({ gate, organisations }, given) => {
  const named = given.get('organisation');
  const owner = named === undefined ? {} : { organisation: (await organisations.named(named)).id };
  const flat = { ...input(given, { name: 'name', continent: 'continent' }), ...owner };
  return (await gate.executeForInstallation(installationOperations.createProbe, rawInput(installationOperations.createProbe, flat))).body;
};

const today = { onToday: true } as const;

/** Every command of the operator: its words, its flags, and what it asks of the gate or the house. */
export const commands: readonly Command[] = [
  {
    ...today,
    words: ['organisation', 'create'],
    what: 'Create an organisation',
    flags: {
      name: required('what it is called'),
      plan: { what: 'free, team, business or self_hosted (default)' },
      'time-zone': { what: 'its IANA time zone; default UTC' },
    },
    run: onInstallation(installationOperations.createOrganisation, { name: 'name', plan: 'plan', 'time-zone': 'time_zone' }),
  },
  {
    ...today,
    words: ['user', 'create'],
    what: 'Create a user as a member of an organisation',
    flags: { email, password: required('at least 10 characters'), organisation, role: required('owner, admin, member or viewer') },
    run: within(innerOperations.createUser, { email: 'email', password: 'password', role: 'role' }),
  },
  {
    ...today,
    words: ['member', 'role'],
    what: 'Give a user another role in an organisation, which ends their tokens there',
    flags: { email, organisation, role: required('owner, admin, member or viewer') },
    run: within(innerOperations.setMemberRole, { email: 'email', role: 'role' }),
  },
  {
    ...today,
    words: ['member', 'remove'],
    what: 'Take a user out of an organisation, and their tokens with them',
    flags: { email, organisation },
    run: within(innerOperations.removeMember, { email: 'email' }),
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
    run: within(innerOperations.createToken, { email: 'email', name: 'name', scope: 'scope', 'expires-at': 'expires_at' }),
  },
  {
    ...today,
    words: ['token', 'revoke'],
    what: 'End an API token',
    flags: { id: id('token') },
    run: upon('token', innerOperations.revokeToken),
  },
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
    run: onInstallation(installationOperations.rotateProbe, { id: 'probe_id' }),
  },
  {
    ...today,
    words: ['probe', 'revoke'],
    what: 'End a probe for good',
    flags: { id: id('probe') },
    run: onInstallation(installationOperations.revokeProbe, { id: 'probe_id' }),
  },
  {
    ...today,
    words: ['probe', 'list'],
    what: 'List probes, revoked ones included',
    flags: {},
    run: onInstallation(installationOperations.listProbes, {}),
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
      config: { what: 'settings of the type, as JSON' },
    },
    run: createMonitor,
  },
  {
    ...today,
    words: ['monitor', 'beat-address'],
    what: 'Tell the address that a heartbeat monitor is pinged at',
    flags: { id: id('monitor') },
    run: upon('monitor', innerOperations.getBeatAddress),
  },
  {
    ...today,
    words: ['monitor', 'beats'],
    what: 'List the last beats of a heartbeat monitor, newest first, with what each said and how long its run took',
    flags: { id: id('monitor') },
    run: upon('monitor', innerOperations.listBeats),
  },
  {
    ...today,
    words: ['monitor', 'rotate-beat-address'],
    what: 'Give a heartbeat monitor a new address; the old one goes on working for a day, or for less',
    flags: { id: id('monitor'), 'overlap-s': { what: 'seconds that older addresses go on working; 0 ends one that has leaked at once' } },
    run: upon('monitor', innerOperations.rotateBeatAddress, { 'overlap-s': 'overlap_s' }),
  },
  {
    ...today,
    words: ['status-page', 'create'],
    what: 'Create a status page',
    flags: { organisation, name: required('its title'), slug: required('the last part of its address') },
    run: within(innerOperations.createStatusPage, { name: 'name', slug: 'slug' }),
  },
  {
    ...today,
    words: ['incident', 'show'],
    what: 'Show an incident with what the failing checks saw',
    flags: { id: id('incident') },
    run: upon('incident', innerOperations.showIncident),
  },
  {
    ...today,
    words: ['notice', 'list'],
    what: 'List what the house tells you: all that is open, with what to do, and what ended in the last days',
    flags: { days },
    run: onInstallation(installationOperations.listNotices, { days: 'days' }),
  },
  {
    ...today,
    words: ['refused', 'list'],
    what: 'List what was refused on the bus, by day, probe and reason',
    flags: { days, probe: { what: 'id of the only probe to tell of' } },
    run: onInstallation(installationOperations.listRefused, { days: 'days', probe: 'probe_id' }),
  },
  {
    ...today,
    words: ['set-aside', 'list'],
    what: 'List messages that could not be worked on',
    flags: {},
    run: onInstallation(installationOperations.listSetAside, {}),
  },
  {
    ...today,
    words: ['set-aside', 'show'],
    what: 'Show a message that could not be worked on, as it came',
    flags: { id: id('message') },
    run: onInstallation(installationOperations.showSetAside, { id: 'set_aside_id' }),
  },
  {
    ...today,
    words: ['set-aside', 'retry'],
    what: 'Have a message that could not be worked on worked on again, by the coordinators',
    flags: oneOrAll,
    run: onInstallation(installationOperations.retrySetAside, { id: 'set_aside_id', all: 'all' }),
  },
  {
    ...today,
    words: ['set-aside', 'drop'],
    what: 'Forget a message that could not be worked on: what it told is lost',
    flags: oneOrAll,
    run: onInstallation(installationOperations.dropSetAside, { id: 'set_aside_id', all: 'all' }),
  },
  {
    words: ['migrate'],
    what: "Bring the database to this version's schema",
    flags: {},
    onToday: false,
    run: async ({ migrate }) => ({ applied: await migrate() }),
  },
  {
    ...today,
    words: ['backup'],
    what: 'Write everything to one file, as it is at this moment',
    flags: { file: required('where to write it') },
    run: async ({ backup }, given, progress) => {
      const file = given.get('file') ?? '';
      return { file, ...(await backup(file, progress)) };
    },
  },
  {
    ...today,
    words: ['restore'],
    what: 'Put a backup into an empty database, while no coordinator works on it',
    flags: { file: required('the backup'), replace: { what: 'lose what the database holds now', alone: true } },
    run: async ({ restore }, given, progress) => {
      const file = given.get('file') ?? '';
      return { file, ...(await restore(file, given.has('replace'), progress)) };
    },
  },
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
