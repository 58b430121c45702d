import { expect, test } from 'vitest';
import { handlers } from '../../../coordinator/operations.ts';
import {
  auditSentence,
  fieldName,
  hasAuditSentence,
} from '../../../coordinator/organisations/audit-sentences.ts';
import { changesOf } from '../../../coordinator/organisations/pages/audit.ts';
import { isReadOnly, type Operation } from '../../../shared/api/operation.ts';

const operations = Object.values(handlers).flatMap((table) =>
  Object.values<{ readonly operation: Operation }>(table).map(({ operation }) => operation),
);
const changing = operations.filter((operation) => !isReadOnly(operation)).map(({ id }) => id);

test('every operation that changes something has its sentence in the audit log', () => {
  expect(changing.length).toBeGreaterThan(80);
  expect(changing.filter((id) => !hasAuditSentence(id))).toEqual([]);
});

test('sentences begin with what was done, and end without a full stop', () => {
  const began = /^(?:[A-Z][a-z]+ed|Left|Kept|Hid|Made|Undid|Reset|Confirmed)\b/;
  const odd = changing
    .map((id) => [id, auditSentence(id)] as const)
    .filter(([id, words]) => words !== id && (!began.test(words) || words.endsWith('.')));
  expect(odd).toEqual([]);
});

test('a setting has the name that its form has, or its own without underscores', () => {
  expect(
    ['config.timeout_s', 'interval_s', 'group_id', 'config.follow_redirects', 'name'].map(
      fieldName,
    ),
  ).toEqual(['Timeout', 'Check every', 'Group', 'Follow redirects', 'Name']);
});

test('a change is told in units and words, not as the API has its values', () => {
  expect(
    changesOf(
      { interval_s: 60, timeout_ms: 5_000, published: false },
      { interval_s: 30, timeout_ms: 2_500, published: true },
    ),
  ).toEqual([
    { key: 'interval_s', before: '1 min', after: '30 s' },
    { key: 'timeout_ms', before: '5000 ms', after: '2500 ms' },
    { key: 'published', before: 'no', after: 'yes' },
  ]);
});
