import { always, instead, leftOut, mutationsOf, never, value } from './types.ts';

const mutation = mutationsOf('notification');

/** What could be wrong with who is notified, and when (rules 30 to 38). */
export const notificationMutations = [
  mutation(
    'a channel is notified of monitors that it does not cover',
    'coordinator/notifications/policy.ts#isCovered',
    always("covers === 'all'"),
    1,
  ),
  mutation(
    'a message is tried again each second',
    'coordinator/deliveries/model.ts#nextAttempt.pause',
    value('second'),
    1,
  ),
  mutation(
    'a "down" that is on its way is not overtaken by its end',
    'test/simulation/notification-world.ts#tell',
    never("each.event === 'up' && begun?.message && begun.message.taken === null"),
    1,
  ),
  mutation(
    'what was due is told to nobody once it is over',
    'coordinator/notifications/policy.ts#wasDue',
    never("step.event === 'down' || step.event === 'flapping'"),
    2,
  ),
  mutation(
    'nothing is gathered',
    'coordinator/notifications/policy.ts#gather',
    never('until > now'),
    2,
  ),
  mutation(
    'the first messages wait as well',
    'coordinator/notifications/policy.ts#atOnce',
    value('0'),
    2,
  ),
  mutation(
    'much is gathered for no longer than little',
    'coordinator/notifications/policy.ts#gather',
    always('place === 0'),
    3,
  ),
  mutation(
    'a channel is notified before its delay is over',
    'coordinator/notifications/policy.ts#holdOf',
    leftOut("holds.push(['delay', step.due_at + channel.delay_s * 1_000])"),
    1,
  ),
  mutation(
    'an acknowledgement ends nothing',
    'coordinator/notifications/policy.ts#decideOpenStep.isEnded',
    value('false'),
    1,
  ),
  mutation(
    'reminders come at equal intervals',
    'coordinator/notifications/policy.ts#reminderAfter',
    instead('2 ** Math.min(n - 1, 20)', '1'),
    1,
  ),
  mutation(
    'a channel is notified outside its hours',
    'coordinator/notifications/policy.ts#holdOf',
    never('channel.hours !== null'),
    4,
  ),
  mutation(
    'a mute holds nothing',
    'coordinator/notifications/policy.ts#holdOf',
    never('muted_until !== null'),
    6,
  ),
  mutation(
    'a flapping monitor is told of each time',
    'coordinator/notifications/policy.ts#maxFlaps',
    value('Number.POSITIVE_INFINITY'),
    1,
  ),
  mutation(
    'there is no last resort',
    'coordinator/notifications/policy.ts#isLastResort',
    never('!delivered'),
    1,
  ),
];
