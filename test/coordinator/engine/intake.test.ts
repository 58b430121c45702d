import { expect, test } from 'vitest';
import { lateResults } from '../../../coordinator/engine/intake.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { batchOf } from '../../../shared/bus/batch.ts';
import { probeRow } from '../../support/probe-rows.ts';

const now = 1_700_000_000_000;
const probe = probeRow('Asia', now, { key: 1, continent: 'Asia' });

/** A result that ended then, on the bus since then, as it is judged now. */
const late = ({ ended, stored }: { readonly ended: number; readonly stored: number }) => {
  const result = {
    ...{ seq: 1, monitor: newId(), config_version: 1, at: now - ended - 5, took_ms: 5 },
    ...{ outcome: 'ok' as const, cause: null, phases: null, evidence: null, look: null },
  };
  const head = { probe: probe.id, generation: newId(), partition: 0, after: null };
  const delivered = { storedAt: now - stored };
  return lateResults([{ delivered, probe, batch: batchOf(head, [result]) }], new Map(), now);
};

test('results are kept that reached the bus after a presence could be missed, not those of a busy probe', () => {
  expect(late({ ended: 4_900, stored: 0 })).toBeUndefined();
  expect(late({ ended: 6_500, stored: 0 })).toBeUndefined();
  expect(late({ ended: 6_501, stored: 0 })?.from).toEqual([probe.id]);
  // They waited on the bus, for us.
  expect(late({ ended: 60_000, stored: 59_000 })).toBeUndefined();
});
