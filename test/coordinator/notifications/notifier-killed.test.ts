import { beforeEach, expect, test } from 'vitest';
import { newId } from '../../../shared/base/crypto.ts';
import { eventually } from '../../support/eventually.ts';
import { ownDatabase } from '../../support/services.ts';
import { answered, notificationBench } from '../../support/telling-bench.ts';

const { sql } = await ownDatabase({ name: 'telling-killed', connections: 8 });

let bench: Awaited<ReturnType<typeof notificationBench>>;
beforeEach(async () => {
  await sql`truncate organisations, alerts cascade`;
  bench = await notificationBench(sql);
});

test('rules 28 and 31: what a killed coordinator had claimed is sent by another, with the same key; several send each message once', async () => {
  await bench.channel('chat');
  const [here, there] = [bench.coordinator(), bench.coordinator()];
  let die: () => void = () => undefined;
  const dying = new Promise<never>((_, reject) => {
    die = () => reject(new Error('killed'));
  });
  bench.answers.of = () => dying;
  await bench.down(await bench.monitor('Shop'));
  while (await here.planner.plan());
  while (await here.composer.compose());
  await here.courier.hurry();
  await eventually(async () => bench.sent.length === 1);
  bench.answers.of = () => answered(200);
  await there.courier.hurry();
  expect(bench.sent).toHaveLength(1);
  bench.now += 121_000;
  await Promise.all([there.courier.hurry(), there.courier.hurry()]);
  await eventually(async () => (await sql`select 1 from messages where state = 'taken'`).length === 1);
  expect(bench.heard('chat').map(({ key }) => key)).toEqual([bench.heard('chat')[0]?.key, bench.heard('chat')[0]?.key]);
  die();
});

test('rules 28 and 31: what a killed coordinator had claimed is sent at once by the one that starts in its place, and by no other', async () => {
  await bench.channel('chat');
  const place = newId();
  const here = bench.coordinator(place);
  const dying = Promise.withResolvers<never>();
  bench.answers.of = () => dying.promise;
  await bench.down(await bench.monitor('Shop'));
  while (await here.planner.plan());
  while (await here.composer.compose());
  await here.courier.hurry();
  await eventually(async () => bench.sent.length === 1);
  bench.answers.of = () => answered(200);
  bench.now += 1_000;
  await bench.coordinator().courier.hurry();
  expect(bench.sent).toHaveLength(1);
  const again = bench.coordinator(place);
  await again.courier.hurry();
  await eventually(async () => (await sql`select 1 from messages where state = 'taken'`).length === 1);
  const [first, second, ...more] = bench.heard('chat').map(({ key }) => key);
  expect([second, more]).toEqual([first, []]);
  dying.reject(new Error('killed'));
});
