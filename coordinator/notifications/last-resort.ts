import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import { type NewMail, postMails } from '../account-mail/queries.ts';
import type { Queryable, Sql } from '../database/connect.ts';
import { inTransaction, jsonText } from '../database/sql.ts';
import {
  fullBucket,
  gather,
  isLastResort,
  isOwnerNotificationDue,
  lastResortMs,
} from './policy.ts';

/**
 * The last resort (rule 38). Owners are mailed when no channel accepted a "down" in time, and once
 * a day about a channel that does not deliver. Owners of a private probe are mailed about its
 * problems (rule 39). These mails use the mail server, not the channels. Where mail is not set up,
 * the log says that no one could be mailed.
 */
type OwnerFallback = { readonly tick: () => Promise<void> };

const most = 500;
const lastsMs = 60_000;
const probeAgainMs = 3_600_000;

type Dependencies = {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly hasMail: boolean;
};

export function createOwnerFallback({ sql, clock, log, hasMail }: Dependencies): OwnerFallback {
  const mailUndelivered = (now: number): Promise<number> =>
    inTransaction(sql, async (transaction) => {
      const found = await undeliveredDowns(transaction, now - lastResortMs, most);
      const undelivered = found.filter(({ first_told_at }) =>
        isLastResort({ first_told_at, delivered: false }, now),
      );
      const byOrganisation = [
        ...Map.groupBy(undelivered, ({ organisation_id }) => organisation_id),
      ].flatMap(([organisation, downs]) => {
        const gathered = gather(
          { ...fullBucket, fullAt: downs[0]?.full_at ?? 0 },
          { now, more: true },
        );
        // What may not leave at once waits for the next tick, and leaves together.
        return gathered.is === 'leaves'
          ? [{ organisation, downs, fullAt: gathered.bucket.fullAt }]
          : [];
      });
      if (byOrganisation.length === 0) return 0;
      const owners = hasMail
        ? await ownersOf(
            transaction,
            byOrganisation.map(({ organisation }) => organisation),
          )
        : new Map<string, readonly string[]>();
      const mailed = (organisation: string) => owners.get(organisation) ?? [];
      const written = await writeLastResorts(
        transaction,
        byOrganisation.flatMap(({ organisation, downs }) =>
          downs.map(({ incident }) => ({ incident, organisation, mailed: mailed(organisation) })),
        ),
        now,
      );
      await postMails(
        transaction,
        byOrganisation.flatMap(({ organisation, downs }) => {
          // Another coordinator may have mailed of the others since they were read.
          const own = downs.filter(({ incident }) => written.has(incident));
          const [first] = own;
          if (first === undefined) return [];
          return mailed(organisation).map(
            (recipient): NewMail => ({
              kind: 'last-resort',
              recipient,
              about: {
                incident: first.incident,
                names: own.slice(0, 20).map(({ monitor_name }) => monitor_name),
                count: own.length,
              },
              at: now,
            }),
          );
        }),
      );
      await writeResortBuckets(transaction, byOrganisation);
      return undelivered.length;
    });

  const mailFailingChannels = (now: number): Promise<number> =>
    inTransaction(sql, async (transaction) => {
      const failing = (await failingChannels(transaction, most)).filter((channel) =>
        isOwnerNotificationDue(channel, now),
      );
      if (failing.length === 0) return 0;
      const owners = await ownersOf(transaction, [
        ...new Set(failing.map(({ organisation_id }) => organisation_id)),
      ]);
      await postMails(
        transaction,
        failing.flatMap(({ id, organisation_id, name, failure }) =>
          (owners.get(organisation_id) ?? []).map(
            (recipient): NewMail => ({
              kind: 'not-delivering',
              recipient,
              about: { channel: id, name, failure: failure ?? '' },
              at: now,
            }),
          ),
        ),
      );
      await ownersNotified(
        transaction,
        failing.map(({ id }) => id),
        now,
      );
      return failing.length;
    });

  /** A probe that restarts does not matter; one that comes and goes makes one mail an hour. */
  const mailProbeNotices = (now: number): Promise<number> =>
    inTransaction(sql, async (transaction) => {
      const notices = await noticesOfPrivateProbes(
        transaction,
        { beganBefore: now - lastsMs, since: now - probeAgainMs },
        most,
      );
      if (notices.length === 0) return 0;
      const owners = await ownersOf(transaction, [
        ...new Set(notices.map(({ organisation_id }) => organisation_id)),
      ]);
      await postMails(
        transaction,
        notices.flatMap(({ organisation_id, message }) =>
          (owners.get(organisation_id) ?? []).map(
            (recipient): NewMail => ({
              kind: 'private-probe',
              recipient,
              about: { message },
              at: now,
            }),
          ),
        ),
      );
      await noticesSent(
        transaction,
        notices.map(({ id }) => id),
        now,
      );
      return notices.length;
    });

  return {
    tick: async () => {
      const now = clock.now();
      const incidents = await mailUndelivered(now);
      if (incidents > 0)
        log.warn({ incidents }, 'no channel accepted a "down" in time; mailing the owners');
      if (!hasMail) return;
      const notices = await mailProbeNotices(now);
      if (notices > 0) log.info({ notices }, 'private probes have a problem; mailing their owners');
      const channels = await mailFailingChannels(now);
      if (channels > 0) log.warn({ channels }, 'channels fail; mailing their owners');
    },
  };
}

type UndeliveredDown = {
  readonly incident: string;
  readonly organisation_id: string;
  readonly monitor_name: string;
  readonly first_told_at: number;
  readonly full_at: number;
};

/**
 * Open incidents whose "down" was sent before `toldBefore` through at least one channel, was
 * accepted by none, and whose owners were not mailed. Rows are locked.
 */
function undeliveredDowns(
  sql: Queryable,
  sentBefore: number,
  limit: number,
): Promise<UndeliveredDown[]> {
  return sql<UndeliveredDown[]>`
    select i.id as incident, i.organisation_id, m.name as monitor_name, t.first_told_at,
      o.last_resort_full_at as full_at
    from (select s.incident_id, min(s.first_told_at) as first_told_at from alert_steps s
      left join deliveries g on g.id = s.message_id
      where s.event in ('down', 'flapping') and s.first_told_at is not null
        and s.incident_id in (select incident_id from alert_steps w join deliveries x
          on x.id = w.message_id
          where x.state in ('waiting', 'refused', 'failed')
            and w.first_told_at <= ${new Date(sentBefore)} and w.event in ('down', 'flapping'))
      group by s.incident_id having not coalesce(bool_or(g.state = 'delivered'), false)) t
    join incidents i on i.id = t.incident_id and i.resolved_at is null
    join monitors m on m.id = i.monitor_id
    join organisations o on o.id = i.organisation_id
    where t.first_told_at <= ${new Date(sentBefore)}
      and not exists (select 1 from last_resorts l where l.incident_id = i.id)
    order by t.first_told_at limit ${limit} for no key update of i skip locked`;
}

export async function ownersOf(
  sql: Queryable,
  organisations: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = await sql<{ organisation_id: string; emails: string[] }[]>`
    select m.organisation_id, array_agg(u.email order by u.email) as emails from memberships m
    join users u on u.id = m.user_id
    where m.role = 'owner' and m.organisation_id = any(${organisations}::uuid[])
    group by m.organisation_id`;
  return new Map(rows.map(({ organisation_id, emails }) => [organisation_id, emails]));
}

type LastResort = {
  readonly incident: string;
  readonly organisation: string;
  readonly mailed: readonly string[];
};

async function writeLastResorts(
  sql: Queryable,
  resorts: readonly LastResort[],
  now: number,
): Promise<ReadonlySet<string>> {
  if (resorts.length === 0) return new Set();
  const written = await sql<{ incident: string }[]>`
    insert into last_resorts (incident_id, organisation_id, at, mailed)
    select incident, organisation, ${new Date(now)}, array(select json_array_elements_text(mailed))
    from json_to_recordset(${jsonText([...resorts])}::text::json) as r (incident uuid,
      organisation uuid, mailed json)
    on conflict do nothing returning incident_id as incident`;
  return new Set(written.map(({ incident }) => incident));
}

async function writeResortBuckets(
  sql: Queryable,
  buckets: readonly { readonly organisation: string; readonly fullAt: number }[],
): Promise<void> {
  if (buckets.length === 0) return;
  await sql`update organisations o set last_resort_full_at = to_timestamp(b.full_at / 1000)
    from unnest(${buckets.map(({ organisation }) => organisation)}::uuid[],
      ${buckets.map(({ fullAt }) => fullAt)}::float8[]) as b (id, full_at)
    where o.id = b.id`;
}

type FailingChannel = {
  readonly id: string;
  readonly organisation_id: string;
  readonly name: string;
  readonly failure: string | null;
  readonly failing_since: number | null;
  readonly refused_at: number | null;
  readonly owners_told_at: number | null;
};

/** Channels that failed or refused last; rows are locked. */
function failingChannels(sql: Queryable, limit: number): Promise<FailingChannel[]> {
  return sql<FailingChannel[]>`
    select id, organisation_id, name, failure, failing_since, refused_at, owners_told_at
    from channels
    where deleted_at is null and (failing_since is not null or refused_at is not null) and enabled
    order by owners_told_at nulls first limit ${limit} for no key update skip locked`;
}

async function ownersNotified(
  sql: Queryable,
  channels: readonly string[],
  now: number,
): Promise<void> {
  await sql`update channels set owners_told_at = ${new Date(now)}
    where id = any(${channels}::uuid[])`;
}

type ProbeNotice = {
  readonly id: number;
  readonly organisation_id: string;
  readonly message: string;
};

/**
 * Open notices about private probes whose owners were not mailed about this one, nor about one of
 * its kind since `since`. Rows are locked.
 */
function noticesOfPrivateProbes(
  sql: Queryable,
  { beganBefore, since }: { readonly beganBefore: number; readonly since: number },
  limit: number,
): Promise<ProbeNotice[]> {
  return sql<ProbeNotice[]>`
    select n.id, p.organisation_id, n.message from notices n
    join probes p on p.id::text = n.subject and p.organisation_id is not null
      and p.revoked_at is null
    where n.ended_at is null and n.owners_told_at is null and n.began_at <= ${new Date(beganBefore)}
      and not exists (select 1 from notices e where e.subject = n.subject and e.kind = n.kind
        and e.owners_told_at > ${new Date(since)})
    order by n.id limit ${limit} for update of n skip locked`;
}

async function noticesSent(sql: Queryable, notices: readonly number[], now: number): Promise<void> {
  await sql`update notices set owners_told_at = ${new Date(now)}
    where id = any(${notices}::bigint[])`;
}
