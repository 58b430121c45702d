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

  const due = now - told.confirmed_ago + 402;
  const down: Down = { ...told, channel: ops.id, sentence: downSentence(told.name), due };
  const message = await tellOfDown(sql, organisation, down);
  const mailed = newId();
  const [before, content] = [new Date(due - 3 * day), JSON.stringify(contentOf(down))];
  await sql`insert into deliveries (id, organisation_id, channel_id, event, thread_id, told, state, due_at, created_at, attempts, next_at, settled_at)
    values (${mailed}, ${organisation}, ${night.id}, 'down', ${mailed}, ${content}, 'delivered', ${before}, ${before}, 1, ${before}, ${before})`;
  await sql`insert into alert_steps ${rowsFor(sql, 'alert_steps', {
    ...stepOf(organisation, down),
    channel_id: pager.id,
    state: 'held',
    message_id: null,
    settled_at: null,
    holds: [['delay', due - 4, due + 5 * minute]],
  })}`;
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

const downSentence = (name: string): string => `${name} is down: status 503, expected 2xx.`;

/** A confirmed outage of which a channel is told; `due`: when that was due. */
type Down = Pick<Told, 'incident' | 'monitor' | 'name'> & {
  readonly channel: string;
  readonly sentence: string;
  readonly due: number;
};

const contentOf = ({ sentence, monitor: id, incident, name }: Down) => ({
  sentence,
  monitors: [{ id, incident, name, event: 'down' }],
});

const stepOf = (organisation: string, { monitor, incident, due }: Down) => ({
  organisation_id: organisation,
  monitor_id: monitor,
  incident_id: incident,
  event: 'down',
  due_at: due,
  look_at: due,
  created_at: due + 3,
});

/** The alert, and its message, which the channel takes at the second attempt. */
export const tellOfDown = async (sql: Sql, organisation: string, down: Down): Promise<string> => {
  const { channel, incident, monitor, due } = down;
  const message = newId();
  const [at, created, taken] = [new Date(due), new Date(due + 3), new Date(due + 191)];
  const attempts = [
    {
      at: due + 4,
      took_ms: 36,
      status: 503,
      class: 'answer',
      verdict: 'retry',
      words: 'it answers with an error',
    },
    {
      at: due + 60,
      took_ms: 131,
      status: 200,
      class: 'answer',
      verdict: 'delivered',
      words: null,
    },
  ];
  await sql`insert into deliveries (id, organisation_id, channel_id, event, thread_id, told, state, due_at, created_at, attempts, next_at, settled_at, log)
    values (${message}, ${organisation}, ${channel}, 'down', ${message}, ${JSON.stringify(contentOf(down))}, 'delivered', ${at}, ${created}, 2, ${taken}, ${taken}, ${JSON.stringify(attempts)}::text::jsonb)`;
  await sql`insert into alert_steps ${rowsFor(sql, 'alert_steps', {
    ...stepOf(organisation, down),
    channel_id: channel,
    state: 'told',
    message_id: message,
    settled_at: due + 191,
    holds: [],
  })}`;
  await sql`insert into alerts (organisation_id, monitor_id, incident_id, event, state, due_at, settled_at, planned_at)
    values (${organisation}, ${monitor}, ${incident}, 'down', 'sent', ${at}, ${created}, ${created})`;
  return message;
};
