import { isRecord } from '../base/json.ts';
import { isTimeZone, parseCron } from '../checks/heartbeat/schedule.ts';
import { cronFrom } from './calendar.ts';
import { beginImport, type Imported, type Work } from './result.ts';
import { cleaned, type Row, rowOf } from './rows.ts';
import { graceFrom, newPingAddress, omitUnread, pingIntervalFrom, tagsFrom } from './settings.ts';

/** What a check says of its past, its links, and how it is shown. */
const meaningless = new Set([
  'slug',
  'n_pings',
  'started',
  'last_ping',
  'last_duration',
  'next_ping',
  'badge_url',
  'update_url',
  'pause_url',
  'resume_url',
  'unique_key',
  'uuid',
  'ping_url',
  'status',
]);
const keywords = 'pings are not read for words; the ending of the address says how a run ended.';
const reasons: Readonly<Record<string, string>> = {
  manual_resume: 'a ping to a paused heartbeat does not resume it; nor does one here.',
  methods: 'a ping counts by any method.',
  channels: 'integrations of a check are to be set up as channels.',
  subject: keywords,
  subject_fail: keywords,
  start_kw: keywords,
  success_kw: keywords,
  failure_kw: keywords,
  filter_subject: keywords,
  filter_body: keywords,
  filter_http_body: keywords,
  filter_default_fail: keywords,
};

/** Healthchecks: the answer of `GET /api/v3/checks/`. */
export function importHealthchecks(answer: unknown): Imported {
  const work = beginImport();
  const raw = cleaned(answer);
  for (const one of rowOf(isRecord(raw) ? raw : {}).records('checks')) {
    const row = rowOf(one, meaningless);
    const name = row.text('name') || row.text('slug') || 'check';
    const { isLost, ...due } = scheduleOf(row, name, work);
    const alias = aliasOf(row);
    work.omit(
      name,
      alias === undefined
        ? newPingAddress
        : 'its ping address keeps its path, which is in the file: point the host of the address here.',
    );
    const note = row.text('desc').slice(0, 2_048);
    if (note !== '')
      work.omit(name, 'its description is its target here: a note, which decides nothing.');
    work.add('monitors', name, {
      type: 'heartbeat',
      target: note,
      interval_s: pingIntervalFrom(row.number('timeout'), name, work),
      config: {
        grace_s: graceFrom(row.number('grace')),
        ping_alias: alias,
        ...due,
      },
      enabled: isLost || row.text('status') === 'paused' ? false : undefined,
      tags: tagsFrom(row.text('tags').split(/\s+/)),
    });
    omitUnread(row, name, work, reasons);
  }
  return work.done();
}

/** When its pings are due; one whose schedule is lost would be called missed at any time. */
function scheduleOf(
  row: Row,
  name: string,
  work: Work,
): { readonly schedule?: string; readonly timezone?: string; readonly isLost: boolean } {
  const [given, zone] = [row.text('schedule'), row.text('tz')];
  if (given === '') return { isLost: false };
  const { schedule, zone: own } =
    (typeof parseCron(given) === 'string' ? cronFrom(given) : { schedule: given, zone: '' }) ?? {};
  if (schedule === undefined) {
    work.omit(
      name,
      `its schedule "${given.slice(0, 60)}" is none that cron can say: it is paused; set an interval or a schedule.`,
    );
    return { isLost: true };
  }
  const timezone = own || zone;
  if (timezone === '' || isTimeZone(timezone)) return { schedule, timezone, isLost: false };
  work.omit(name, `its time zone ${timezone} is not known: its schedule is in UTC.`);
  return { schedule, isLost: false };
}

/** A key that may only read gives neither. */
function aliasOf(row: Row): string | undefined {
  return /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i.exec(
    `${row.text('uuid')} ${row.text('ping_url')}`,
  )?.[0];
}
