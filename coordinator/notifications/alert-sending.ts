import { z } from 'zod';
import type { Log } from '../../shared/base/log.ts';
import { type Clock, isoText } from '../../shared/base/time.ts';
import type { Queryable } from '../database/connect.ts';
import { jsonText } from '../database/sql.ts';
import { type Answered, usualPauses, type Verdict } from '../deliveries/model.ts';
import { type Kind, type Outcome, retryOthersNow, type Shares } from '../deliveries/sending.ts';
import { type Figures, noFigures } from '../health/meters.ts';
import { channelSecretsOf, type SecretsAtRest } from '../secrets/at-rest.ts';
import {
  type ChannelConfig,
  type ChannelKind,
  type Outgoing,
  type SendOutcome,
  setUpFailures,
} from './kinds/types.ts';
import type { LinkedContent } from './links.ts';
import {
  contentFrom,
  isWarning,
  type MessageLinks,
  type Notification,
  newestOfEach,
} from './message.ts';
import { afterAttempt, isBelieved } from './policy.ts';
import { atOnceToOneHost } from './transport.ts';

/** What an alert's delivery says, and where it goes. */
type ClaimedMessage = {
  readonly id: string;
  readonly key: number;
  readonly attempts: number;
  readonly channel_id: string;
  readonly thread_id: string;
  /** The receiver's name for the first message of the thread. */
  readonly thread_reference: string | null;
  readonly told: unknown;
  readonly due_at: number;
  readonly channel_kind: string;
  readonly config: { readonly [name: string]: string };
  readonly secrets: Uint8Array | null;
};

/**
 * Shorter than the time after which owners are mailed about undelivered alerts.
 */
const claimMs = 60_000;
/** A host gets no more than the sender allows to it at once. */
const shares: Shares = {
  all: 256,
  subject: 2,
  host: atOnceToOneHost,
  organisation: 32,
  failing: 256,
};

export type AlertDependencies = {
  readonly clock: Clock;
  readonly log: Pick<Log, 'error'>;
  readonly kindOf: (id: string) => ChannelKind | undefined;
  readonly send: (outgoing: Outgoing) => Promise<SendOutcome>;
  readonly openSecrets: (channel: string, box: Uint8Array) => Promise<ChannelConfig>;
  readonly linksOf: (message: LinkedContent) => Promise<MessageLinks>;
  readonly figures?: Figures;
};

/**
 * Alerts and warnings for channels. The host is `mail`, the one that messages go to, or the channel
 * itself where it is unknown.
 */
export function alertKind(deps: AlertDependencies): Kind<ClaimedMessage> {
  const { clock, log, kindOf, send, openSecrets, linksOf, figures = noFigures } = deps;

  const notificationOf = async (
    message: ClaimedMessage,
    mailbox: string | null,
  ): Promise<Notification> => {
    const content = contentFrom(message.told);
    const { id, key, channel_id: channel, thread_id, thread_reference } = message;
    const open = content.monitors.filter(
      ({ event }) => event === 'down' || event === 'reminder' || event === 'flapping',
    );
    const incidents = content.monitors.map(({ incident }) => incident);
    const links = await linksOf({
      id,
      key,
      channel,
      incidents,
      warned: isWarning(content) ? content.monitors.map((monitor) => monitor.id) : null,
      mayAcknowledge: open.length > 0,
      mailbox,
    });
    const monitors = newestOfEach(content.monitors, ({ id: monitor }) => monitor);
    return {
      ...content,
      monitors,
      links,
      key: id,
      thread: { key: thread_id, reference: thread_reference, over: content.thread.over },
    };
  };

  const answerTo = async (message: ClaimedMessage): Promise<Answered> => {
    const kind = kindOf(message.channel_kind);
    if (kind === undefined) return refused('This version does not support this kind of channel.');
    const secrets =
      message.secrets === null ? {} : await openSecrets(message.channel_id, message.secrets);
    const notification = await notificationOf(
      message,
      kind.id === 'email' ? (message.config.address ?? null) : null,
    );
    let outgoing: Outgoing;
    try {
      outgoing = kind.message(notification, { ...message.config, ...secrets }, clock.now());
    } catch (error) {
      log.error(
        { err: error, channel: message.channel_id, kind: message.channel_kind },
        'could not compose a message',
      );
      return refused(
        'The settings of this channel are not valid any more. Edit and save the channel.',
      );
    }
    const answer = await send(outgoing);
    return { ...classOf(answer), verdict: believed(kind.judge(answer), message) };
  };

  return {
    name: 'alert',
    claimMs,
    shares,
    pauses: usualPauses,
    retriedOnStart: setUpFailures,
    keepsAll: true,
    receivers: (sql) => sql`
      select id, case when kind = 'email' then 'mail' else coalesce(host, id::text) end as host,
        organisation_id as organisation, false as is_failing, 0 as turn from channels`,
    columns: (sql) => sql`
      d.channel_id, d.thread_id, d.told, d.due_at, h.kind as channel_kind, h.config, h.secrets,
      (select reference from deliveries t where t.id = d.thread_id) as thread_reference`,
    tables: (sql) => sql`join channels h on h.id = d.channel_id`,
    attempt: async (message) => {
      const answered = await answerTo(message);
      const late = clock.now() - message.due_at;
      figures.told(message.channel_kind, answered.verdict.is, late);
      return answered;
    },
    settle: async (transaction, outcomes, write) => {
      const byChannel = Map.groupBy(outcomes, ({ subject }) => subject);
      const channels = await deliveringOf(transaction, [...byChannel.keys()]);
      await write();
      await writeDelivering(transaction, channels, byChannel);
      const accepting = outcomes.filter(({ verdict }) => verdict === 'delivered');
      await retryOthersNow(
        transaction,
        'alert',
        accepting.map(({ subject }) => subject),
        clock.now(),
      );
    },
  };
}

const secretsShape = z.record(z.string(), z.string());

/** Opens the secrets of channels. */
export function createOpener(
  sql: Queryable,
  secrets: SecretsAtRest,
): AlertDependencies['openSecrets'] {
  return async (channel, box) =>
    secretsShape.parse(JSON.parse(await secrets.open(sql, box, channelSecretsOf(channel))));
}

function refused(words: string): Answered {
  return { status: null, class: 'settings', verdict: { is: 'refused', words } };
}

function believed(verdict: Verdict, message: { readonly attempts: number }): Verdict {
  return verdict.is === 'refused' && verdict.doubted === true && !isBelieved(message)
    ? { is: 'retry', words: verdict.words }
    : verdict;
}

/** The answer as it is stored: a status, or a class of our own. */
export function classOf(answer: SendOutcome): {
  readonly status: number | null;
  readonly class: string;
} {
  if (answer.is === 'answer') return { status: answer.status, class: 'answer' };
  if (answer.is === 'mail') return { status: answer.code, class: 'mail' };
  return { status: null, class: answer.failure };
}

type DeliveringRow = {
  readonly id: string;
  readonly failing_since: number | null;
  readonly refused_at: number | null;
};

/** The delivery state of these channels, locked until the transaction ends. */
function deliveringOf(sql: Queryable, channels: readonly string[]): Promise<DeliveringRow[]> {
  return sql<
    DeliveringRow[]
  >`select id, failing_since, refused_at from channels where id = any(${channels}::uuid[])
  order by id for no key update`;
}

async function writeDelivering(
  sql: Queryable,
  channels: readonly DeliveringRow[],
  byChannel: ReadonlyMap<string, readonly Outcome[]>,
): Promise<void> {
  const rows = channels.map(({ id, failing_since, refused_at }) => {
    const own = byChannel.get(id) ?? [];
    const before = {
      failing_since,
      refused_at,
    };
    const after = own.reduce((so, { state, at }) => afterAttempt(so, verdictOf(state), at), before);
    return {
      id,
      failing_since: isoText(after.failing_since),
      refused_at: isoText(after.refused_at),
      failure: own.at(-1)?.words ?? null,
      delivered_at: isoText(own.findLast(({ state }) => state === 'delivered')?.at ?? null),
    };
  });
  await sql`
    update channels c
    set failing_since = d.failing_since, refused_at = d.refused_at, failure = d.failure,
      last_delivered_at = coalesce(d.delivered_at, c.last_delivered_at), owners_told_at = case
        when d.delivered_at is null then c.owners_told_at end
    from json_to_recordset(${jsonText(rows)}::text::json) as d (id uuid, failing_since timestamptz,
      refused_at timestamptz, failure text,
      delivered_at timestamptz)
    where c.id = d.id`;
}

/** What is given up counts as refused: someone has to act. */
function verdictOf(state: Outcome['state']): 'delivered' | 'retry' | 'refused' {
  if (state === 'delivered') return 'delivered';
  return state === 'waiting' ? 'retry' : 'refused';
}
