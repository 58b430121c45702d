import { beforeAll, expect, test } from 'vitest';
import { createChannel } from '../../../shared/api/channels.ts';
import { getIncidentNotifications, listMessages } from '../../../shared/api/notifications.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';
import { rowsFor } from '../../support/rows.ts';

const bench = gateBench();
let house: TestOrganisation;
beforeAll(async () => {
  house = await createTestOrganisation(bench.sql);
});

const incidentOf = async (): Promise<{ monitor: string; incident: string }> => {
  const [monitor, incident] = [newId(), newId()];
  await bench.sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s)
    values (${monitor}, ${house.organisation}, 3, 'Shop', 'https', 'https://shop.example', 60)`;
  await bench.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at)
    values (${incident}, ${house.organisation}, ${monitor}, ${new Date(bench.now)}, ${new Date(bench.now)})`;
  return { monitor, incident };
};

test('rule 40: what was sent of an incident is told with it, and of no other', async () => {
  const { id: channel_id } = await bench.call(createChannel, house.owner, {
    kind: 'webhook',
    config: { url: 'https://hooks.example.org/a' },
    try: false,
  });
  const [first, second] = [await incidentOf(), await incidentOf()];
  const organisation_id = house.organisation;
  const now = bench.now;
  const sent = async ({ incident, monitor }: typeof first, event: string): Promise<string> => {
    const id = newId();
    const told = {
      sentence: `${event} of ${incident}`,
      monitors: [{ id: monitor, incident, name: 'Shop', event }],
    };
    await bench.sql`insert into deliveries (id, organisation_id, channel_id, event, thread_id, told, state, due_at, created_at, next_at, settled_at)
      values (${id}, ${organisation_id}, ${channel_id}, ${event}, ${id}, ${JSON.stringify(told)}, 'delivered', ${new Date(now)}, ${new Date(now)}, ${new Date(now)}, ${new Date(now)})`;
    await bench.sql`insert into alert_steps ${rowsFor(bench.sql, 'alert_steps', { organisation_id, channel_id, monitor_id: monitor, incident_id: incident, event, state: 'told', message_id: id, due_at: now, look_at: now, created_at: now })}`;
    return id;
  };
  const [down, other_down, up] = [
    await sent(first, 'down'),
    await sent(second, 'down'),
    await sent(first, 'up'),
  ];
  const { channels, messages } = await bench.call(getIncidentNotifications, house.viewer, {
    incident_id: first.incident,
  });
  expect(messages.map(({ id, sentence }) => [id, sentence])).toEqual([
    [up, `up of ${first.incident}`],
    [down, `down of ${first.incident}`],
  ]);
  expect(channels.find(({ channel }) => channel === channel_id)?.outcome).toBe('notified');
  const walked: string[] = [];
  for (let cursor: string | null = null, pages = 0; pages === 0 || cursor !== null; pages += 1) {
    const page: OutputOf<typeof listMessages> = await bench.call(listMessages, house.viewer, {
      channel: channel_id,
      limit: 2,
      cursor,
    });
    walked.push(...page.items.map(({ id }) => id));
    cursor = page.next_cursor;
  }
  expect(walked).toEqual([up, other_down, down]);
});
