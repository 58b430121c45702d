import { isRecord } from '../base/json.ts';
import { isTimeZone, parseCron } from '../checks/heartbeat/schedule.ts';
import { beginImport, type Imported } from './result.ts';
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
    const schedule = row.text('schedule');
    const zone = row.text('tz');
    if (schedule !== '' && typeof parseCron(schedule) === 'string') {
      work.omit(
        name,
        `its schedule "${schedule.slice(0, 60)}" is no cron expression of five fields.`,
      );
      continue;
    }
    const alias = aliasOf(row);
    work.omit(
      name,
      alias === undefined
        ? newPingAddress
        : 'its ping address keeps its path, which is in the file: point the host of the address here.',
    );
    work.add('monitors', name, {
      type: 'heartbeat',
      // A note of what the job is; it decides nothing.
      target: row.text('desc').slice(0, 2_048),
      interval_s: pingIntervalFrom(row.number('timeout'), name, work),
      config: {
        grace_s: graceFrom(row.number('grace')),
        ping_alias: alias,
        schedule,
        timezone: schedule !== '' && zone !== '' && isTimeZone(zone) ? zone : undefined,
      },
      enabled: row.text('status') === 'paused' ? false : undefined,
      tags: tagsFrom(row.text('tags').split(/\s+/)),
    });
    omitUnread(row, name, work, reasons);
  }
  return work.done();
}

/** A key that may only read gives neither. */
const aliasOf = (row: Row): string | undefined =>
  /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i.exec(
    `${row.text('uuid')} ${row.text('ping_url')}`,
  )?.[0];
