import { expect, test } from 'vitest';
import { createZoneNotice } from '../../../coordinator/health/notices.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { ownDatabase } from '../../support/services.ts';

const { sql } = await ownDatabase();

test('a notice comes when the time zones are over 120 days old, once, and goes when a coordinator has newer ones', async () => {
  const owner = newId();
  let now = Date.parse('2026-11-01T00:00:00Z');
  const of = (version: string) => createZoneNotice({ sql, owner, clock: { now: () => now }, version, isLeader: () => false });
  const notices = () => sql<{ message: string; over: boolean }[]>`
    select message, ended_at is not null as over from notices where kind = 'time_zones_old' order by id`;
  const old = of('2026c');
  await old.tick();
  expect(await notices()).toEqual([]);
  now = Date.parse('2026-11-20T00:00:00Z');
  await old.tick();
  now += 86_400_000;
  await old.tick();
  const message = expect.stringMatching(
    /^The time zones of the coordinator on \S+ are of version 2026c of 2026-07-08, over 120 days old; clocks may have/,
  );
  expect(await notices()).toEqual([{ message, over: false }]);
  // Its clock was wrong, and is set.
  now = Date.parse('2026-10-01T00:00:00Z');
  await old.tick();
  expect(await notices()).toEqual([{ message, over: true }]);
});
