import { expect, test } from 'vitest';
import { written } from '../../../coordinator/gate/answer.ts';
import {
  array,
  dateTime,
  dict,
  integer,
  maybe,
  nullable,
  object,
  string,
} from '../../../shared/api/fields.ts';

const at = Date.parse('2026-11-28T18:00:00.250Z');
const iso = '2026-11-28T18:00:00.250Z';
const Note = object('Note', { by: nullable(string()), at: dateTime() });
const Thing = object('Thing', {
  id: string(),
  size: integer(),
  made_at: dateTime(),
  ended_at: maybe(dateTime()),
  notes: array(Note),
  last: nullable(Note),
  config: dict(),
});

test('an answer has what its contract knows, at any depth, with times as texts', () => {
  const row = {
    key: 7,
    password_hash: 'secret',
    made_at: at,
    size: 1,
    id: 'a',
    ended_at: null,
    notes: [{ at, by: null, user_id: 'u' }],
    last: { by: 'Ada', at, user_id: 'u' },
    config: { free: ['as', 'it', 'is'] },
  };
  const answer = written(Thing, row);
  expect(answer).toEqual({
    id: 'a',
    size: 1,
    made_at: iso,
    ended_at: null,
    notes: [{ by: null, at: iso }],
    last: { by: 'Ada', at: iso },
    config: { free: ['as', 'it', 'is'] },
  });
  // A row is in the order of the contract, whatever the statement read first.
  expect(Object.keys(Object(answer))).toEqual(Object.keys(Thing.shape));
  expect(JSON.stringify(written(array(Note), row.notes))).toBe(`[{"by":null,"at":"${iso}"}]`);
});

test('an answer without anything else keeps the order of its handler, and what is missing', () => {
  const made = { made_at: iso, id: 'a' };
  expect(JSON.stringify(written(Thing, made))).toBe(JSON.stringify(made));
  expect([null, undefined, 'text', 3].map((each) => written(Thing, each))).toEqual([
    null,
    undefined,
    'text',
    3,
  ]);
});
