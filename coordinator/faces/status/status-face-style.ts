import { createHash } from 'node:crypto';
import { type Body, bodyOf } from './status-face-sending.ts';
import { styleText } from './status-face-style-file.ts';

// No text in it has spaces that count.
const text = styleText()
  .replaceAll(/\s+/g, ' ')
  .replaceAll(/ ?([{};:,]) /g, '$1');

/** Has its content in its name, so that it is kept for ever and never out of date. */
export const styleName = `style-${createHash('sha256').update(text).digest('base64url').slice(0, 10)}.css`;

let made: Body | undefined;
export const styleBody = (): Body => {
  made ??= bodyOf(text);
  return made;
};
