import { expect, test } from 'vitest';
import { csvLine } from '../../../shared/base/text.ts';

test('a line of a file stands in quotes, and quotes in it are doubled', () => {
  expect(csvLine(['a', 'b "c"', 'd, e\nf', ''])).toBe('"a","b ""c""","d, e\nf",""\r\n');
});

test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', ' =1', '|cmd', '%x'])('a table calculation takes %j for no formula', (text) => {
  expect(csvLine([text])).toBe(`"'${text}"\r\n`);
});

test('what is none stays as it is', () => {
  expect(csvLine(['a=b', '1-2', 'https://shop.example/'])).toBe('"a=b","1-2","https://shop.example/"\r\n');
});
