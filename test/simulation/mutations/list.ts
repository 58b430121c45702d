import { apartMutations } from './list-apart.ts';
import { causeMutations } from './list-causes.ts';
import { fleetMutations } from './list-fleet.ts';
import { jobMutations } from './list-jobs.ts';
import { notificationMutations } from './list-notifications.ts';
import { placesMutations } from './list-places.ts';
import { ruleMutations } from './list-rules.ts';
import { warningMutations } from './list-warnings.ts';
import { always, instead, leftOut, type Mutation, mutationsOf, never, value } from './types.ts';

const mutation = mutationsOf('network');

/**
 * Mistakes that somebody could make. Each must be found by a simulation that was not told of it.
 */
export const mutations: readonly Mutation[] = [
  ...fleetMutations,
  ...jobMutations,
  ...warningMutations,
  ...placesMutations,
  ...apartMutations,
  ...ruleMutations,
  ...notificationMutations,
  ...causeMutations,
  mutation(
    'a view lasts for four turns',
    'coordinator/core/views.ts#tally',
    instead('2 * turn_ms', '4 * turn_ms'),
    8,
  ),
  mutation(
    'percent is rounded up',
    'coordinator/core/uptime.ts#percentOf',
    instead('BigInt(up) * 1_000_000n', 'BigInt(up) * 1_000_000n + BigInt(up + down) - 1n'),
    1,
  ),
  mutation('quarantine only at 80 %', 'coordinator/core/quarantine.ts#largeShare', value('0.8'), 3),
  mutation(
    'others are asked again after a minute only',
    'coordinator/core/rechecks.ts#patience',
    value('60_000'),
    3,
  ),
  mutation(
    '"down" is raised by one continent',
    'coordinator/core/incident.ts#isOfNow',
    instead(
      'countApart(failing, moment.network) >= (incident.confirmed === null ? 1 : 2)',
      'failing.length >= 1',
    ),
    30,
  ),
  mutation(
    'views are forgotten by a restart',
    'coordinator/core/lifecycle.ts#restore',
    instead(
      '({ ...state, views, observations, clock, decides_from, covered_until: openGap?.from ?? covered_until })',
      '{ ...state, views: [], observations, clock, decides_from, covered_until: openGap?.from ?? covered_until }',
    ),
    8,
  ),
  mutation(
    'cover outlives the membership',
    'coordinator/maintenance/cover.ts#coverOf',
    instead('to ?? Number.POSITIVE_INFINITY', 'Number.POSITIVE_INFINITY'),
    1,
  ),
  mutation(
    'results of a paused monitor decide',
    'coordinator/core/decide.ts#mayDecide',
    leftOut('watched.paused_at !== null'),
    43,
  ),
  mutation(
    'a clock that was set back stays ahead',
    'coordinator/core/views.ts#withoutFuture',
    always('!wasClockSetBack(state.clock, now)'),
    97,
  ),
  mutation(
    'nothing is asked after a restart',
    'coordinator/core/decide.ts#catchUp',
    never('restored'),
    18,
  ),
  mutation(
    'what came late dates no confirmed incident',
    'coordinator/core/decide.ts#retimeIfLate.mustRetime',
    value('result.at < clock && incident.confirmed_at === null'),
    2,
  ),
  mutation(
    'an incident is dated by what was heard since the last restart alone',
    'coordinator/core/lifecycle.ts#restore',
    instead(
      '[...stored.map(vouched).map(observationOf), ...ofIncident(observed, incident).filter(({ at }) => decided(at)),]',
      '[]',
    ),
    3,
  ),
  mutation(
    'failures confirm each other within ten minutes',
    'coordinator/core/views.ts#together',
    value('600_000'),
    10,
  ),
  mutation(
    'a failure is confirmed at its start',
    'coordinator/core/incident.ts#confirm.confirmed_at',
    value('incident.started_at'),
    1,
  ),
  mutation(
    'an outage ends while two continents fail',
    'coordinator/core/outage.ts#passWhileDown',
    instead('countApart(failing, network) <= 1', 'countApart(failing, network) <= 2'),
    8,
  ),
  mutation(
    'one pass ends an outage',
    'coordinator/core/outage.ts#passWhileDown',
    instead('since >= 2', 'since >= 1'),
    3,
  ),
  mutation(
    'what is seen again while it recovers does not date its end anew',
    'coordinator/core/outage.ts#failWhileDown.worse',
    value('false'),
    130,
  ),
  mutation(
    'a failure that nobody sees any more stays for eight turns',
    'coordinator/core/incident.ts#unobservedAt',
    instead('2 * reach.turn_ms', '8 * reach.turn_ms'),
    7,
  ),
  mutation(
    'a clock may be a minute ahead',
    'coordinator/core/views.ts#clockTolerance',
    value('60_000'),
    32,
  ),
  mutation(
    'a result covers three intervals',
    'coordinator/core/ledger.ts#allowedSilence',
    instead('2 * interval_ms', '3 * interval_ms'),
    1,
  ),
  mutation(
    'an open incident is sampled every half minute',
    'coordinator/core/rechecks.ts#distanceAfter',
    instead('return samplingStep;', 'return 6 * samplingStep;'),
    1,
  ),
  mutation(
    'a lone continent confirms with one more failure',
    'coordinator/core/outage.ts#confirmAlone',
    never('run === 0'),
    1,
  ),
  mutation(
    'a lone continent confirms without waiting between',
    'coordinator/core/outage.ts#loneDistance',
    value('0'),
    1,
  ),
  mutation(
    '"down" does not wait as long as the tenant wished',
    'coordinator/core/incident.ts#dueAt',
    instead('confirmed_at + watched.alert_after_ms', 'confirmed_at'),
    1,
  ),
  mutation(
    'what became known late is told of although it was over before it was due',
    'coordinator/core/incident.ts#tellLate',
    leftOut('due_at < resolved_at'),
    44,
  ),
  mutation(
    'what was due and held while the past was decided is told to nobody',
    'coordinator/notifications/policy.ts#settle',
    never("event === 'up'"),
    75,
  ),
  mutation(
    'an outage that closes before anybody was alerted is told to nobody',
    'coordinator/core/incident.ts#close',
    leftOut('tellLate(draft, next, resolved_at)'),
    17,
  ),
  mutation(
    'what was held is sent although it is over',
    'coordinator/notifications/policy.ts#settle.dropped',
    never("row.state === 'held'"),
    4,
  ),
  mutation(
    'views outlive an edit and a resume',
    'coordinator/core/lifecycle.ts#restartMonitor.views',
    value('draft.state.views'),
    24,
  ),
  mutation(
    'what was handed over is decided from its end to its beginning',
    'coordinator/core/backlog.ts#byStart',
    instead('a.at - b.at', 'b.at - a.at'),
    1,
  ),
  mutation(
    'a hand-over is waited for one second',
    'coordinator/core/backlog.ts#maxBacklogMs',
    value('1_000'),
    28,
  ),
  mutation(
    'a deleted window goes on covering',
    'coordinator/maintenance/cover.ts#coverOf',
    instead('deleted_at ?? Number.POSITIVE_INFINITY', 'Number.POSITIVE_INFINITY'),
    7,
  ),
  mutation(
    'a quarantined probe is believed after two clean checks',
    'coordinator/core/quarantine.ts#cleanRun',
    value('2'),
    3,
  ),
  mutation(
    'a gap begins when it is noticed',
    'coordinator/core/ledger.ts#passTime.after.from',
    value('now'),
    1,
  ),
];
