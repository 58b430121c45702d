import { Counter, Histogram, type Registry } from 'prom-client';
import type { Figures } from '../house/house-figures.ts';

/** Histograms of what takes milliseconds, and of what takes seconds. */
const quick = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const slow = [0.5, 1, 2, 3, 5, 8, 15, 30, 60, 120, 300, 600];

export type Live = Figures & {
  /** A request was answered: the route as it is written, not as it was called. */
  readonly answered: (route: string, status: number, tookMs: number) => void;
};

/** What is counted as it happens; a batch costs a few additions, whatever its size. */
export const createLive = (registry: Registry): Live => {
  const registers = [registry];
  const results = new Counter({ name: 'antipode_results_committed_total', help: 'Results stored', labelNames: ['outcome'], registers });
  const age = new Histogram({
    ...{ name: 'antipode_result_age_seconds', help: 'Of the oldest result of each commit of a partition: end of its check to its commit' },
    ...{ buckets: slow, registers },
  });
  const commits = new Histogram({ name: 'antipode_commit_seconds', help: 'Transactions of the writer', buckets: quick, registers });
  const checkpoints = new Histogram({
    ...{ name: 'antipode_checkpoint_seconds', help: "A partition's checkpoint: packed and committed", buckets: quick, registers },
  });
  const confirmation = new Histogram({
    ...{ name: 'antipode_confirmation_seconds', help: 'First failing check to the commit that confirms the outage' },
    ...{ buckets: slow, registers },
  });
  const givenUp = new Counter({
    ...{ name: 'antipode_partitions_given_up_total', help: 'Partitions whose work stood, and which were begun anew', registers },
  });
  const refused = new Counter({
    ...{ name: 'antipode_batches_refused_total', help: 'What came over the bus and was refused', labelNames: ['reason'], registers },
  });
  const looks = new Counter({
    name: 'antipode_looks_total',
    help: 'Looks wished for, and whether a probe was asked',
    labelNames: ['why', 'outcome'],
    registers,
  });
  const told = new Counter({
    ...{ name: 'antipode_alerts_total', help: 'Attempts to send a message', labelNames: ['channel', 'result'], registers },
  });
  const delay = new Histogram({
    ...{ name: 'antipode_alert_delay_seconds', help: 'Message due to message taken', labelNames: ['channel'], buckets: slow, registers },
  });
  const requests = new Histogram({
    ...{ name: 'antipode_http_request_seconds', help: 'Requests answered', labelNames: ['route', 'code'], buckets: quick, registers },
  });
  return {
    committed: (units, tookMs, now) => {
      commits.observe(tookMs / 1_000);
      for (const { results: rows, passes, alerts, incidents } of units) {
        let oldest = Number.POSITIVE_INFINITY;
        if (passes.at.length > 0) results.inc({ outcome: 'ok' }, passes.at.length);
        for (let place = 0; place < passes.at.length; place += 1)
          oldest = Math.min(oldest, (passes.at[place] ?? 0) + (passes.took_ms[place] ?? 0));
        for (const { outcome, at, took_ms } of rows) {
          results.inc({ outcome });
          oldest = Math.min(oldest, at + took_ms);
        }
        if (Number.isFinite(oldest)) age.observe(Math.max(0, now - oldest) / 1_000);
        // The "down" is handed on with the commit that confirms, unless the outage is one of the past.
        for (const alert of alerts) {
          if (alert.event !== 'down') continue;
          const began = incidents.findLast(({ incident }) => incident.id === alert.incident)?.incident.started_at;
          if (began !== undefined) confirmation.observe(Math.max(0, now - began) / 1_000);
        }
      }
    },
    checkpointed: (tookMs) => checkpoints.observe(tookMs / 1_000),
    gaveUp: () => givenUp.inc(),
    refused: (reason, count) => refused.inc({ reason }, count),
    asked: (why, outcome) => looks.inc({ why, outcome }),
    told: (channel, result, lateMs) => {
      told.inc({ channel, result });
      if (result === 'taken') delay.observe({ channel }, Math.max(0, lateMs) / 1_000);
    },
    answered: (route, status, tookMs) => requests.observe({ route, code: `${Math.floor(status / 100)}xx` }, tookMs / 1_000),
  };
};
