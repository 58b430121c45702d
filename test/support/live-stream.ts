/** For test files: the stream of a page that is open, as a browser reads it. */
import { expect } from 'vitest';
import type { TestWeb } from './web.ts';

/** Reads until the stream says that something changed: the first of all does so when changes are heard of at all. @returns the last id that it gave. */
export const untilChanged = async (web: TestWeb, path = '/live', headers: Readonly<Record<string, string>> = {}): Promise<string> => {
  const leave = new AbortController();
  const cookie = await web.cookieOf(web.house.member);
  const answer = await fetch(`${web.url}${path}`, { headers: { cookie, ...headers }, signal: leave.signal });
  expect(answer.headers.get('content-type')).toBe('text/event-stream');
  let text = '';
  for await (const piece of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += piece;
    if (text.includes('event: changed\ndata: 1\n\n')) break;
  }
  leave.abort();
  return [...text.matchAll(/^id: (.+)$/gm)].at(-1)?.[1] ?? '';
};
