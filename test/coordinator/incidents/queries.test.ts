import { expect, test } from 'vitest';
import { writeAcknowledgement, writeHandBack } from '../../../coordinator/incidents/queries.ts';
import { notificationBench } from '../../support/notification-parts.ts';
import { ownDatabase } from '../../support/services.ts';

const minute = 60_000;

test('rule 34: handed back, all notified recipients are reminded at once, later channels are notified, and it can be acknowledged again', async () => {
  const { sql } = await ownDatabase({ name: 'handing-back', connections: 8 });
  const bench = await notificationBench(sql);
  const events = (name: string) => bench.heard(name).map(({ event }) => event.split('.')[1]);
  await bench.channel('chat');
  await bench.channel('later', { delay_s: 300 });
  const incident = await bench.down(await bench.monitor('Shop'));
  await bench.tell();
  const own = { organisation: bench.organisation, now: bench.now };
  const ada = { incidents: [incident], user: null, as: 'Ada', ...own };
  await writeAcknowledgement(sql, ada);
  await bench.tell();
  bench.now += 10 * minute;
  await bench.tell();
  expect([events('chat'), events('later')]).toEqual([['down', 'acknowledged'], []]);

  const back = { incident, organisation: bench.organisation, by: 'Ada', now: bench.now };
  expect(await writeHandBack(sql, back)).toBe(true);
  expect(await writeHandBack(sql, back)).toBe(false);
  await bench.tell();
  expect(events('chat')).toEqual(['down', 'acknowledged', 'reminder']);
  expect(events('later')).toEqual(['down']);

  await writeAcknowledgement(sql, { ...ada, as: 'Ben', now: bench.now });
  await bench.tell();
  expect(bench.heard('chat').at(-1)?.sentence).toBe('Shop is acknowledged by Ben.');
  expect(events('later')).toEqual(['down', 'acknowledged']);
});
