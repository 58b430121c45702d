import type { Continent } from '../../shared/base/continents.ts';
import { type ServedWrite, writeServed } from '../causes/writes.ts';
import type { CommitSlot, Queryable, Sql } from '../database/connect.ts';
import { executeAll, type Statement } from '../database/connect.ts';
import { rowsDone } from '../database/outbox.ts';
import { inTransaction } from '../database/sql.ts';
import { openNotice } from '../health/notices.ts';
import {
  type EvidenceWrite,
  type IncidentWrite,
  type LedgerWrite,
  writeEvidence,
  writeIncidents,
  writeLedger,
} from '../incidents/writes.ts';
import { type AlertWrite, writeAlerts, writeDowns } from '../notifications/release.ts';
import { insertJournal, type JournalRow, markSealed } from '../results/journal.ts';
import { type Seal, writeChunks, writeNewestHour } from '../results/sealing.ts';
import {
  type CertificateWrite,
  type WarningWrite,
  writeCertificates,
  writeWarnings,
} from '../warnings/writes.ts';
import {
  fence,
  fencedBy,
  type Lease,
  type StoredCheckpoint,
  type Watermark,
  writeCheckpoint,
  writeWatermarks,
} from './queries.ts';

/**
 * Everything that one decision round of a partition writes: all or nothing, and only while we own
 * its lease.
 */
export type Unit = {
  readonly lease: Lease;
  readonly journal: readonly JournalRow[];
  readonly seal: Seal | null;
  /** All that arrived before is in chunks. */
  readonly sealedUntil: number | null;
  readonly watermarks: readonly Watermark[];
  readonly incidents: readonly IncidentWrite[];
  readonly evidence: readonly EvidenceWrite[];
  readonly ledger: readonly LedgerWrite[];
  readonly alerts: readonly AlertWrite[];
  /**
   * Continents that fail while all others that may check are lost: the operator is notified (rule
   * 14).
   */
  readonly alone: readonly Continent[];
  readonly warnings: readonly WarningWrite[];
  readonly certificates: readonly CertificateWrite[];
  readonly served: readonly ServedWrite[];
  /** Rows of the outbox that this unit applies. */
  readonly done: readonly number[];
  readonly checkpoint: StoredCheckpoint | null;
};

export function emptyUnit(lease: Lease): Unit {
  return {
    lease,
    journal: [],
    seal: null,
    sealedUntil: null,
    watermarks: [],
    incidents: [],
    evidence: [],
    ledger: [],
    alerts: [],
    alone: [],
    warnings: [],
    certificates: [],
    served: [],
    done: [],
    checkpoint: null,
  };
}

/** How many results it stores: the commit time depends on that. */
export function resultsIn({ journal }: Unit): number {
  return journal.reduce((sum, { counts: { ok, fail, unknown } }) => sum + ok + fail + unknown, 0);
}

/**
 * Commits units of different partitions in one transaction, through the slot where possible.
 * @throws Fenced when another coordinator owns one of their leases.
 */
export async function commitUnits(
  by: { readonly sql: Sql; readonly slot: CommitSlot },
  owner: string,
  units: readonly Unit[],
): Promise<void> {
  try {
    if (units.every(goesInOneTrip))
      await by.slot.inOneTrip((sql) => [
        ...statementsOf(sql, owner, units),
        ...writeDowns(sql, downsIn(units)),
      ]);
    else await commitAfterReading(by.sql, owner, units);
  } catch (error) {
    throw fencedBy(error);
  }
}

/**
 * Whether everything can be written without a read in between: an incident that ended must first
 * read which alerts it sent.
 */
function goesInOneTrip({ alerts, alone }: Unit): boolean {
  return alone.length === 0 && alerts.every(({ event }) => event === 'down');
}

/** The statements of every commit, in the order in which they must run. */
function statementsOf(sql: Queryable, owner: string, units: readonly Unit[]): Statement[] {
  const all = <Row>(rows: (unit: Unit) => readonly Row[]): Row[] => units.flatMap(rows);
  return [
    fence(
      sql,
      owner,
      units.map(({ lease }) => lease),
    ),
    ...insertJournal(
      sql,
      all(({ journal }) => journal),
    ),
    ...writeChunks(
      sql,
      all(({ seal }) => seal?.chunks ?? []),
    ),
    ...units.flatMap(({ lease, seal }) =>
      seal ? writeNewestHour(sql, lease.partition, seal) : [],
    ),
    ...units.flatMap(({ lease, sealedUntil }) =>
      sealedUntil === null ? [] : [markSealed(sql, lease.partition, sealedUntil)],
    ),
    ...writeWatermarks(
      sql,
      all(({ watermarks }) => watermarks),
    ),
    ...rowsDone(
      sql,
      all(({ done }) => done),
    ),
    ...units.flatMap(({ lease, checkpoint }) =>
      checkpoint ? [writeCheckpoint(sql, lease.partition, checkpoint)] : [],
    ),
    ...writeIncidents(
      sql,
      all(({ incidents }) => incidents),
    ),
    ...writeEvidence(
      sql,
      all(({ evidence }) => evidence),
      new Set(
        all(({ incidents }) => incidents).flatMap(({ opened, incident }) =>
          opened ? [incident.id] : [],
        ),
      ),
    ),
    ...writeLedger(
      sql,
      all(({ ledger }) => ledger),
    ),
    ...writeWarnings(
      sql,
      all(({ warnings }) => warnings),
    ),
    ...writeCertificates(
      sql,
      all(({ certificates }) => certificates),
    ),
    ...writeServed(
      sql,
      all(({ served }) => served),
    ),
  ];
}

function downsIn(units: readonly Unit[]) {
  return units.flatMap(({ alerts }) => alerts).filter((alert) => alert.event === 'down');
}

function commitAfterReading(sql: Sql, owner: string, units: readonly Unit[]): Promise<void> {
  return inTransaction(sql, async (transaction) => {
    await executeAll(statementsOf(transaction, owner, units));
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
}
