import { always, instead, leftOut, mutationsOf, never, value } from './types.ts';

const mutation = mutationsOf('network');

/** Rules that are left out, whole. Where a rule holds in two places, each is left out alone. */
export const ruleMutations = [
  mutation(
    'what is unknown decides (rule 1)',
    'coordinator/core/decide.ts#isUsable',
    leftOut("countsAs(result, moment.now) !== 'unknown'"),
    3,
  ),
  mutation(
    'what is stale moves a view (rule 3)',
    'coordinator/core/decide.ts#moveView',
    instead(
      'see(draft.state.views, result)',
      'see(draft.state.views.filter((view) => view.from.probe !== probe || view.at <= result.at), result)',
    ),
    7,
  ),
  mutation(
    'what came late dates nothing (rule 3)',
    'coordinator/core/decide.ts#retimeIfLate.mustRetime',
    value('false'),
    2,
  ),
  mutation(
    'results of an older configuration decide (rule 3)',
    'coordinator/core/decide.ts#mayDecide',
    never('config_version !== watched.config_version'),
    9,
  ),
  mutation(
    'the past is alerted (rule 4)',
    'coordinator/core/incident.ts#raise.past',
    value('false'),
    30,
  ),
  mutation(
    'what may be over already is notified (rule 4)',
    'coordinator/notifications/policy.ts#mayNotify',
    always('is.isPastDecided'),
    44,
  ),
  mutation(
    'what was kept is decided before others hand over theirs (rule 4)',
    'coordinator/core/backlog.ts#mustWait',
    never('backlog.until === null'),
    28,
  ),
  mutation(
    'others are not asked at the first failure (rule 9)',
    'coordinator/core/rechecks.ts#askFirst.recheck',
    value('null'),
    6,
  ),
  mutation(
    'others are asked once only (rule 11)',
    'coordinator/core/rechecks.ts#askAgain',
    always('now - incident.progress.asked_at < patience'),
    2,
  ),
  mutation(
    'the continent that saw it confirms it (rule 10)',
    'coordinator/core/outage.ts#confirming.mayConfirm',
    value('() => true'),
    2,
  ),
  mutation(
    'failures confirm each other however far apart (rule 10)',
    'coordinator/core/outage.ts#confirming',
    never('Math.abs(partner.at - second.at) > together'),
    10,
  ),
  mutation(
    'a lonely failure is part of the outage after it (rule 10)',
    'coordinator/core/outage.ts#partFromLonely',
    always('!incident.progress.refuted'),
    9,
  ),
  mutation(
    'a pass of its continent ends no lonely failure (rule 11)',
    'coordinator/core/outage.ts#passWhileVerifying',
    leftOut('close(draft, seen, result.at, null)'),
    1,
  ),
  mutation(
    'what nobody observes any more stays open (rule 11)',
    'coordinator/core/incident.ts#lapse',
    always('draft.moment.now < lapsesAt(draft, incident)'),
    7,
  ),
  mutation(
    'one pass ends an outage of a lone continent (rule 12)',
    'coordinator/core/outage.ts#passWhileDown',
    instead('run >= 2', 'run >= 1'),
    1,
  ),
  mutation(
    'an outage ends with its last check (rule 12)',
    'coordinator/core/outage.ts#passWhileDown.over',
    value('result.at'),
    1,
  ),
  mutation(
    'an open incident is not sampled (rule 13)',
    'coordinator/core/decide.ts#sample',
    never('place !== undefined'),
    1,
  ),
  mutation(
    'a lone continent confirms nothing (rule 14)',
    'coordinator/core/outage.ts#mayRun',
    always('at < run_at + loneDistance'),
    1,
  ),
  mutation(
    'a quarantined probe decides (rule 16)',
    'coordinator/core/decide.ts#isUsable',
    instead(
      'countsAs(result, moment.now)',
      'countsAs({ ...result, quarantined: false }, moment.now)',
    ),
    3,
  ),
  mutation(
    'an incident stays open when its monitor is paused (rule 17)',
    'coordinator/core/lifecycle.ts#closeOpen',
    leftOut("close(draft, incident, at, note, 'closed')"),
    5,
  ),
  mutation(
    'what comes late fills no gap (rule 22)',
    'coordinator/core/decide.ts#coverTime',
    instead(
      'until <= from',
      'until <= from || (state.gaps.length > 0 && from < Math.max(state.covered_until, state.gaps.at(-1)?.from ?? 0))',
    ),
    1,
  ),
  mutation(
    'maintenance holds no "down" (rule 25)',
    'coordinator/notifications/policy.ts#release.inside',
    value('undefined'),
    5,
  ),
  mutation(
    'an "up" goes to those who got no "down" (rule 25)',
    'coordinator/notifications/policy.ts#settle',
    always("row.state === 'due' || row.state === 'sent'"),
    4,
  ),
];
