import { operations } from '../../shared/api/index.ts';
import { installationOperations } from '../../shared/api/inner/inner-index.ts';
import { rawInput } from '../../shared/api/operation.ts';
import { isRecord } from '../../shared/base/json.ts';
import { operatorIn } from '../access/access-caller.ts';
import type { HouseCommand, OperatorCommand } from './operator-command.ts';
import { id, input, onInstallation, required, today } from './operator-command-parts.ts';

/** Its home is the host's own shell to find; a name that begins like a flag is none. */
const shellWord = (path: string): string => {
  const plain = path.startsWith('-') ? `./${path}` : path;
  return /^~?[\w./-]+$/.test(plain) ? plain : `'${plain.replaceAll("'", "'\\''")}'`;
};

/** The line for a host that knows our authority by a file alone. */
const naming = (invited: unknown, ca: string | undefined): unknown => {
  if (ca === undefined || !isRecord(invited) || typeof invited.command !== 'string') return invited;
  const file = shellWord(ca);
  return { ...invited, command: invited.command.replace('curl ', `curl --cacert ${file} `).replace(' join ', ` join --ca ${file} `) };
};

const invite: HouseCommand['run'] = async ({ gate, organisations }, given) => {
  const [named, ca] = [given.get('organisation'), given.get('ca')];
  const { invitePublicProbe } = installationOperations;
  const flat = input(given, invitePublicProbe);
  if (named === undefined)
    return naming((await gate.executeForInstallation(invitePublicProbe, rawInput(invitePublicProbe, flat))).body, ca);
  const caller = operatorIn(await organisations.named(named));
  return naming((await gate.execute(operations.inviteProbe, caller, rawInput(operations.inviteProbe, flat))).body, ca);
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
      ca: { what: 'file on that host with the authority that signed our certificate, where the host does not trust it anyway' },
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
