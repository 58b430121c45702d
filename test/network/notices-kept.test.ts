import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { createNetwork, type Network } from '../support/network.ts';

/** One notice for an event, also when the database could not be written to in that moment, or a coordinator ended in the midst of it. */

let network: Network;

beforeEach(async () => {
  network = await createNetwork();
});
afterEach(() => network.close());

/** The database refuses to write these notices, and counts how often. */
const refuse = async (what: 'insert' | 'update'): Promise<void> => {
  await network.sql.unsafe(`create sequence refusals;
    create function refuse() returns trigger language plpgsql as $$ begin
      perform nextval('refusals'); raise exception 'not now' using errcode = '53100'; end $$;
    create trigger refuse before ${what} on notices for each row execute function refuse()`);
};
const refused = async (): Promise<boolean> => (await network.sql`select 1 from refusals where is_called`).length > 0;
const allow = () => network.sql.unsafe('drop trigger refuse on notices');

const open = async (kind: string): Promise<number> =>
  (await network.sql`select 1 from notices where kind = ${kind} and ended_at is null`).length;

describe('the notice of a lost probe', () => {
  test('ends with its return, although that could not be written down at first', async () => {
    await network.startCoordinator({ timing: { lostAfterMs: 6_500 } });
    for (const continent of ['Asia', 'Africa'] as const) await network.addProbe(continent);
    const { made, close } = await network.addProbe('Europe');
    await close();
    await eventually(async () => (await open('probe_lost')) === 1);
    await refuse('update');
    await network.startProbe(made);
    await eventually(refused);
    await allow();
    await eventually(async () => (await open('probe_lost')) === 0);
  });

  test('is opened, although it could not be written down at first', async () => {
    await network.startCoordinator({ timing: { lostAfterMs: 6_500 } });
    for (const continent of ['Asia', 'Africa'] as const) await network.addProbe(continent);
    const { close } = await network.addProbe('Europe');
    await refuse('insert');
    await close();
    await eventually(refused);
    await allow();
    await eventually(async () => (await open('probe_lost')) === 1);
  });

  test('ends, although another coordinator opened it and ended before it told anybody else', async () => {
    await network.startCoordinator({ timing: { lostAfterMs: 6_500 } });
    const { made } = await network.addProbe('Europe');
    await network.sql`insert into notices (kind, subject, message) values ('probe_lost', ${made.id}, 'of another time')`;
    await network.startCoordinator({ timing: { lostAfterMs: 6_500 } });
    await eventually(async () => (await open('probe_lost')) === 0);
  });
});

describe('the notice of a silent bus', () => {
  test('ends when the bus is heard, although the coordinator that opened it was killed before', async () => {
    await network.sql`insert into notices (kind, subject, message) values ('bus_silent', 'bus', 'Most probes fell silent at once')`;
    await network.startCoordinator();
    await network.addProbe('Europe');
    await eventually(async () => (await open('bus_silent')) === 0);
    expect(await network.sql`select 1 from notices where kind <> 'time_zones_old'`).toHaveLength(1);
  });
});
