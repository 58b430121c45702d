import type { Continent } from '../../shared/base/continents.ts';
import { type AlertWrite, writeAlerts } from './alerts-write.ts';
import { type StoredCheckpoint, writeCheckpoint } from './checkpoints.ts';
import type { Sql } from './database.ts';
import { type EvidenceWrite, type IncidentWrite, type LedgerWrite, writeEvidence, writeIncidents, writeLedger } from './incidents-write.ts';
import { fence, type Lease } from './leases.ts';
import { openNotice } from './notices.ts';
import { markDone } from './outbox.ts';
import { insertPasses, insertResults, markStale, noPasses, type PassColumns, type ResultRow } from './results.ts';
import { inTransaction } from './transactions.ts';
import { type Watermark, writeWatermarks } from './watermarks.ts';

/** Everything that one decision round of a partition wants written: all of it or nothing, and only while its lease is ours. */
export type Unit = {
  readonly lease: Lease;
  readonly results: readonly ResultRow[];
  readonly passes: PassColumns;
  /** Hours that these results belong to and whose rollups have to be made (anew). */
  readonly staleHours: readonly number[];
  readonly watermarks: readonly Watermark[];
  readonly incidents: readonly IncidentWrite[];
  readonly evidence: readonly EvidenceWrite[];
  readonly ledger: readonly LedgerWrite[];
  readonly alerts: readonly AlertWrite[];
  /** Continents that fail while all others that may check are lost: for the operator (rule 14). */
  readonly alone: readonly Continent[];
  /** Lines of the outbox that this applies. */
  readonly done: readonly number[];
  readonly checkpoint: StoredCheckpoint | null;
};

export const emptyUnit = (lease: Lease): Unit => ({
  lease,
  results: [],
  passes: noPasses(),
  staleHours: [],
  watermarks: [],
  incidents: [],
  evidence: [],
  ledger: [],
  alerts: [],
  alone: [],
  done: [],
  checkpoint: null,
});

/** How many results it stores: what a commit's time goes by. */
export const resultsIn = ({ results, passes }: Unit): number => results.length + passes.at.length;

/** Commits units of different partitions in one transaction. @throws Fenced when one of their leases is another's. */
export const commitUnits = async (sql: Sql, owner: string, units: readonly Unit[]): Promise<void> => {
  await inTransaction(sql, async (transaction) => {
    await fence(
      transaction,
      owner,
      units.map(({ lease }) => lease),
    );
    // Sent one after the other without waiting between them; they run in this order.
    await Promise.all([
      insertResults(
        transaction,
        units.flatMap(({ results }) => results),
      ),
      insertPasses(
        transaction,
        units.map(({ passes }) => passes),
      ),
      markStale(transaction, [...new Set(units.flatMap(({ staleHours }) => staleHours))]),
      writeWatermarks(
        transaction,
        units.flatMap(({ watermarks }) => watermarks),
      ),
      markDone(
        transaction,
        units.flatMap(({ done }) => done),
      ),
      ...units.map(({ lease, checkpoint }) => checkpoint && writeCheckpoint(transaction, lease.partition, checkpoint)),
    ]);
    await writeIncidents(
      transaction,
      units.flatMap(({ incidents }) => incidents),
    );
    await writeEvidence(
      transaction,
      units.flatMap(({ evidence }) => evidence),
    );
    await writeLedger(
      transaction,
      units.flatMap(({ ledger }) => ledger),
    );
    await writeAlerts(
      transaction,
      units.flatMap(({ alerts }) => alerts),
    );
    for (const continent of new Set(units.flatMap(({ alone }) => alone)))
      await openNotice(
        transaction,
        'continent_alone',
        continent,
        `${continent} sees failures that nobody else can confirm: all other continents are lost`,
      );
  });
};
