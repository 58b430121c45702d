import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createChanges } from '../../../coordinator/web/live.ts';
import { startWeb, type TestWeb, untilChanged } from '../../support/web.ts';

describe('a page that opens its stream', () => {
  /** A database that says what a test says, and a clock that stands. */
  const begin = () => {
    let now = 1_000_000;
    let hear = (_: string): void => undefined;
    let listening = (): void => undefined;
    let listens = 0;
    const make = () =>
      createChanges({
        clock: { now: () => now },
        log: { warn: () => undefined },
        listen: async (_channel, listener, onListening) => {
          listens += 1;
          hear = listener;
          listening = onListening;
          return { unlisten: async () => undefined };
        },
      });
    const changes = make();
    const watch = (organisation: string, since?: string): (() => number) => {
      let told = 0;
      const listener = (): void => {
        told += 1;
      };
      changes.onChange(organisation, listener, since);
      return () => told;
    };
    return {
      changes,
      make,
      watch,
      passes: (ms: number): void => {
        now += ms;
      },
      hear: (organisation: string) => hear(organisation),
      listening: () => listening(),
      listens: () => listens,
    };
  };

  test('is notified at once of changes since it was made, and of nothing without changes', () => {
    const { changes, watch, hear, listening } = begin();
    watch('other');
    listening();
    // All in one millisecond: what came first is known all the same.
    const made = changes.moment();
    expect(watch('ours', made)()).toBe(0);
    hear('ours');
    expect(watch('ours', made)()).toBe(1);
    expect(watch('theirs', made)()).toBe(0);
    expect(watch('ours', changes.moment())()).toBe(0);
  });

  test('is told of nothing when changes were heard of since an earlier page, without any stream', () => {
    const { changes, watch, listening, listens } = begin();
    changes.moment();
    expect(listens()).toBe(1);
    listening();
    expect(watch('ours', changes.moment())()).toBe(0);
    expect(listens()).toBe(1);
  });

  test('is notified when its version cannot be compared: no changes were received yet, or the version is invalid', () => {
    const { changes, watch, passes, listening } = begin();
    const made = changes.moment();
    passes(10);
    const first = watch('ours', made);
    expect(first()).toBe(0);
    listening();
    expect(first()).toBe(1);
    expect(watch('ours', made)()).toBe(1);
    expect(watch('ours', 'yesterday')()).toBe(1);
  });

  test('from another coordinator has a tolerance of some seconds', () => {
    const { make, watch, passes, hear, listening } = begin();
    watch('ours');
    listening();
    passes(60_000);
    hear('ours');
    passes(2_000);
    // The same database and clock, another process; it hears nothing here.
    const foreign = make().moment();
    expect(watch('ours', foreign)()).toBe(1);
    passes(60_000);
    expect(watch('ours', make().moment())()).toBe(0);
  });
});

/** The stream of a page that is open, as a browser reads it. */
describe('live stream', () => {
  let web: TestWeb;
  beforeAll(async () => {
    web = await startWeb();
  });
  afterAll(() => web.close());

  const change = (name: string) =>
    web.sql`insert into groups (id, organisation_id, name, name_folded) values (gen_random_uuid(), ${web.house.organisation}, ${name}, ${name})`;

  test('changes between a page and its stream are sent as the stream opens', async () => {
    // The first stream of all hears when the database is listened to: what was before nobody knows.
    await untilChanged(web);
    const text = await web.text('/', 'member');
    const [, since = ''] = / data-since="([^"]+)"/.exec(text) ?? [];
    expect(since).not.toBe('');
    await change('made meanwhile');
    // Nothing changes from here on: it is this change that is told, or nothing is ever.
    const id = await untilChanged(web, `/live?since=${since}`);
    // A stream that broke off is opened anew with the last word that it had, which goes before the
    // page's.
    await change('made later');
    await untilChanged(web, `/live?since=${since}`, { 'last-event-id': id });
  });
});
