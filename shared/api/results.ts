import {
  array,
  dateTime,
  grown,
  integer,
  literal,
  maybe,
  nullable,
  number,
  object,
  optional,
  string,
  uuid,
} from './fields.ts';
import { moment, written } from './moment.ts';
import { exampleIds, operation, page, pageQuery } from './operation.ts';

/** The windows of results, each with the length of a point and its source. */
export const resultWindows = ['24h', '7d', '30d', '1y'] as const;

const PhaseMeansOut = object('PhaseMeansOut', {
  dns_ms: phaseMean('Resolving the name.', 4.1),
  tcp_ms: phaseMean('Connecting.', 18.3),
  tls_ms: phaseMean('The TLS handshake.', 20.6),
  first_byte_ms: phaseMean('Waiting for the first byte of the response.', 61.8),
  total_ms: phaseMean('The whole check.', 121.4),
});

function phaseMean(meaning: string, example: number) {
  return nullable(number({ meaning, example }));
}

const PointOut = object('PointOut', {
  at: dateTime({
    description: 'When the stretch of this point begins.',
    example: '2026-11-20T11:55:00.000Z',
  }),
  ok: integer({}, { meaning: 'How many succeeded.', example: 5 }),
  failed: integer({}, { meaning: 'How many failed.', example: 0 }),
  unknown: integer({}, { meaning: 'How many of which nothing is known.', example: 0 }),
  mean_ms: nullable(number(), {
    description: 'Of the passes; null when there was none.',
    example: 121.4,
  }),
  min_ms: nullable(number({ meaning: 'The quickest, in milliseconds.', example: 98.2 })),
  max_ms: nullable(number({ meaning: 'The slowest, in milliseconds.', example: 164 })),
  median_ms: nullable(number(), {
    description: 'Within 2 % where hours are read; null where they were kept without percentiles.',
    example: 118.9,
  }),
  p95_ms: nullable(
    number({ meaning: 'The 95th percentile of the passes, in milliseconds.', example: 160.1 }),
  ),
  p99_ms: grown(
    nullable(number(), {
      description: 'The 99th percentile; null where the median is.',
      example: 163.2,
    }),
    null,
  ),
  phases: grown(
    nullable(PhaseMeansOut, {
      description: 'Means of the passes. Null where hours are read, and for checks without phases.',
    }),
    null,
  ),
});

const PercentilesOut = object('PercentilesOut', {
  p50_ms: number({ meaning: 'Half of the passes were at most as slow.', example: 118.9 }),
  p95_ms: number({ meaning: 'The 95th percentile, in milliseconds.', example: 160.1 }),
  p99_ms: number({ meaning: 'The 99th percentile, in milliseconds.', example: 163.2 }),
});

export const getMonitorResults = operation({
  id: 'getMonitorResults',
  method: 'GET',
  path: '/api/v1/monitors/{monitor_id}/results',
  tag: 'Monitor history',
  access: 'read',
  summary: 'Get response times and outcomes of a monitor by continent',
  description:
    'A point for each step that has results. `24h` is read from raw results and has ' +
    'percentiles and phases; longer windows are read from hours and days, and have percentiles ' +
    'of the days that were summarized with them. `from` and `until` choose another stretch, and ' +
    'the shorter it is, the finer are its steps.',
  params: { monitor_id: uuid() },
  query: {
    window: optional(literal(resultWindows, { description: 'How far back the series go.' }), '24h'),
    from: maybe(moment(written), {
      description: 'Where the series begin, instead of `window`. At most 366 days before its end.',
    }),
    until: maybe(moment(written), {
      description: 'Where the series end. Without `from` the `window` before it. Default: now.',
    }),
  },
  response: object('ResultSeriesOut', {
    monitor: uuid({ example: exampleIds.monitor }),
    from: dateTime({
      meaning: 'Where the stretch or the window begins.',
      example: '2026-11-19T12:00:00.000Z',
    }),
    to: dateTime({
      meaning: 'Where the stretch or the window ends.',
      example: '2026-11-20T12:00:00.000Z',
    }),
    step_s: integer({}, { meaning: 'Seconds between two points.', example: 300 }),
    source: string({ description: '`raw` or `hourly`.', example: 'raw' }),
    series: array(
      object('ContinentSeriesOut', {
        continent: string({ example: 'Europe' }),
        place: grown(
          nullable(
            object('SeriesPlaceOut', {
              id: uuid({ example: exampleIds.probe }),
              name: string({ example: 'Office' }),
            }),
            {
              description:
                'The private place, where the monitor names it among its `places`; null for public probes.',
              example: null,
            },
          ),
          null,
        ),
        points: array(PointOut, { meaning: 'The points, in their order.' }),
        percentiles: grown(
          nullable(PercentilesOut, {
            description: 'Of its passes in the window. Known where raw results are read.',
          }),
          null,
        ),
        phases: grown(
          nullable(PhaseMeansOut, {
            description: 'Means of its passes in the window. Known where raw results are read.',
          }),
          null,
        ),
      }),
      { meaning: 'One row of points for each continent, and each private place of `places`.' },
    ),
    percentiles: grown(
      nullable(PercentilesOut, {
        description: 'Of all passes in the window. Null where some points are without percentiles.',
      }),
      null,
    ),
    deploys: grown(
      array(
        object('DeployOut', {
          at: dateTime({ meaning: 'When it was recorded.', example: '2026-11-20T09:12:00.000Z' }),
          name: string({ example: 'Shop 4.2.1' }),
        }),
        { description: 'Deploys in the window (`POST /api/v1/events`), the newest 50.' },
      ),
      [],
    ),
  }),
  refusals: ['monitor_not_found'],
});

export const checkOutcomes = ['ok', 'fail', 'unknown'] as const;

export const MonitorCheckOut = object('MonitorCheckOut', {
  at: dateTime({
    description: 'When the check started.',
    example: '2026-11-20T11:58:12.418Z',
  }),
  outcome: string({ description: '`ok`, `fail` or `unknown`.', example: 'ok' }),
  took_ms: number({ meaning: 'How long the check took, in milliseconds.', example: 121.4 }),
  place: string({ description: 'The id of the place.', example: 'Europe/Frankfurt' }),
  place_name: string({ meaning: 'The name of the place.', example: 'Frankfurt' }),
  continent: string({ example: 'Europe' }),
  probe: string({ meaning: 'The probe.', example: 'fra-1' }),
  cause: nullable(string(), {
    description: 'The class of the cause, from a closed list; null of a check that passed.',
    example: null,
  }),
  phases: nullable(
    object('CheckPhasesOut', {
      dns_ms: phaseTime('Resolving the name.', 4.1),
      tcp_ms: phaseTime('Connecting.', 18.3),
      tls_ms: phaseTime('The TLS handshake.', 20.6),
      first_byte_ms: phaseTime('Waiting for the first byte of the response.', 61.8),
      total_ms: phaseTime('The whole check.', 121.4),
    }),
    { description: 'Null of checks without phases.' },
  ),
});

export const getMonitorChecks = operation({
  id: 'getMonitorChecks',
  method: 'GET',
  path: '/api/v1/monitors/{monitor_id}/checks',
  tag: 'Monitor history',
  access: 'read',
  summary: 'List every single check of a monitor',
  description:
    'Newest first, as long as single checks are kept (7 days, unless the service says otherwise). ' +
    'A heartbeat has pings instead.',
  params: { monitor_id: uuid() },
  query: {
    ...pageQuery,
    from: maybe(moment(written), { description: 'Only checks from this moment on.' }),
    until: maybe(moment(written), { description: 'Checks from this moment on are left out.' }),
    place: maybe(string({ minLength: 1, limits: { maxLength: 200 } }), {
      description:
        'Only from this place, by its id: `Europe`, `Europe/Frankfurt`, or a private one.',
    }),
    outcome: maybe(literal(checkOutcomes), {
      description: 'Only with this outcome; `unknown` is a failure of the probe itself.',
    }),
  },
  response: page('MonitorCheckPage', MonitorCheckOut),
  refusals: ['monitor_not_found', 'place_not_found'],
  columns: ['at', 'outcome', 'took_ms', 'place_name', 'probe', 'cause'],
});

function phaseTime(meaning: string, example: number) {
  return nullable(number({ meaning, example }));
}

export const getMonitorPings = operation({
  id: 'getMonitorPings',
  method: 'GET',
  path: '/api/v1/monitors/{monitor_id}/pings',
  tag: 'Monitor history',
  access: 'read',
  summary: 'List the pings of a heartbeat monitor',
  description:
    'The last hundred, newest first. What a job sent is text of others: show it as text, never as markup.',
  params: { monitor_id: uuid() },
  query: pageQuery,
  response: page(
    'PingPage',
    object('PingOut', {
      id: uuid({ example: exampleIds.post }),
      kind: string({ description: '`success`, `start`, `fail` or `log`.', example: 'success' }),
      at: dateTime({ meaning: 'When it came.', example: '2026-11-20T03:00:41.118Z' }),
      exit_code: nullable(integer(), {
        description: 'With which the job ended, where it said so.',
        example: 0,
      }),
      rid: nullable(uuid(), {
        description: 'The run that it belongs to, where the job said so.',
        example: null,
      }),
      run_ms: nullable(integer(), { description: 'How long the run took.', example: 40_870 }),
      method: string({ meaning: 'The method of the request.', example: 'POST' }),
      body: string({ meaning: 'What the job sent with it.', example: '12 files' }),
      received_by: string({
        description: 'The probe that received it, or `coordinator`.',
        example: 'coordinator',
      }),
    }),
  ),
  refusals: ['monitor_not_found', 'not_a_heartbeat'],
  columns: ['kind', 'at', 'exit_code', 'run_ms', 'received_by', 'body'],
});
