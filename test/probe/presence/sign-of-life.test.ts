import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAnnouncementReader } from '../../../probe/presence/announcements.ts';
import { createCorrectedClock } from '../../../probe/presence/clock.ts';
import { createPresence, type PresenceDependencies } from '../../../probe/presence/signal.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { systemClock } from '../../../shared/base/time.ts';
import { subjects } from '../../../shared/bus/subjects.ts';
import { eventually } from '../../support/eventually.ts';
import { type BusOfProbe, createBusOfProbe, silentLog } from '../support/surroundings.ts';

let bench: BusOfProbe;
beforeAll(async () => {
  bench = await createBusOfProbe();
});
afterAll(() => bench.close());

test('a coordinator that does not read what this probe says is quoted in its log, once', async () => {
  const why = 'This coordinator reads version 7 of the wire: upgrade it first.';
  let asked = 0;
  const answering = bench.coordinator.subscribe(subjects.allPresence, (message) => {
    asked += 1;
    message.respond(JSON.stringify({ refused: why }));
  });
  const errors: unknown[] = [];
  const log = Object.assign(Object.create(silentLog), { error: (...said: unknown[]) => void errors.push(said) });
  const replies: unknown[] = [];
  const parts: PresenceDependencies = {
    describe: async () => ({
      ...{ probe: bench.probe.id, generation: newId(), session: newId(), up_ms: 0 },
      ...{ version: '0.1.0', seal_key: '', allowed_cidrs: [], ear: null },
      ...{ spool: { waiting: 0, dropped: 0, bytes: 0 }, assignments: { count: 0, digest: '', roster_epoch: 0 } },
      ...{ load: { in_flight: 0, late_ms: 0 }, self_test: { ok: true, detail: '' } },
    }),
    handedOver: () => true,
    isWanting: () => false,
    read: createAnnouncementReader({ trust: () => ({ keys: [], required: false }), now: systemClock.now, log: silentLog }).read,
    knowsCoordinators: () => false,
    onReply: (reply) => void replies.push(reply),
  };
  const presence = createPresence({ key: bench.key, host: systemClock, clock: createCorrectedClock(systemClock), parts, log });
  presence.start(await bench.connect());
  await eventually(() => asked >= 3);
  await presence.stop();
  answering.stop();
  expect(errors).toEqual([[{ why }, 'the coordinator does not read what this probe says']]);
  expect(replies).toEqual([]);
});
