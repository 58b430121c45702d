import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { newId } from '../../shared/base/crypto.ts';
import { memberOf } from '../../shared/base/json.ts';
import { signatureOf } from '../../shared/bus/identity.ts';
import { type PresenceMessage, presenceReply } from '../../shared/bus/messages.ts';
import { partitionOf, subjects } from '../../shared/bus/subjects.ts';
import { createSealPair } from '../../shared/checks/sealed-secrets.ts';
import { eventually } from '../support/eventually.ts';
import { incidentThat, isResolved, resultsOf } from '../support/monitors.ts';
import { createNetwork, type MadeProbe, type Network, quickResync } from '../support/network.ts';
import { test } from '../support/network-test.ts';
import { speakAs, startProbeProcess } from '../support/probes.ts';
import { storedChecks } from '../support/stored-checks.ts';
import { broken, fine, type Target } from '../support/targets.ts';

/**
 * Two processes with one probe's credentials, and results that a probe had to drop: seen, told to
 * the operator, and over when they are.
 */
describe('a probe that runs twice', () => {
  let network: Network;
  let target: Target;

  beforeAll(async () => {
    network = await createNetwork();
    target = await network.startTarget();
    await network.startCoordinator({
      timing: { noticeQuietMs: 4_000, digestMs: 500, ...quickResync() },
    });
  });
  afterAll(() => network.close());

  type Row = { readonly message: string; readonly is_over: boolean };
  const notices = (kind: string, subject: string) =>
    network.sql<
      Row[]
    >`select message, ended_at is not null as is_over from notices where kind = ${kind} and subject = ${subject} order by id`;

  const elsewhere = (made: MadeProbe): MadeProbe => ({
    ...made,
    folder: `${made.folder}-elsewhere`,
  });

  /** As long as a probe says nothing, no notice about it may come or end: this one is heard. */
  const presenceOf = (probe: string, more: Partial<PresenceMessage>): PresenceMessage => ({
    v: 1,
    probe,
    generation: newId(),
    session: newId(),
    up_ms: 0,
    sent_at: Date.now(),
    version: 'test',
    seal_key: createSealPair().open,
    allowed_cidrs: [],
    ear: null,
    spool: { waiting: 0, dropped: 0, bytes: 0 },
    assignments: { count: 0, digest: '', roster_epoch: 0 },
    load: { in_flight: 0, late_ms: 0 },
    self_test: { ok: true, detail: '' },
    handed_over: true,
    ...more,
  });

  describe('a probe that runs twice', () => {
    test('is reported to the operator, the older process ends cleanly by itself, and the later one continues', async () => {
      const made = await network.makeProbe('Europe');
      const older = await startProbeProcess(made);
      await eventually(() =>
        older.output().includes("a coordinator receives this probe's presence"),
      );
      const later = await startProbeProcess(elsewhere(made));
      expect(await older.exited).toBe(0);
      expect(older.output()).toContain('a newer process runs as this probe');
      const [notice] = await eventually(async () => {
        const rows = await notices('probe_twice', made.id);
        return rows.length > 0 ? rows : undefined;
      });
      expect(notice?.message).toContain(made.name);
      await eventually(
        async () => (await notices('probe_twice', made.id)).every(({ is_over }) => is_over),
        30_000,
      );
      const monitor = await network.addMonitor({ target: target.url('/later'), interval_s: 1 });
      await eventually(
        async () => (await storedChecks(network.sql, { monitor })).length > 0,
        90_000,
      );
      expect((await notices('probe_twice', made.id)).length).toBe(1);
      later.signal('SIGTERM');
      expect(await later.exited).toBe(0);
    });

    test('is no notice when it was only restarted', async () => {
      const made = await network.makeProbe('Europe');
      for (const _ of [1, 2, 3]) {
        const probe = await network.startProbe(made);
        await eventually(
          async () =>
            (await network.sql`select 1 from probes where id = ${made.id} and seal_key is not null`)
              .length > 0,
        );
        await probe.close();
      }
      expect(await notices('probe_twice', made.id)).toEqual([]);
    });

    test('is no notice when it was killed, restarted, and an earlier message of it comes late', async () => {
      const made = await network.makeProbe('Europe');
      const voice = await speakAs(made);
      const say = async (session: string, up_ms: number): Promise<boolean> => {
        const body = Buffer.from(JSON.stringify(presenceOf(made.id, { session, up_ms })));
        const headers = signatureOf(voice.key, body);
        const answer = await voice.bus.request(subjects.presence(made.id), body, {
          headers,
          timeoutMs: 10_000,
        });
        return (
          presenceReply.parse(JSON.parse(new TextDecoder().decode(answer.data))).displaced === true
        );
      };
      const [killed, next] = [newId(), newId()];
      expect([
        await say(killed, 1_000_000),
        await say(next, 0),
        await say(killed, 999_000),
      ]).toEqual([false, false, false]);
      expect(await notices('probe_twice', made.id)).toEqual([]);
      // One that goes on speaking runs beside it.
      expect(await say(killed, 1_100_000)).toBe(true);
      await eventually(async () => (await notices('probe_twice', made.id)).length > 0);
      await voice.close();
    });

    test('is no longer a notice once it is revoked', async () => {
      const made = await network.makeProbe('Europe');
      const [one, two] = [
        await network.startProbe(made),
        await network.startProbe(elsewhere(made)),
      ];
      await one.displaced;
      await eventually(async () =>
        (await notices('probe_twice', made.id)).some(({ is_over }) => !is_over),
      );
      await network.revokeProbe(made.id);
      await eventually(async () =>
        (await notices('probe_twice', made.id)).every(({ is_over }) => is_over),
      );
      await one.close();
      await two.close();
    });
  });

  describe('results that a probe had to drop', () => {
    test('are a notice with their number, which ends when no more are dropped, and is not repeated by the same coordinator', async () => {
      const made = await network.makeProbe('Asia');
      const voice = await speakAs(made);
      const session = newId();
      let up_ms = 1_000;
      const say = async (dropped: number): Promise<void> => {
        up_ms += 1_000;
        const body = Buffer.from(
          JSON.stringify(
            presenceOf(made.id, { session, up_ms, spool: { waiting: 0, dropped, bytes: 0 } }),
          ),
        );
        const answer = await voice.bus.request(subjects.presence(made.id), body, {
          headers: signatureOf(voice.key, body),
          timeoutMs: 10_000,
        });
        presenceReply.parse(JSON.parse(new TextDecoder().decode(answer.data)));
      };
      await say(0);
      expect(await notices('results_dropped', made.id)).toEqual([]);
      await say(1_234);
      await eventually(async () =>
        (await notices('results_dropped', made.id)).some(({ message }) =>
          message.includes('(1,234)'),
        ),
      );
      await say(2_000);
      await eventually(async () =>
        (await notices('results_dropped', made.id)).some(({ message }) =>
          message.includes('(2,000)'),
        ),
      );
      await eventually(async () => (await notices('results_dropped', made.id))[0]?.is_over, 30_000);
      await say(2_000);
      const next = await network.startCoordinator({ timing: { noticeQuietMs: 4_000 } });
      await say(2_000);
      await next.close();
      await say(2_001);
      await eventually(async () => (await notices('results_dropped', made.id)).length === 2);
      await voice.close();
    });

    test('are counted by a real probe whose disk corrupted one', async () => {
      const made = await network.makeProbe('Africa');
      const first = await network.startProbe(made);
      await first.close();
      const spool = join(made.folder, 'spool');
      const generation =
        (await readdir(spool, { withFileTypes: true })).find((entry) => entry.isDirectory())
          ?.name ?? '';
      await writeFile(join(spool, generation, '0000000999.jsonl'), 'this was a result once\n');
      const again = await network.startProbe(made);
      await eventually(async () =>
        (await notices('results_dropped', made.id)).some(({ message }) => message.includes('(1)')),
      );
      await again.close();
    });
  });
});

describe('forms of batches', () => {
  test('passes leave as numbers and what failed leaves whole; both come to incidents and charts', async ({
    network,
    target,
  }) => {
    const bus = await network.joinBus();
    await network.startCoordinator();
    const probe = await network.addProbe('Europe');
    const other = await speakAs(await network.makeProbe('Asia'));
    const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });

    const passes: unknown[] = [];
    const others: unknown[] = [];
    const heard = bus.subscribe(
      subjects.result('Europe', partitionOf(monitor), probe.made.id),
      ({ data }) => {
        const body: unknown = JSON.parse(Buffer.from(data).toString());
        const monitors = memberOf(memberOf(body, 'passes'), 'monitors');
        if (Array.isArray(monitors)) passes.push(...monitors);
        const inOther = memberOf(body, 'others');
        if (Array.isArray(inOther)) others.push(...inOther);
      },
    );
    const numbersOf = async (continent: string) =>
      (await resultsOf(network.sql, monitor)).filter((result) => result.continent === continent);
    await eventually(
      async () => passes.length >= 3 && (await numbersOf('Europe')).length >= 3,
      40_000,
    );
    expect(new Set(passes)).toEqual(new Set([monitor]));
    const last = (await storedChecks(network.sql)).at(-1);
    expect(last?.phases?.total).toBeGreaterThan(0);
    // What real probes send is kept as numbers, not as text.
    const forms = await network.sql`select distinct get_byte(data, 0) as form from journal`;
    expect(forms).toEqual([{ form: 1 }]);

    await other.say(monitor, [{ seq: 1, at: Date.now(), outcome: 'ok' }]);
    await eventually(async () => (await numbersOf('Asia')).length === 1);
    target.answer(broken, ['Europe']);
    await incidentThat(
      network.sql,
      monitor,
      ({ seen_continent }) => seen_continent === 'Europe',
      40_000,
    );
    // What failed is whole among the passes, with all that it saw.
    await eventually(() =>
      others.some(
        (result) => memberOf(result, 'outcome') === 'fail' && memberOf(result, 'evidence') !== null,
      ),
    );
    await other.say(monitor, [{ seq: 2, at: Date.now(), outcome: 'fail' }], 1);
    await incidentThat(
      network.sql,
      monitor,
      ({ confirmed_continent }) => confirmed_continent === 'Asia',
      20_000,
    );
    target.answer(fine);
    await other.say(monitor, [{ seq: 3, at: Date.now(), outcome: 'ok' }], 2);
    await incidentThat(network.sql, monitor, isResolved, 40_000);

    heard.stop();
    await other.close();
  });
});
