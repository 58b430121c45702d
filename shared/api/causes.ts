import { dateTime, grown, integer, literal, nullable, object, string, uuid } from './fields.ts';
import { exampleIds, operation, page, pageQuery } from './operation.ts';

export const CauseOut = object('CauseOut', {
  id: uuid({ example: exampleIds.cause }),
  kind: string({
    description:
      'What its incidents share: `address`, `certificate`, `redirect`, `block_page`, `server`, `issuer`, `zone`, `name_server`, `place` or `network`. There may be others later.',
    example: 'address',
  }),
  value: string({
    description:
      'Which one it is. Of `server`, `issuer` and `redirect` it is text that a target sent: show it as text, never as markup.',
    example: '203.0.113.7:443',
  }),
  name: string({ meaning: 'Kind and value in words.', example: 'Address 203.0.113.7:443' }),
  explanation: string({
    meaning: 'Why it is the cause, in one sentence.',
    example: 'All 30 monitors at address 203.0.113.7:443 fail, and none of the 41 others.',
  }),
  began_at: dateTime({
    meaning: 'When it began: after the last check of its first incidents that passed.',
    example: '2026-11-18T04:03:35.000Z',
  }),
  found_at: dateTime({ meaning: 'When it was found.', example: '2026-11-18T04:03:37.000Z' }),
  ended_at: nullable(
    dateTime({
      meaning: 'When its last incident was over; null before.',
      example: '2026-11-18T04:12:09.000Z',
    }),
  ),
  incidents: integer({}, { meaning: 'How many incidents it has caused.', example: 30 }),
  open_incidents: integer({}, { meaning: 'How many of them go on.', example: 0 }),
});

export const listCauses = operation({
  id: 'listCauses',
  method: 'GET',
  path: '/api/v1/causes',
  tag: 'Incident evidence',
  access: 'read',
  summary: 'List causes',
  description:
    'What incidents that began together have in common, newest first. A cause is named only where the checks prove it. `GET /api/v1/incidents?cause=` lists its incidents.',
  query: {
    state: grown(
      literal(['all', 'open', 'ended'], {
        meaning: 'Which of them: all, those that go on, or those that have ended.',
      }),
      'all',
    ),
    ...pageQuery,
  },
  response: page('CausePage', CauseOut),
  columns: ['name', 'open_incidents', 'began_at', 'id'],
});

export const getCause = operation({
  id: 'getCause',
  method: 'GET',
  path: '/api/v1/causes/{cause_id}',
  tag: 'Incident evidence',
  access: 'read',
  summary: 'Get a cause',
  params: { cause_id: uuid() },
  response: CauseOut,
  refusals: ['cause_not_found'],
});
