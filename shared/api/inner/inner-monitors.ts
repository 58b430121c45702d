import { array, integer, nullable, object, string, uuid } from '../fields.ts';
import { innerOperation } from '../operation.ts';

export const getMonitorChoices = innerOperation({
  id: 'getMonitorChoices',
  access: 'read',
  summary: 'What a new or changed monitor may choose from: places, groups, and what the plan allows',
  response: object('MonitorChoicesOut', {
    continents: array(string(), { description: 'Where public probes are.' }),
    probes: array(object('PrivateProbeOut', { id: uuid(), name: string(), continent: string() }), {
      description: 'The private probes of the organisation.',
    }),
    groups: array(object('GroupChoiceOut', { id: uuid(), name: string() })),
    plan: string(),
    min_interval_s: integer({}, { description: 'The plan checks no oftener.' }),
    monitors: integer({}, { description: 'How many there are.' }),
    most_monitors: nullable(integer(), { description: 'How many the plan allows; null: any number.' }),
  }),
});
