import { getUptimeReport } from '../../shared/api/reports.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { isRecord } from '../../shared/base/json.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import { type About, postMail } from '../account-mail/queries.ts';
import type { Sql } from '../database/connect.ts';
import { inTransaction } from '../database/sql.ts';
import type { Results } from '../results/reading.ts';
import { msText, percentText } from '../web/elements.ts';
import { query } from '../web/html.ts';
import { timesIn } from '../web/times.ts';
import { dueReportMails, type Every, takeReportMail } from './mail-queries.ts';
import { mailedBy } from './period.ts';
import { reportOf } from './sheet.ts';
import { countingWords, keptWords, lengthWords, sentenceOf } from './words.ts';

type Told = Omit<About<'report'>, 'mail'>;

const atOnce = 100;
/** One that could not be mailed rests, so that those behind it have their turn. */
const restMs = 60_000;

/**
 * Mails reports, on the leader. A mail is posted in the transaction that moves its subscription
 * ahead: whatever ends in between, each goes out once.
 */
export function createReportMailing({
  sql,
  results,
  clock,
  log,
  isLeader,
  hasMail,
}: {
  readonly sql: Sql;
  readonly results: Results;
  readonly clock: Clock;
  readonly log: Log;
  readonly isLeader: () => boolean;
  readonly hasMail: boolean;
}): { readonly tick: () => Promise<void> } {
  const resting = new Map<string, number>();
  return {
    tick: async () => {
      if (!hasMail || !isLeader()) return;
      const now = clock.now();
      for (const [id, until] of resting) if (until <= now) resting.delete(id);
      // Members of an organisation often ask for the same.
      const made = new Map<string, Promise<Told | null>>();
      for (const due of await dueReportMails(sql, now, [...resting.keys()], atOnce)) {
        const { id, organisation, time_zone, every, report } = due;
        const { period, next } = mailedBy(every, time_zone, { due: due.next_at, now });
        const name = JSON.stringify([organisation, every, report, period]);
        const asked = { sql, results, organisation: { id: organisation, time_zone }, now };
        const told = made.get(name) ?? toldOf(asked, { every, report, period });
        made.set(name, told);
        try {
          const letter = await told;
          await inTransaction(sql, async (transaction) => {
            const recipient = await takeReportMail(transaction, due, next);
            if (recipient === undefined || letter === null) return;
            const about = { mail: id, ...letter };
            await postMail(transaction, { kind: 'report', recipient, about, at: now });
          });
        } catch (error) {
          // The others are mailed all the same.
          resting.set(id, now + restMs);
          log.warn({ err: error, subscription: id }, 'could not mail a report');
        }
      }
    },
  };
}

/** Null: there is nothing to mail, or what it is of is gone, perhaps not for good. */
async function toldOf(
  of: Parameters<typeof reportOf>[0],
  {
    every,
    report,
    period,
  }: { readonly every: Every; readonly report: unknown; readonly period: string | null },
): Promise<Told | null> {
  if (period === null || !isRecord(report)) return null;
  const asked = getUptimeReport.parse({ query: { ...report, period } });
  if (!asked.ok) return null;
  try {
    const address = `/reports${query({ ...texts(report), period })}`;
    return { every, address, ...tellingOf(await reportOf(of, asked.value), of.now) };
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

function texts(report: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(report).map(([name, value]) => [name, String(value)]));
}

const mostIncidents = 10;

function tellingOf(report: Awaited<ReturnType<typeof reportOf>>, now: number) {
  const { total, promised, monitors, worst, incidents, left_out, time_zone } = report;
  const times = timesIn(time_zone, now);
  const kept = keptWords(total);
  const listed = incidents.slice(0, mostIncidents);
  const more = incidents.length + left_out - listed.length;
  const tables = [
    {
      title: 'Most downtime',
      rows:
        monitors.length < 2
          ? []
          : worst.flatMap((id) => {
              const line = monitors.find(({ monitor }) => monitor === id);
              if (!line) return [];
              const { name, percent, counted_down_seconds: down, incidents: count } = line;
              const below = `${lengthWords(down)} down, ${count === 1 ? '1 incident' : `${count} incidents`}`;
              return [{ name, below, value: percentText(percent) }];
            }),
    },
    {
      title:
        more === 0 ? 'Incidents' : `The newest ${listed.length} of ${total.incidents} incidents`,
      rows: listed.map(({ name, cause, started_at, resolved_at, down_seconds }) => ({
        name,
        below: `${cause ?? 'Cause unknown'}, ${times.text(started_at, 'moment')}${resolved_at === null ? ', still open' : ''}`,
        value: lengthWords(down_seconds),
      })),
    },
  ].filter(({ rows }) => rows.length > 0);
  const figures = [
    ...(kept === null ? [] : [{ label: `Promised ${promised}%`, value: kept }]),
    { label: 'Down', value: lengthWords(total.counted_down_seconds) },
    { label: 'Incidents', value: String(total.incidents) },
    ...(total.response === null
      ? []
      : [{ label: 'Response, p95', value: msText(total.response.p95_ms) }]),
  ];
  return {
    subject: sentenceOf(report, times),
    counting: `Times in ${countingWords(report)}`,
    figures,
    tables,
  };
}
