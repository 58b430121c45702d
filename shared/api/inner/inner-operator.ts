import { array, boolean, dateTime, integer, nullable, object, string, uuid } from '../fields.ts';
import { innerOperation, page, pageQuery } from '../operation.ts';

/** Who may see the operator's page, and what stands on it besides the notices of the house. */

const who = object('OperatorIn', { email: string() });
const OperatorOut = object('OperatorOut', { id: uuid(), email: string(), is_operator: boolean() });

export const markOperator = innerOperation({
  id: 'markOperator',
  access: 'manage',
  summary: 'Let a user see the operator’s page',
  body: who,
  response: OperatorOut,
  refusals: ['user_not_found'],
});

export const unmarkOperator = innerOperation({
  id: 'unmarkOperator',
  access: 'manage',
  summary: 'Take the operator’s page from a user',
  body: who,
  response: OperatorOut,
  refusals: ['user_not_found'],
});

export const listOrganisations = innerOperation({
  id: 'listOrganisations',
  access: 'manage',
  does: 'looks',
  summary: 'List the organisations of the installation, by name',
  query: pageQuery,
  response: page(
    'OrganisationsOut',
    object('ListedOrganisationOut', {
      id: uuid(),
      name: string(),
      plan: string(),
      monitors: integer(),
      members: integer(),
      created_at: dateTime(),
      ends_at: nullable(dateTime(), { description: 'When it is deleted; null: nobody asked for that.' }),
    }),
  ),
});

export const showFigures = innerOperation({
  id: 'showFigures',
  access: 'manage',
  does: 'looks',
  summary: 'Show the figures of the house',
  response: object('FiguresOut', {
    organisations: integer(),
    monitors: array(object('MonitorsOfKindOut', { kind: string(), count: integer() })),
    checks: nullable(object('ChecksOut', { from: dateTime(), to: dateTime(), count: integer() }), {
      description: 'In the last whole hour that is counted; null before there is one.',
    }),
    open_incidents: integer({}, { description: 'All that are not over, also those that are being verified.' }),
    alerts_waiting: integer({}, { description: 'What is held, and messages that nobody has taken yet.' }),
    version: string(),
    time_zone_data: object('TimeZoneDataOut', {
      version: nullable(string(), { description: 'The version of the time zones of this coordinator.' }),
      released_on: nullable(string(), { description: 'The day on which it came out, where this release knows it.' }),
      least_age_days: nullable(integer(), { description: 'So many days old it is for certain.' }),
    }),
  }),
});
