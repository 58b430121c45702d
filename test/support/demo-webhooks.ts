import type { Sql } from '../../coordinator/database/connect.ts';
import { newSigningSecret } from '../../coordinator/notifications/kinds/webhook.ts';
import { createSecretsAtRest } from '../../coordinator/secrets/at-rest.ts';
import { eventPauses } from '../../coordinator/webhooks/model.ts';
import { insertWebhook } from '../../coordinator/webhooks/queries.ts';
import { sealWebhook } from '../../coordinator/webhooks/secrets.ts';
import { newId } from '../../shared/base/crypto.ts';
import { isoText } from '../../shared/base/time.ts';
import { testSecretKey } from './people.ts';
import { rowsFor } from './rows.ts';

/** For test files and pictures: programs that get events in the demo, and what they were sent. */

export type DemoWebhooks = {
  /** Fails at present. */
  readonly tickets: string;
  /** An event that waits for it. */
  readonly delivery: string;
  /** Works. */
  readonly archive: string;
  /** Was turned off, because its server said that it is gone. */
  readonly old: string;
};

const minute = 60_000;
const day = 1_440 * minute;

/** Into the organisation of the demo. `now`: what the pages take for now. */
export const seedDemoWebhooks = async (
  sql: Sql,
  organisation: string,
  now: number,
): Promise<DemoWebhooks> => {
  const at = (ago: number): number => now - ago;
  const secrets = createSecretsAtRest(testSecretKey);
  const make = async (
    url: string,
    description: string,
    event_types: readonly string[],
    set: Readonly<Record<string, string | boolean>>,
  ): Promise<string> => {
    const id = newId();
    const box = { url, secrets: [{ secret: newSigningSecret(), until: null }] };
    await insertWebhook(
      sql,
      {
        id,
        organisation,
        description,
        host: new URL(url).host,
        event_types,
        enabled: true,
        secrets: await sealWebhook(secrets, sql, id, box),
      },
      at(40 * day),
    );
    const columns = sql(Object.keys(set));
    await sql`update webhooks set (${columns}) = (select ${columns}
      from jsonb_populate_record(null::webhooks, ${JSON.stringify(set)}::text::jsonb))
      where id = ${id}`;
    return id;
  };
  const tickets = await make(
    'https://tickets.example.com/hooks/antipode',
    'Ticket system',
    ['incident.confirmed', 'incident.resolved'],
    {
      last_delivered_at: isoText(at(day)),
      failing_since: isoText(at(3 * minute)),
      last_failed_at: isoText(at(175_000)),
    },
  );
  const archive = await make('https://archive.example.com/events', '', [], {
    last_delivered_at: isoText(at(2 * minute)),
  });
  const old = await make('https://old.example.com/in', 'Old dashboard', [], {
    enabled: false,
    disabled_because: 'gone',
    last_delivered_at: isoText(at(9 * day)),
  });
  const delivery = newId();
  const event = (number: number): string => `5d0f7a3e-9c41-4b8e-a6d2-00000000000${number}`;
  // One was given up, each pause of the schedule after the last attempt.
  const tried = [at(5 * day)];
  for (const pause of eventPauses.afterMs) tried.push((tried.at(-1) ?? 0) + pause);
  const sent = { organisation_id: organisation, webhook_id: tickets };
  await sql`insert into deliveries ${rowsFor(sql, 'deliveries', [
    {
      ...sent,
      id: newId(),
      event_key: 1,
      event_id: event(1),
      event: 'incident.resolved',
      state: 'failed',
      created_at: at(5 * day),
      next_at: tried.at(-1),
      attempts: tried.length,
      log: tried.map((moment) => ({
        at: moment,
        took_ms: 10_000,
        status: null,
        class: 'timeout',
        answer: null,
      })),
      settled_at: tried.at(-1),
    },
    {
      ...sent,
      id: newId(),
      event_key: 2,
      event_id: event(2),
      event: 'incident.confirmed',
      state: 'delivered',
      created_at: at(day),
      next_at: at(day),
      attempts: 1,
      log: [{ at: at(day), took_ms: 48, status: 200, class: null, answer: 'ok' }],
      settled_at: at(day),
    },
    {
      ...sent,
      id: delivery,
      event_key: 3,
      event_id: event(3),
      event: 'incident.confirmed',
      state: 'waiting',
      created_at: at(3 * minute),
      next_at: at(-2 * minute),
      attempts: 2,
      log: [180_000, 175_000].map((ago) => ({
        at: at(ago),
        took_ms: 48,
        status: 503,
        class: null,
        answer: '<h1>Service Unavailable</h1>',
      })),
      settled_at: null,
    },
  ])}`;
  return { tickets, delivery, archive, old };
};
