import { type Alert, release } from '../../coordinator/core/incident.ts';
import type { Rules } from '../../coordinator/core/types.ts';
import type { Agenda } from './agenda.ts';
import { noise } from './chance.ts';
import type { Database } from './database.ts';
import type { Record } from './result-record.ts';

/** Sends what is due, by the real rules: asked again before each attempt; sent, then noted as sent, so that a death between sends twice. */
export type Alerter = { readonly wake: () => void; readonly stop: () => void };

const freshly = 1_000;

export const createAlerter = (parts: {
  readonly agenda: Agenda;
  readonly database: Database;
  readonly record: Record;
  readonly rules: Rules;
  readonly seed: number;
  /** Whether the past of this monitor has been decided: before, nobody knows whether an outage lasts. */
  readonly mayRelease: (monitor: number) => boolean;
  /** Runs later, unless its coordinator has died or hangs by then. */
  readonly later: (wait: number, act: () => void) => void;
}): Alerter => {
  const { agenda, database, record, rules, seed, later, mayRelease } = parts;
  const sending = new Set<string>();
  let stopped = false;
  let nextWake = Number.POSITIVE_INFINITY;
  let count = 0;

  const wakeAt = (time: number) => {
    if (time >= nextWake) return;
    nextWake = time;
    later(time - agenda.now(), () => {
      if (nextWake !== time || stopped) return;
      nextWake = Number.POSITIVE_INFINITY;
      alerter.wake();
    });
  };

  const mark = (incident: string, row: Alert, state: Alert['state']) => {
    const known = database.alerts.get(incident);
    if (known)
      known.rows = known.rows.map((each) => (each.event === row.event && each.channel === row.channel ? { ...each, state } : each));
  };

  const send = (incident: string, row: Alert) => {
    const key = `${incident}:${row.event}:${row.channel}`;
    if (sending.has(key)) return;
    sending.add(key);
    count += 1;
    const judgedAt = agenda.now();
    const confirmed_at = database.incidents.get(incident)?.incident.confirmed_at ?? null;
    later(5 + noise(seed, count, 1, 11) * 50, () => {
      const now = agenda.now();
      if (now - judgedAt > freshly) {
        // It hung in between: what was right then is asked anew.
        sending.delete(key);
        alerter.wake();
        return;
      }
      // The receiver knows a key that it had before.
      const { event, channel } = row;
      if (!record.delivered.some((each) => each.incident === incident && each.event === event && each.channel === channel)) {
        record.delivered.push({ incident, event, channel, at: now, confirmed_at });
      }
      later(20, () => {
        sending.delete(key);
        mark(incident, row, 'sent');
        alerter.wake();
      });
    });
  };

  const workOn = (incident: string) => {
    const known = database.alerts.get(incident);
    if (!known) return;
    const now = agenda.now();
    for (const row of known.rows) {
      if (row.state !== 'held' && row.state !== 'due') continue;
      if (row.event === 'down') {
        if (!mayRelease(known.monitor)) continue;
        const answer = release(row.due_at, database.cover(known.monitor), now, rules);
        if (answer.is === 'held') {
          if (row.state === 'due') mark(incident, row, 'held');
          wakeAt(answer.until);
        } else {
          mark(incident, row, 'due');
          send(incident, row);
        }
      } else if (
        known.rows.some(
          ({ event, channel, state }) => event === 'down' && channel === row.channel && (state === 'sent' || state === 'dropped'),
        )
      ) {
        send(incident, row);
      }
    }
    const settled = database.alerts.get(incident)?.rows.every(({ state }) => state === 'sent' || state === 'dropped');
    if (settled) database.unsettled.delete(incident);
  };

  const alerter: Alerter = {
    wake: () => {
      if (!stopped) for (const incident of [...database.unsettled]) workOn(incident);
    },
    stop: () => {
      stopped = true;
    },
  };
  return alerter;
};
