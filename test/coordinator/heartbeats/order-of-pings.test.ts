import { expect, test } from 'vitest';
import { decide } from '../../../coordinator/core/decide.ts';
import { checkpointOf, createState, restore } from '../../../coordinator/core/lifecycle.ts';
import type { Incident, MonitorState, SeenPing, Watched } from '../../../coordinator/core/types.ts';
import type { PingRow } from '../../../coordinator/heartbeats/queries.ts';
import { isLate, isMadeUpFor, seenOf, type Told } from '../../../coordinator/heartbeats/relay.ts';
import { foldPing, noPings } from '../../../shared/checks/heartbeat/state.ts';

/** Rule 20: whatever order pings are handed over in, and whatever befalls the partition meanwhile, the incidents are those of the order of time. */

const watched: Watched = {
  ...{ id: 'job', organisation: 'one', kind: 'heartbeat', interval_ms: 4_000, timeout_ms: 10_000, continents: null, probe: null },
  ...{ config_version: 1, alert_after_ms: 0, sampled: false, created_at: 0, paused_at: null },
};
const monitor = { id: 'job', organisation_id: 'one', partition: 0, interval_s: 4, config: { grace_s: 4 } };
const pingAt = (at: number, kind: 'success' | 'fail'): PingRow => ({
  ...{ id: `${kind} ${at}`, monitor: 'job', kind, exit_code: null, at, rid: null, run_ms: null, method: 'GET', body: '', ear: 'ear' },
});
const before = pingAt(15_000, 'success');
const pings = [
  pingAt(17_000, 'fail'),
  pingAt(19_000, 'success'),
  pingAt(21_000, 'fail'),
  pingAt(23_000, 'success'),
  pingAt(25_000, 'success'),
];
const right = ['17000 to 19000', '21000 to 23000'];

/** What befalls a batch: it is written down and not decided, so that it comes again; the partition starts again from the database; or both. */
const mishaps = ['none', 'not decided', 'started again', 'decided and not acknowledged'] as const;
type Mishap = (typeof mishaps)[number];

function* batchings(some: readonly PingRow[]): Generator<readonly (readonly PingRow[])[]> {
  if (some.length === 0) yield [];
  for (let choice = 1; choice < 2 ** some.length; choice += 1) {
    const isIn = (_: PingRow, nth: number) => Math.floor(choice / 2 ** nth) % 2 === 1;
    for (const rest of batchings(some.filter((ping, nth) => !isIn(ping, nth)))) yield [some.filter(isIn), ...rest];
  }
}

const live = (batches: readonly (readonly PingRow[])[], mishapOf: (nth: number) => Mishap): string[] => {
  let state: MonitorState = createState(watched);
  let folded = noPings;
  const written = new Map<string, PingRow>();
  const incidents = new Map<string, Incident>();
  let ids = 0;
  const newId = () => {
    ids += 1;
    return `id ${ids}`;
  };
  const tell = (ping: SeenPing): void => {
    const decision = decide(state, { is: 'ping', ping }, { now: 30_000, network: { epoch: 1, probes: [] }, newId });
    state = decision.state;
    for (const effect of decision.effects) if (effect.is === 'incident') incidents.set(effect.incident.id, effect.incident);
  };
  const relay = (batch: readonly PingRow[], isDecided: boolean): void => {
    const told = batch.map((row): Told => {
      const known = folded;
      folded = foldPing(folded, row).state;
      written.set(row.id, row);
      return { row, monitor, isMadeUpFor: isMadeUpFor(row, folded), isLate: isLate(row, known) };
    });
    const seen = told.flatMap((one) => seenOf(one, [...written.values()], null));
    if (isDecided) for (const ping of seen) tell(ping);
  };
  relay([before], true);
  // It is written behind.
  const checkpoint = checkpointOf(state);
  const startAgain = (): void => {
    const all = [...incidents.values()];
    const closed = all.filter(({ resolved_at }) => resolved_at !== null).toSorted((a, b) => (b.resolved_at ?? 0) - (a.resolved_at ?? 0));
    const incident = all.find(({ resolved_at }) => resolved_at === null) ?? null;
    state = restore({ watched, checkpoint, results: [], resumed_at: null, incident, closed, gaps: [] });
  };
  const again: (readonly PingRow[])[] = [];
  for (const [nth, batch] of batches.entries()) {
    const mishap = mishapOf(nth);
    relay(batch, mishap !== 'not decided');
    if (mishap === 'started again' || mishap === 'decided and not acknowledged') startAgain();
    if (mishap === 'not decided' || mishap === 'decided and not acknowledged') again.push(batch);
  }
  for (const batch of again) relay(batch, true);
  const ended = [...incidents.values()].filter(({ note }) => note === null).toSorted((a, b) => a.started_at - b.started_at);
  return ended.map(({ started_at, resolved_at }) => `${started_at} to ${resolved_at}`);
};

test.each(mishaps)(
  'rule 20: two failures and their ends are two incidents in any order of handing over, of which befalls: %s',
  (mishap) => {
    const wrong: string[] = [];
    let count = 0;
    // Without the last one there are enough orders.
    for (const batches of batchings(mishap === 'none' ? pings : pings.slice(0, -1)))
      for (const struck of mishap === 'none' ? [0] : batches.keys()) {
        count += 1;
        const found = live(batches, (nth) => (nth === struck ? mishap : 'none'));
        if (found.join() !== right.join())
          wrong.push(
            `${batches.map((batch) => batch.map(({ id }) => id).join(' + ')).join(', ')}; ${mishap} ${struck}: ${found.join(', ')}`,
          );
      }
    expect(count).toBeGreaterThan(200);
    expect(wrong).toEqual([]);
  },
);
