import {
  array,
  boolean,
  dateTime,
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
import { UptimeOut } from './monitors.ts';
import { exampleIds, operation, page, pageQuery, patched } from './operation.ts';
import { reportQuery } from './reports.ts';

const example = '019ac0f4-3b71-7d28-9c15-4a6e8f2b7d90';

const name = { minLength: 1, limits: { maxLength: 200 }, example: 'Shop' } as const;
const target = {
  description: 'In percent.',
  limits: { minimum: 0, maximum: 100 },
  example: 99.9,
} as const;
const latency_ms = {
  description:
    'Of response times: within how many ms that share of passing checks is to respond. Null: of uptime.',
  limits: { minimum: 1, maximum: 120_000 },
  example: 400,
} as const;
const period = literal(['30d', 'month'], {
  description: '`month`: the calendar month.',
  example: '30d',
});

const on_status_pages = {
  description: 'Whether status pages that have all of its monitors show how it stands.',
} as const;

const BurnOut = object('BurnOut', {
  code: string({ example: 'burns_fast' }),
  short_minutes: integer({}, { example: 5 }),
  long_minutes: integer({}, { example: 60 }),
  factor: number({ meaning: 'What both rates must exceed.', example: 14.4 }),
  short_rate: number({ meaning: 'At 1 it lasts its period.', example: 0 }),
  long_rate: number({ example: 2.5 }),
  burns: boolean({ example: false }),
});

const seconds = (description: string, value: number) =>
  nullable(number({ example: value }), { description });

const checks = (description: string) => nullable(integer({}, { example: null }), { description });

const shape = {
  id: uuid({ example }),
  name: string({ example: 'Shop' }),
  monitor: nullable(uuid({ example: null })),
  group: nullable(uuid({ example: exampleIds.group })),
  tag: nullable(string({ example: null })),
  of: string({ example: 'Web' }),
  target: number(target),
  latency_ms: nullable(integer({}, { example: 400 }), {
    description: 'Of one of response times: the limit.',
  }),
  period,
  on_status_pages: boolean({ ...on_status_pages, example: false }),
  from: dateTime({ example: '2026-10-21T12:00:00.000Z' }),
  to: dateTime({ example: '2026-11-20T12:00:00.000Z' }),
  monitors: integer({}, { example: 4 }),
  percent: UptimeOut.shape.percent,
  budget_seconds: seconds('How long they may be down; null where nothing counts.', 10_368),
  budget_left_seconds: seconds('Negative where the target is missed.', 9_854),
  budget_checks: checks('Of one of response times: how many passing checks may be slower.'),
  budget_left_checks: checks('Negative where the target is missed.'),
  burn: array(BurnOut, { meaning: 'How fast it is spent.' }),
  created_at: dateTime({ example: '2026-11-02T09:30:00.000Z' }),
};

const ObjectiveOut = object('ObjectiveOut', shape);

export const ObjectiveIn = object('ObjectiveIn', {
  name: string(name),
  monitor: maybe(uuid()),
  group: reportQuery.group,
  tag: reportQuery.tag,
  target: number(target),
  latency_ms: maybe(integer(), latency_ms),
  period: optional(period, '30d'),
  on_status_pages: optional(boolean(on_status_pages), false),
});

const ObjectivePatch = object(
  'ObjectivePatch',
  {
    name: maybe(string(name)),
    target: maybe(number(), target),
    period: maybe(period),
    on_status_pages: maybe(boolean(), on_status_pages),
  },
  patched,
);

const base = { path: '/api/v1/objectives', tag: 'Objectives' } as const;
const one = {
  path: '/api/v1/objectives/{objective_id}',
  tag: 'Objectives',
  params: { objective_id: uuid() },
} as const;

export const listObjectives = operation({
  ...base,
  id: 'listObjectives',
  method: 'GET',
  access: 'read',
  summary: 'List objectives',
  description: 'Oldest first.',
  query: pageQuery,
  response: page('ObjectivePage', ObjectiveOut),
  columns: ['name', 'target', 'percent', 'budget_left_seconds', 'id'],
});

export const createObjective = operation({
  ...base,
  id: 'createObjective',
  method: 'POST',
  access: 'write',
  summary: 'Create an objective',
  description: 'Of the monitors to which all of `monitor`, `group` and `tag` applies.',
  body: ObjectiveIn,
  response: ObjectiveOut,
  success: 201,
  refusals: [
    'name_invalid',
    'tags_invalid',
    'objective_invalid',
    'monitor_not_found',
    'group_not_found',
    'plan_limit_objectives',
  ],
});

export const getObjective = operation({
  ...one,
  id: 'getObjective',
  method: 'GET',
  access: 'read',
  summary: 'Get an objective',
  response: object('ObjectiveCourseOut', {
    ...shape,
    course: array(
      object('BudgetPointOut', {
        at: dateTime({ example: '2026-11-20T12:00:00.000Z' }),
        left_seconds: seconds('Null of one of response times.', 9_854),
        left_checks: checks('Of one of response times.'),
      }),
      { meaning: 'What was left over time.' },
    ),
  }),
  refusals: ['objective_not_found'],
});

export const updateObjective = operation({
  ...one,
  id: 'updateObjective',
  method: 'PATCH',
  access: 'write',
  summary: 'Change an objective',
  body: ObjectivePatch,
  response: ObjectiveOut,
  refusals: ['objective_not_found', 'name_invalid', 'objective_invalid'],
});

export const deleteObjective = operation({
  ...one,
  id: 'deleteObjective',
  method: 'DELETE',
  access: 'write',
  summary: 'Delete an objective',
  refusals: ['objective_not_found'],
});
