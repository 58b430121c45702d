import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWeb, type TestWeb, untilChanged } from '../../support/web.ts';

/** The stream of a page that is open, as a browser reads it. */

let web: TestWeb;
beforeAll(async () => {
  web = await startWeb();
});
afterAll(() => web.close());

const change = (name: string) =>
  web.sql`insert into groups (id, organisation_id, name, name_folded) values (gen_random_uuid(), ${web.house.organisation}, ${name}, ${name})`;

test('what changes between the making of a page and the opening of its stream is told as the stream opens', async () => {
  // The first stream of all hears when the database is listened to: what was before nobody knows.
  await untilChanged(web);
  const { text } = await web.get('/', { as: web.house.member });
  const [, since = ''] = / data-since="([^"]+)"/.exec(text) ?? [];
  expect(since).not.toBe('');
  await change('made meanwhile');
  // Nothing changes from here on: it is this change that is told, or nothing is ever.
  const id = await untilChanged(web, `/live?since=${since}`);
  // A stream that broke off is opened anew with the last word that it had, which goes before the page's.
  await change('made later');
  await untilChanged(web, `/live?since=${since}`, { 'last-event-id': id });
});
