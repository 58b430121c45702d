import { operations } from '../../shared/api/index.ts';
import { innerOperations } from '../../shared/api/inner/inner-index.ts';
import { rawInput } from '../../shared/api/operation.ts';
import { operatorIn } from '../access/access-caller.ts';
import type { HouseCommand, OperatorCommand } from './operator-command.ts';
import { configOf, id, input, organisation, required, today, upon, within } from './operator-command-parts.ts';

const createChannel: HouseCommand['run'] = async ({ gate, organisations }, given) => {
  const config = configOf(given.get('config'), '{"address":"ada@example.org"}');
  const caller = operatorIn(await organisations.named(given.get('organisation') ?? ''));
  const flat = { ...input(given, operations.createChannel), config };
  return (await gate.execute(operations.createChannel, caller, rawInput(operations.createChannel, flat))).body;
};

/** Who is told, and what was. */
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
    run: upon('channel', innerOperations.testChannel),
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
    run: within(innerOperations.listMessages),
  },
];
