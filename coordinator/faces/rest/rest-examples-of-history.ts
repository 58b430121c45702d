import type { ValueOf } from '../../../shared/api/fields.ts';
import type { getIncidentEvidence, IncidentOut } from '../../../shared/api/incidents.ts';
import type { getMonitorLedger, getMonitorResults, UptimeOut } from '../../../shared/api/monitors.ts';

/** Examples of what became of a monitor over time: of this uptime, this incident, and a note of this id. */
export const historyExamples = (uptime: ValueOf<typeof UptimeOut>, incident: ValueOf<typeof IncidentOut>, note: string) => {
  const check = {
    ...{ part: 'seen', continent: 'Europe', probe: 'fra-1', at: incident.started_at, outcome: 'fail', took_ms: 212.4 },
    ...{ cause: incident.cause, cause_class: 'http_status' },
    phases: { dns: 3.1, tcp: 11.8, tls: 24.5, first_byte: 172.6, total: 212.4 },
    evidence: { status: 503, address: '203.0.113.7' },
  };

  const evidence: ValueOf<NonNullable<(typeof getIncidentEvidence)['response']>> = {
    ...incident,
    checks: [check],
    samples: [
      { at: check.at, continent: 'Europe', probe: 'fra-1', outcome: 'fail', took_ms: check.took_ms, cause_class: check.cause_class },
    ],
    samples_complete: true,
    told: [
      {
        event: 'down',
        channel: 'ada@harbour.example.com',
        state: 'sent',
        due_at: incident.confirmed_at,
        settled_at: incident.confirmed_at,
      },
    ],
    notes: [{ id: note, by: 'ada@harbour.example.com', at: '2026-11-18T04:20:00.000Z', text: 'A disk was full.' }],
    share: null,
    effect: { days: 30, down_seconds: 514, percent: 99.967, percent_without: 100 },
  };

  const results: ValueOf<NonNullable<(typeof getMonitorResults)['response']>> = {
    ...{ monitor: incident.monitor, from: '2026-11-19T12:00:00.000Z', to: '2026-11-20T12:00:00.000Z', step_s: 300, source: 'raw' },
    series: [
      {
        continent: 'Europe',
        points: [
          {
            ...{ at: '2026-11-20T11:55:00.000Z', ok: 5, failed: 0, unknown: 0 },
            ...{ mean_ms: 121.4, least_ms: 98.2, most_ms: 164, median_ms: 118.9, p95_ms: 160.1 },
          },
        ],
      },
    ],
  };

  const ledger: ValueOf<NonNullable<(typeof getMonitorLedger)['response']>> = {
    monitor: incident.monitor,
    ...uptime,
    stretches: [
      {
        from: '2026-11-18T04:03:35.000Z',
        to: '2026-11-18T04:12:09.000Z',
        state: 'down',
        incident: incident.id,
        window: null,
        window_name: null,
      },
    ],
    left_out: 0,
  };

  return { IncidentEvidenceOut: evidence, ResultSeriesOut: results, LedgerOut: ledger };
};
