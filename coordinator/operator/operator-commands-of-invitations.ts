import { operations } from '../../shared/api/api-index.ts';
import { rawInput } from '../../shared/api/api-operation.ts';
import { installationOperations } from '../../shared/api/inner/inner-index.ts';
import { operatorIn } from '../access/access-caller.ts';
import type { HouseCommand, OperatorCommand } from './operator-command.ts';
import { id, input, onInstallation, required, today } from './operator-command-parts.ts';

const invite: HouseCommand['run'] = async ({ gate, organisations }, given) => {
  const named = given.get('organisation');
  const flat = input(given, installationOperations.invitePublicProbe);
  if (named === undefined)
    return (
      await gate.executeForInstallation(installationOperations.invitePublicProbe, rawInput(installationOperations.invitePublicProbe, flat))
    ).body;
  const caller = operatorIn(await organisations.named(named));
  return (await gate.execute(operations.inviteProbe, caller, rawInput(operations.inviteProbe, flat))).body;
};

/** Hosts that are asked to become probes. */
export const commandsOfInvitations: readonly OperatorCommand[] = [
  {
    ...today,
    words: ['probe', 'invite'],
    what: 'Invite a host to be a probe: prints the line to type there; its token is good once, within the hour',
    flags: {
      name: required('what it is called'),
      continent: required('where it stands, such as Europe or "North America"'),
      organisation: { what: 'id or name of the organisation whose monitors alone it checks' },
    },
    run: invite,
  },
  {
    ...today,
    words: ['probe', 'invitations'],
    what: 'List the newest invitations of probes, with what came of them',
    flags: {},
    run: onInstallation(installationOperations.listAllProbeInvitations),
  },
  {
    ...today,
    words: ['probe', 'uninvite'],
    what: 'Take an invitation back that nobody has followed yet',
    flags: { id: id('invitation') },
    run: onInstallation(installationOperations.revokeAnyProbeInvitation, { probe_invitation_id: 'id' }),
  },
];
