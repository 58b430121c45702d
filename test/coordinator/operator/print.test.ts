import { expect, test } from 'vitest';
import { asText } from '../../../coordinator/operator/command-line.ts';

test('text that others wrote is shown on a terminal, not obeyed, and does not pass for more of a list', () => {
  const items = [{ kind: 'fail', body: 'first\n  kind  success\r\u001b[2J\u009b1m\u0007' }];
  expect(asText({ items })).toBe(
    'items\n\n  kind  fail\n  body\n      first\n        kind  success\\x0d\\x1b[2J\\x9b1m\\x07',
  );
  expect(asText({ name: '\u001b]0;owned\u0007ü\t☃' })).toBe('name  \\x1b]0;owned\\x07ü\t☃');
});

test('a secret of several lines starts at the margin, to be copied', () => {
  expect(asText({ id: 'a', credentials: 'one\ntwo' })).toBe(
    'id           a\ncredentials\none\ntwo',
  );
});

test('a list of nothing says so', () => {
  expect(asText({ items: [], next_cursor: null })).toBe('items        none\nnext_cursor  null');
});
