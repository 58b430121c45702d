import { beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../../shared/base/crypto.ts';
import { notificationBench } from '../../support/notification-parts.ts';
import { ownDatabase } from '../../support/services.ts';

describe('rule 47: the "down" of a monitor whose parent is down', async () => {
  const { sql } = await ownDatabase({ name: 'parents', connections: 8 });
  const second = 1_000;
  const minute = 60 * second;

  let bench: Awaited<ReturnType<typeof notificationBench>>;
  beforeEach(async () => {
    await sql`truncate organisations, alerts cascade`;
    bench = await notificationBench(sql);
    await bench.channel('hook');
  });
  const heard = () => bench.heard('hook').flatMap(({ names }) => names);
  const child = async (name: string, parents: { monitors?: string[]; groups?: string[] }) => {
    const id = await bench.monitor(name);
    await sql`update monitors set depends_on_monitors = ${parents.monitors ?? []}::uuid[],
      depends_on_groups = ${parents.groups ?? []}::uuid[] where id = ${id}`;
    return id;
  };
  const later = async (ms: number) => {
    bench.now += ms;
    await bench.tell();
  };
  const stepOf = async (incident: string) =>
    (
      await sql<{ state: string; because: string | null; holds: unknown[][] }[]>`
        select state, because, holds from alert_steps
        where incident_id = ${incident} and event = 'down'`
    )[0];

  test('rule 47: is held, told once the parent is back and it is not, and dropped if it comes back too', async () => {
    const gateway = await bench.monitor('Gateway');
    const [shop, mail] = [
      await child('Shop', { monitors: [gateway] }),
      await child('Mail', { monitors: [gateway] }),
    ];
    const cause = await bench.down(gateway);
    const [ofShop, ofMail] = [await bench.down(shop), await bench.down(mail)];
    await bench.tell();
    await later(3 * 60 * minute);
    expect(heard()).toEqual(['Gateway']);
    expect((await stepOf(ofShop))?.holds).toEqual([
      ['dependency', expect.any(Number), expect.any(Number), 'Gateway'],
    ]);
    await bench.up(cause);
    await later(0);
    await bench.up(ofMail);
    // One round of its own, which takes a minute, and what it takes to decide on it.
    await later(minute + 10 * second);
    expect(heard()).toEqual(['Gateway', 'Gateway']);
    await later(10 * second);
    expect(heard()).toEqual(['Gateway', 'Gateway', 'Shop']);
    expect(await stepOf(ofMail)).toMatchObject({ state: 'dropped', because: 'over' });
  });

  test('rule 47: a group is down while a member is down that counts for it', async () => {
    const group = newId();
    await sql`insert into groups (id, organisation_id, name, name_folded)
      values (${group}, ${bench.organisation}, 'Routers', 'routers')`;
    const [first, second] = [
      await bench.monitor('First', group),
      await bench.monitor('Second', group),
    ];
    await sql`update monitors set affects_group_status = false where id = ${second}`;
    const shop = await child('Shop', { groups: [group] });
    await bench.checked(first, 'ok');
    await bench.down(second);
    const told = await bench.down(shop);
    await later(minute);
    expect(heard()).toEqual(['Second', 'Shop']);
    await bench.up(told);
    await later(minute);
    await bench.down(first);
    const held = await bench.down(shop);
    await later(minute);
    expect(heard()).toEqual(['Second', 'Shop', 'Shop', 'First']);
    expect((await stepOf(held))?.holds.at(-1)?.at(3)).toBe('Routers');
  });

  test('rule 47: leaves at once where each parent has passed since, and waits no longer than its answer may take', async () => {
    const [gateway, dns] = [await bench.monitor('Gateway'), await bench.monitor('DNS')];
    const shop = await child('Shop', { monitors: [gateway, dns] });
    const outage = await bench.down(shop);
    await bench.checked(gateway, 'ok');
    await bench.tell();
    expect(heard()).toEqual([]);
    expect((await stepOf(outage))?.holds.at(-1)?.at(0)).toBe('parent_check');
    await later(second);
    await bench.checked(dns, 'ok');
    await later(second);
    expect(heard()).toEqual(['Shop']);
    const mail = await child('Mail', { monitors: [gateway] });
    await bench.down(mail);
    await bench.tell();
    await later(10 * second);
    expect(heard()).toEqual(['Shop']);
    await later(10 * second);
    expect(heard()).toEqual(['Shop', 'Mail']);
  });

  test('rule 47: a parent that turns out to be down meanwhile explains it, and what was told stays told', async () => {
    const gateway = await bench.monitor('Gateway');
    const shop = await child('Shop', { monitors: [gateway] });
    await bench.down(shop);
    await bench.checked(gateway, 'fail');
    await bench.tell();
    await later(2 * second);
    const cause = await bench.down(gateway);
    await later(minute);
    expect(heard()).toEqual(['Gateway']);
    await bench.up(cause);
    await bench.tell();
    await later(2 * minute);
    expect(heard()).toEqual(['Gateway', 'Gateway', 'Shop']);
    await bench.down(gateway);
    await later(2 * minute);
    expect(heard()).toEqual(['Gateway', 'Gateway', 'Shop', 'Gateway']);
  });

  test('rule 47: a paused parent and a heartbeat are not waited for', async () => {
    const [paused, job] = [await bench.monitor('Paused'), await bench.monitor('Job')];
    await sql`update monitors set paused_at = now(), enabled = false where id = ${paused}`;
    await sql`update monitors set type = 'heartbeat' where id = ${job}`;
    await bench.down(await child('Shop', { monitors: [paused, job] }));
    await bench.tell();
    expect(heard()).toEqual(['Shop']);
  });
});
