import { describe, expect, test } from 'vitest';
import { type PingSettings, pingSettings } from '../../../../shared/checks/heartbeat/config.ts';
import {
  foldPing,
  judgePings,
  mergePings,
  noPings,
  type Ping,
  type PingState,
  withSettings,
} from '../../../../shared/checks/heartbeat/state.ts';

const minute = 60_000;
const terms = (config: Parameters<typeof pingSettings>[0]['config'] = {}): PingSettings =>
  pingSettings({ interval_ms: 5 * minute, config });

let made = 0;
const pingAt = (at: number, kind: Ping['kind'] = 'success', more: Partial<Ping> = {}): Ping => {
  made += 1;
  return { id: `beat-${made}`, kind, exit_code: null, at, rid: null, ...more };
};
const stateAfter = (...pings: readonly Ping[]): PingState => pings.reduce((state, ping) => foldPing(state, ping).state, noPings);

describe('a job that only ever says that it begins', () => {
  test('is late, before any good ping, when interval and grace are over since the first start, however many starts follow', () => {
    const first = stateAfter(pingAt(1_000, 'start'));
    expect(judgePings(first, terms(), 361_000 - 1)).toEqual({ is: 'good', until: 361_000 });
    const starts = Array.from({ length: 60 }, (_, index) =>
      pingAt(1_000 + index * 6_000, 'start', { rid: index % 2 ? null : `run-${index}` }),
    );
    for (const state of [first, stateAfter(...starts), mergePings(noPings, stateAfter(...starts))])
      expect(judgePings(state, terms(), 361_000)).toMatchObject({
        is: 'failing',
        since: 361_000,
        cause: { class: 'heartbeat_late', params: { deadline: 361_000, after: 1_000, silent_ms: 360_000 } },
      });
    expect(judgePings(stateAfter(...starts, pingAt(361_001)), terms(), 361_002)).toMatchObject({ is: 'good' });
  });

  test('has the limit of a first run that is under way, and its whole time anew after a pause', () => {
    const first = withSettings(stateAfter(pingAt(0, 'start')), { version: 1, paused: false }, 0);
    expect(judgePings(first, terms({ max_run_s: 3_600 }), 20 * minute)).toEqual({ is: 'good', until: 60 * minute });
    const resumed = withSettings(withSettings(first, { version: 1, paused: true }, minute), { version: 1, paused: false }, 60 * minute);
    expect(judgePings(resumed, terms(), 61 * minute)).toEqual({ is: 'good', until: 66 * minute });
  });
});
