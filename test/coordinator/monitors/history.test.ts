import { describe, expect, test } from 'vitest';
import { type MonitorHistory, statusOf, uptimeOf } from '../../../coordinator/monitors/status.ts';

const hour = 3_600_000;
const noon = Date.parse('2026-11-20T12:00Z');

const nightly: MonitorHistory = {
  ...{ id: 'backup', kind: 'heartbeat', interval_s: 60, config: { schedule: '0 12 * * *', grace_s: 600 }, created_at: noon - 48 * hour },
  ...{ paused_at: null, paused: [], cover: [], causedCover: [], down: [], unknown: [], incident: null, gap_since: null, resumed_at: null },
  ...{ last_result_at: null, last_covering_at: null, last_beat_at: null, last_resolved_at: null, last_gap_ended_at: null },
  begins_anew_at: null,
};

describe('the time that the last ping of a scheduled job covers', () => {
  const now = noon + 20 * hour;
  const window = { from: noon, to: now };

  test('lasts until the run after the one that it came for, as for its probes', () => {
    const early = { ...nightly, last_beat_at: noon - 100 };
    expect(statusOf(early, now)).toMatchObject({ status: 'up' });
    expect(uptimeOf(early, window)).toMatchObject({ unknown: 0, up: 20 * hour });
    const tooEarly = { ...nightly, last_beat_at: noon - 60_000 };
    expect(statusOf(tooEarly, now)).toMatchObject({ status: 'pending' });
    expect(uptimeOf(tooEarly, window)).toMatchObject({ unknown: 20 * hour - 600_000, up: 600_000 });
  });
});
