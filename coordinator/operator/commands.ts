import { testChannel } from '../../shared/api/channels.ts';
import { operations } from '../../shared/api/index.ts';
import { removeMember, setMemberRole } from '../../shared/api/members.ts';
import { listMessages } from '../../shared/api/notifications.ts';
import { rawInput } from '../../shared/api/operation.ts';
import { getMonitorPings } from '../../shared/api/results.ts';
import { listTokens, revokeToken } from '../../shared/api/tokens.ts';
import { UsageFault } from '../../shared/base/env.ts';
import { isRecord } from '../../shared/base/json.ts';
import { alone, flag } from '../../shared/client/arguments.ts';
import { operatorIn } from '../gate/caller.ts';
import { getPingAddress, rotatePingAddress } from '../monitors/contract.ts';
import { endOrganisation } from '../offboarding/contract.ts';
import { createOrganisation, createUser } from '../organisations/contract.ts';
import { createSignInLink } from '../people/contract.ts';
import {
  createProbe,
  invitePublicProbe,
  listAllProbeInvitations,
  listAllProbes,
  revokeAnyProbeInvitation,
  revokeProbe,
  rotateProbe,
  setProbeRegion,
  trustProbe,
} from '../probes/contract.ts';
import { createToken } from '../tokens/contract.ts';
import { keepOrganisation } from '../web/contract.ts';
import {
  type Action,
  type InstallationCommand,
  inputFlags,
  type OperatorCommand,
  onInstallation,
  onMember,
  onObject,
  textIn,
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

const optionalOrganisation = flag(
  'organisation',
  'id or name of the organisation; the probe checks only its monitors',
);

const oneOrAll = { names: { set_aside_id: 'id' } };

/**
 * Every command of the operator. Flags and what it does come from the operation, unless they are
 * given here.
 */
export const commands: readonly OperatorCommand[] = [
  command('organisation create', onInstallation(createOrganisation)),
  command('organisation list', onInstallation(listOrganisations)),
  command('organisation delete', within(endOrganisation)),
  command('organisation keep', within(keepOrganisation)),
  command('user create', within(createUser)),
  command('user sign-in-link', {
    what: 'Create a link that signs a user in once, without password or second step; it is good for an hour',
    flags: [
      ...inputFlags(createSignInLink).filter(({ key }) => key !== 'made_for'),
      flag(
        'for-start',
        'good until it is used or the next such link is made, as npm start prints it',
        alone,
      ),
    ],
    run: async ({ gate }, input) => {
      const made_for = input['for-start'] === true ? 'start' : 'operator';
      return (
        await gate.executeForInstallation(
          createSignInLink,
          rawInput(createSignInLink, { ...input, made_for }),
        )
      ).body;
    },
  }),
  command('user mark', onInstallation(markOperator)),
  command('user unmark', onInstallation(unmarkOperator)),
  command('member role', onMember(setMemberRole)),
  command('member remove', onMember(removeMember)),
  command('token create', within(createToken, { required: ['email'] })),
  command(
    'token list',
    within(listTokens, { always: { limit: 200 } }),
    'List the API tokens of an organisation, the newest first; never the tokens',
  ),
  command('token revoke', onObject('token', revokeToken)),
  command(
    'channel create',
    within(operations.createChannel),
    'Create a channel of an organisation; the secret of a webhook is shown once',
  ),
  command('channel list', within(operations.listChannels), 'List the channels of an organisation'),
  command('channel test', onObject('channel', testChannel)),
  command(
    'channel remove',
    onObject('channel', operations.deleteChannel),
    'Delete a channel; its sent messages stay',
  ),
  command('alert list', within(listMessages)),
  ...commandsOfTheBus,
  ...commandsOfKeys,
  command('probe invite', {
    what: 'Invite a host to be a probe: prints the line to type there; its token is good once, within the hour',
    flags: [
      ...inputFlags(invitePublicProbe),
      optionalOrganisation,
      flag(
        'ca',
        'file on that host with the authority that signed our certificate, where the host does not trust it anyway',
      ),
    ],
    run: async ({ gate, organisations }, input) => {
      const [named, ca] = [textIn(input, 'organisation'), textIn(input, 'ca')];
      if (named === undefined)
        return naming(
          (await gate.executeForInstallation(invitePublicProbe, rawInput(invitePublicProbe, input)))
            .body,
          ca,
        );
      if (textIn(input, 'region') !== undefined)
        throw new UsageFault('--region is for public probes; leave it out with --organisation.');
      const caller = operatorIn(await organisations.named(named));
      return naming(
        (
          await gate.execute(
            operations.inviteProbe,
            caller,
            rawInput(operations.inviteProbe, input),
          )
        ).body,
        ca,
      );
    },
  }),
  command('probe invitations', onInstallation(listAllProbeInvitations)),
  command(
    'probe uninvite',
    onInstallation(revokeAnyProbeInvitation),
    'Take an invitation back that no one has followed yet',
  ),
  command('probe create', {
    what: 'Create a probe; its credentials are shown once',
    flags: [
      ...inputFlags(createProbe).filter(({ key }) => key !== 'organisation'),
      optionalOrganisation,
    ],
    run: async ({ gate, organisations }, input) => {
      const named = textIn(input, 'organisation');
      const owner =
        named === undefined ? {} : { organisation: (await organisations.named(named)).id };
      return (
        await gate.executeForInstallation(
          createProbe,
          rawInput(createProbe, { ...input, ...owner }),
        )
      ).body;
    },
  }),
  command('probe rotate', onInstallation(rotateProbe)),
  command('probe revoke', onInstallation(revokeProbe)),
  command(
    'probe trust',
    unlessTakenBack(trustProbe, 'is_trusted', 'say it no more: the probe is measured again'),
    'Confirm that a probe is on the continent that it claims, which ends all doubt about it',
  ),
  command('probe region', onInstallation(setProbeRegion)),
  command('probe list', onInstallation(listAllProbes)),
  command('monitor create', within(operations.createMonitor)),
  command('monitor beat-address', onObject('monitor', getPingAddress)),
  command('monitor beats', onObject('monitor', getMonitorPings)),
  command('monitor rotate-beat-address', onObject('monitor', rotatePingAddress)),
  command('status-page create', within(operations.createStatusPage)),
  command(
    'incident show',
    onObject('incident', operations.getIncidentEvidence),
    'Show an incident with what the failing checks saw',
  ),
  command(
    'incident false',
    unlessTakenBack(sayOutageFalse, 'is_false', 'say that it was one after all'),
    'Say of a confirmed outage that there was none; /about counts it',
  ),
  command('notice list', onInstallation(listNotices)),
  command('refused list', onInstallation(listRefused, { names: { probe_id: 'probe' } })),
  command('set-aside list', onInstallation(listSetAside)),
  command('set-aside show', onInstallation(showSetAside)),
  command('set-aside retry', onInstallation(retrySetAside, oneOrAll)),
  command('set-aside drop', onInstallation(dropSetAside, oneOrAll)),
  {
    words: ['migrate'],
    what: "Bring the database to this version's schema",
    flags: [],
    onAnySchema: true,
    run: async ({ migrate }) => ({ applied: await migrate() }),
  },
  ...commandsOfBackups,
  {
    words: ['key', 'rotate'],
    what: 'Encrypt all secrets under a new key',
    flags: [],
    run: ({ rotateKey }) => rotateKey(),
  },
  {
    words: ['secret-key', 'replace'],
    what: 'Put everything under the new SECRET_KEY, while SECRET_KEY_PREVIOUS holds the one before it',
    flags: [],
    run: ({ replaceSecretKey }, _input, progress) => {
      if (replaceSecretKey) return replaceSecretKey(progress);
      throw new UsageFault(
        'SECRET_KEY_PREVIOUS is not set: restart all coordinators with the new SECRET_KEY and the old one as SECRET_KEY_PREVIOUS, then run this with the same.',
      );
    },
  },
];

function command(words: string, action: Action, what = action.what): InstallationCommand {
  return {
    ...action,
    words: words.split(' '),
    what,
  };
}

/** Says that something is so, or with --take-back that it is not. */
function unlessTakenBack(
  operation: typeof trustProbe | typeof sayOutageFalse,
  key: string,
  hint: string,
): Action {
  return {
    what: operation.summary,
    flags: [
      ...inputFlags(operation).filter((one) => one.key !== key),
      flag('take-back', hint, alone),
    ],
    run: async ({ gate }, input) =>
      (
        await gate.executeForInstallation(
          operation,
          rawInput(operation, { ...input, [key]: input['take-back'] !== true }),
        )
      ).body,
  };
}

/** The command for a host that knows our certificate authority only from a file. */
function naming(invited: unknown, ca: string | undefined): unknown {
  if (ca === undefined || !isRecord(invited) || typeof invited.command !== 'string') return invited;
  const file = shellWord(ca);
  return {
    ...invited,
    command: invited.command
      .replace('curl ', `curl --cacert ${file} `)
      .replace(' join ', ` join --ca ${file} `),
  };
}

/** The host's own shell expands its home; a name that begins like a flag is excluded. */
function shellWord(path: string): string {
  const plain = path.startsWith('-') ? `./${path}` : path;
  return /^~?[\w./-]+$/.test(plain) ? plain : `'${plain.replaceAll("'", "'\\''")}'`;
}
