import { expect, test } from 'vitest';
import { drawingMarkup } from '../../../coordinator/documentation/drawing.ts';

test('a drawing in characters becomes lines, arrows and words at their places', () => {
  const drawn = drawingMarkup(
    ['  one   a list', '   │    of two', ' a b ◄──┘'].join('\n'),
  ).toString();
  expect(drawn).toContain('viewBox="0 0 112 60"');
  expect(drawn).toContain('<text text-anchor="middle" x="28" y="14">one</text>');
  expect(drawn).toContain('<text text-anchor="start" x="64" y="14">a list</text>');
  expect(drawn).toContain('<text text-anchor="end" x="32" y="54">a b</text>');
  expect(drawn).toContain('M28 30v-10M28 30v10');
  expect(drawn).toContain('M44 50m4-4-8 4 8 4z');
});

test('words are in the middle of their frame, and an arrow ends at it', () => {
  const drawn = drawingMarkup(['┌──▼──┐', '│ ab  │', '└─────┘'].join('\n')).toString();
  expect(drawn).toContain('<text text-anchor="middle" x="28" y="34">ab</text>');
  expect(drawn).toContain('M28 10m-4-8 4 8 4-8z');
  expect(drawn).toContain('M24 10h8');
});
