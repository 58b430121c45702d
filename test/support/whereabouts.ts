import type { Sql } from '../../coordinator/database/connect.ts';
import type { Directory } from '../../coordinator/probes/directory.ts';
import { createLocationCheck, type LocationCheck } from '../../coordinator/probes/location.ts';
import type { ProbeRow } from '../../coordinator/probes/queries.ts';
import type { Clock } from '../../shared/base/time.ts';
import { type TestAnswerMessage, testRunMessage } from '../../shared/bus/messages.ts';
import { noPhases, type Result } from '../../shared/checks/result.ts';
import { testLog } from './network.ts';

/** For test files: measuring where probes are, over ways that the test makes up. */
export type MadeUp = {
  /** The address of a probe, by its name. */
  readonly addresses: Map<string, string>;
  /** How long the way from a probe to an address takes; undefined when its packets are thrown away. */
  way: (from: ProbeRow, address: string) => number | undefined;
  /** What was looked at, as "from address". */
  readonly asked: string[];
  isLeader: boolean;
};

type Measured = Pick<Result, 'outcome' | 'cause' | 'phases'>;

const refused = (tcp: number): Measured => ({
  outcome: 'fail',
  cause: { class: 'connection_refused', params: {} },
  phases: { ...noPhases, tcp, total: tcp },
});
const silent: Measured = { outcome: 'fail', cause: { class: 'timeout', params: {} }, phases: { ...noPhases, tcp: 3_000, total: 3_000 } };

export const measuring = (parts: { readonly sql: Sql; readonly directory: Directory; readonly clock: Clock; readonly made: MadeUp }) => {
  const { sql, directory, clock, made } = parts;
  const answers: TestAnswerMessage[] = [];
  const rosterProbe = (row: ProbeRow) => ({
    ...{ id: row.id, name: row.name, continent: row.continent, organisation: row.organisation_id },
    ...{ healthy: row.revoked_at === null, quarantined: row.quarantined_at !== null },
  });
  const whereabouts: LocationCheck = createLocationCheck({
    ...{ sql, clock, directory, log: testLog() },
    bus: {
      isConnected: () => true,
      publish: (subject, data) => {
        const { trial, assignment } = testRunMessage.parse(JSON.parse(String(data)));
        const from = directory.all().find(({ id }) => subject.includes(id));
        if (!from) return;
        const address = new URL(assignment.target).hostname.replace(/^\[|\]$/g, '');
        made.asked.push(`${from.name} ${address}`);
        const ms = made.way(from, address);
        const result = { at: clock.now(), took_ms: ms ?? 3_000, evidence: null, ...(ms === undefined ? silent : refused(ms)) };
        answers.push({ v: 1, probe: from.id, trial, result });
      },
    },
    roster: () => ({ epoch: 1, probes: directory.all().map(rosterProbe) }),
    isLeader: () => made.isLeader,
    addressOf: (key) => made.addresses.get(directory.all().find(({ keys }) => keys.some((each) => each.key === key))?.name ?? ''),
  });
  return {
    whereabouts,
    /** One round, from asking to judging. */
    round: async (): Promise<void> => {
      await whereabouts.tick();
      for (const answer of answers.splice(0)) whereabouts.answered(answer);
      await whereabouts.tick();
    },
  };
};
