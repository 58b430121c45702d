import { expect } from 'vitest';
import { z } from 'zod';
import { eventually } from '../support/eventually.ts';
import { test } from '../support/network-test.ts';
import { openReceiver, says } from '../support/receivers.ts';

/** Events on their way to a program, through coordinators that are killed. */

const idOf = z.object({ id: z.string() });

test('kill -9 between an answer and its commit sends the event again under the same id, and loses none', async ({
  network,
  onTestFinished,
}) => {
  const receiver = await openReceiver();
  onTestFinished(receiver.close);
  // It has the requests, and answers when it is told to.
  const held: (() => void)[] = [];
  receiver.answer((response) => {
    held.push(() => response.writeHead(204).end());
  });
  const killed = await network.startCoordinatorProcess();
  const send = async (path: string, payload: object): Promise<string> => {
    const answer = await fetch(`${killed.url}/api/v1${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${network.house.owner.readWrite}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(payload),
    });
    return idOf.parse(await answer.json()).id;
  };
  const webhook = await send('/webhooks', { url: `${receiver.url}/events` });
  const events: string[] = [];
  for (let number = 0; number < 10; number += 1)
    events.push(await send('/events', { name: `Deploy ${number}` }));
  const ids = (): string[] => receiver.got.map(({ headers }) => String(headers['webhook-id']));
  await eventually(async () => held.length > 0, 60_000);
  // What is answered now cannot be committed.
  const locked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const holding = network.sql.begin(async (transaction) => {
    await transaction`set local idle_in_transaction_session_timeout = 0`;
    await transaction`select 1 from webhooks where id = ${webhook} for no key update`;
    locked.resolve();
    await released.promise;
  });
  await locked.promise;
  for (const answer of held.splice(0)) answer();
  const isCommitting = async () =>
    (
      await network.sql`
        select 1 from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%webhooks%'`
    ).length > 0;
  await eventually(isCommitting, 60_000);
  killed.signal('SIGKILL');
  await killed.exited;
  const answered = ids();
  receiver.answer(says(204));
  released.resolve();
  await holding;
  const states = async () =>
    (
      await network.sql<{ state: string }[]>`
        select state from deliveries where webhook_id = ${webhook}`
    ).map(({ state }) => state);
  expect(new Set(await states())).toEqual(new Set(['waiting']));
  // Meanwhile there are more, of which no coordinator knows.
  const more = await network.sql<{ id: string }[]>`
    insert into events (organisation_id, what, name)
    select ${network.organisation}, 'deploy', 'Unseen ' || n from generate_series(1, 5) n
    returning event_id as id`;
  // The claims of the dead one end, as they do by themselves.
  await network.sql`update deliveries set next_at = now()`;
  await network.startCoordinatorProcess();
  await network.startCoordinatorProcess();
  await eventually(
    async () => (await states()).filter((state) => state === 'delivered').length === 15,
    60_000,
  );
  expect(new Set(ids())).toEqual(new Set([...events, ...more.map(({ id }) => id)]));
  // What was answered and not committed came twice, and nothing else did.
  const twice = ids().filter((id, at) => ids().indexOf(id) !== at);
  expect(twice.toSorted()).toEqual(answered.toSorted());
});
