/** For test files and pictures: who is told in the demo, and what they were told. */

import type { Sql } from '../../coordinator/database/connect.ts';
import { createAlertLinks } from '../../coordinator/notifications/links.ts';
import { linkChannel, wantVerification } from '../../coordinator/notifications/queries.ts';
import { createAccountSecrets } from '../../coordinator/secrets/account-secrets.ts';
import { newId } from '../../shared/base/crypto.ts';
import { testSecretKey } from './people.ts';
import { rowsFor } from './rows.ts';

const second = 1_000;
const minute = 60 * second;
const day = 86_400 * second;

export type DemoChannels = {
  /** Delivers, is told of everything, and has told of the open incident. */
  readonly ops: string;
  /** Refuses for good. */
  readonly pager: string;
  /** The message that told `ops` of the open incident. */
  readonly message: string;
  /** What ends the links of a message. */
  readonly links: {
    readonly acknowledge: string;
    readonly acknowledge_short: string;
    readonly unsubscribe: string;
  };
  /** What a mailbox that has not said yes was asked by. */
  readonly question: string;
};

type Told = {
  readonly incident: string;
  readonly monitor: string;
  readonly name: string;
  readonly confirmed_ago: number;
};

/** Into the organisation of the demo. `now`: what the pages take for now. */
export const seedDemoChannels = async (
  sql: Sql,
  organisation: string,
  now: number,
  told: Told,
): Promise<DemoChannels> => {
  const at = (ago: number): string => new Date(now - ago).toISOString();
  const base = {
    organisation_id: organisation,
    verified_at: at(40 * day),
    created_at: at(40 * day),
    covers: 'all',
    delay_s: 0,
    enabled: true,
  };
  const none = {
    refused_at: null,
    failure: null,
    last_delivered_at: null,
    hours: null,
    reminder_s: null,
  };
  const channel = (kind: string, name: string, config: object, more: object = {}) => ({
    id: newId(),
    kind,
    name,
    config: { ...config },
    ...base,
    ...none,
    ...more,
  });
  const hours = {
    zone: 'UTC',
    spans: [{ days: [1, 2, 3, 4, 5], from: '18:00', to: '24:00' }],
  };
  const ops = channel(
    'ntfy',
    '#ops',
    { url: 'https://ntfy.shop.example', topic: 'ops' },
    { last_delivered_at: at(told.confirmed_ago - 700) },
  );
  const pager = channel(
    ...(['ntfy', 'Pager', { url: 'https://pager.invalid', topic: 'night' }] as const),
    {
      refused_at: at(2 * day),
      failure: 'the address no longer exists (410)',
      delay_s: 300,
      reminder_s: 900,
    },
  );
  const ana = channel(
    'email',
    'ana@shop.example',
    { address: 'ana@shop.example' },
    { verified_at: null },
  );

  const nightMailbox = 'night@shop.example';
  const night = channel(
    'email',
    'Night shift',
    { address: nightMailbox },
    { enabled: false, covers: 'chosen', hours },
  );
  await sql`insert into channels ${rowsFor(sql, 'channels', [ops, pager, ana, night])}`;
  await sql`insert into channel_choices (channel_id, monitor_id) values (${night.id}, ${told.monitor})`;

  const message = newId();
  const due = told.confirmed_ago - 402;
  const [created, taken] = [at(due - 3), at(due - 191)];
  const sentence = `${told.name} is down: status 503, expected 2xx.`;
  const content = {
    sentence,
    monitors: [{ id: told.monitor, incident: told.incident, name: told.name, event: 'down' }],
  };
  const mailed = newId();
  for (const [id, to, back] of [
    [mailed, night.id, 3 * day],
    [message, ops.id, 0],
  ] as const)
    await sql`insert into deliveries (id, organisation_id, channel_id, event, thread_id, told, state, due_at, created_at, attempts, next_at, settled_at)
      values (${id}, ${organisation}, ${to}, 'down', ${id}, ${JSON.stringify(content)}, 'delivered', ${at(due + back)}, ${created}, 2, ${taken}, ${taken})`;
  const attempts = [
    {
      at: Date.parse(at(due - 4)),
      took_ms: 36,
      status: 503,
      class: 'answer',
      verdict: 'retry',
      words: 'it answers with an error',
    },
    {
      at: Date.parse(at(due - 60)),
      took_ms: 131,
      status: 200,
      class: 'answer',
      verdict: 'delivered',
      words: null,
    },
  ];
  await sql`update deliveries set log = ${JSON.stringify(attempts)}::text::jsonb where id = ${message}`;
  const step = {
    organisation_id: organisation,
    monitor_id: told.monitor,
    incident_id: told.incident,
    event: 'down',
    due_at: at(due),
    look_at: at(due),
  };
  await sql`insert into alert_steps ${rowsFor(sql, 'alert_steps', [
    {
      ...step,
      channel_id: ops.id,
      state: 'told',
      message_id: message,
      settled_at: taken,
      holds: [],
      created_at: created,
    },
    {
      ...step,
      channel_id: pager.id,
      state: 'held',
      message_id: null,
      settled_at: null,
      created_at: created,
      holds: [['delay', now - due + 4, now - due + 5 * minute]],
    },
  ])}`;
  await sql`insert into alerts (organisation_id, monitor_id, incident_id, event, state, due_at, settled_at, planned_at)
    values (${organisation}, ${told.monitor}, ${told.incident}, 'down', 'sent', ${at(due)}, ${created}, ${created})`;
  const links = createAlertLinks(sql, { secretKey: testSecretKey });
  const [acknowledge, unsubscribe] = [
    await links.signAcknowledge(message),
    await links.signUnsubscribe(mailed, nightMailbox),
  ];
  const [{ key } = { key: 0 }] = await sql<
    { key: number }[]
  >`select key from deliveries where id = ${message}`;
  const acknowledge_short = await links.signShort({ id: message, key });
  const { text: question, fingerprint } = await createAccountSecrets(sql, {
    secretKey: testSecretKey,
  }).mint('channel');
  await wantVerification(sql, ana.id, { at: now, until: now + day });
  await linkChannel(sql, ana.id, fingerprint);
  return {
    ops: ops.id,
    pager: pager.id,
    message,
    links: { acknowledge, acknowledge_short, unsubscribe },
    question,
  };
};
