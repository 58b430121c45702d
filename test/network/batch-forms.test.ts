import { expect, test } from 'vitest';
import { memberOf } from '../../shared/base/json.ts';
import { connectBus } from '../../shared/bus/nats.ts';
import { partitionOf, subjects } from '../../shared/bus/subjects.ts';
import { eventually } from '../support/eventually.ts';
import { incidentThat, isResolved, resultsOf } from '../support/monitors.ts';
import { createNetwork, testLog } from '../support/network.ts';
import { speakAs } from '../support/probes.ts';
import { broken, fine } from '../support/targets.ts';

test('passes leave as numbers and what failed leaves whole; both come to incidents and charts', async () => {
  const network = await createNetwork();
  const { account } = network;
  const bus = await connectBus({ url: account.url, credentials: account.coordinatorCredentials, name: 'eavesdropper', log: testLog() });
  const target = await network.startTarget();
  await network.startCoordinator();
  const probe = await network.addProbe('Europe');
  const other = await speakAs(await network.makeProbe('Asia'));
  const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });

  const passes: unknown[] = [];
  const others: unknown[] = [];
  const heard = bus.subscribe(subjects.result('Europe', partitionOf(monitor), probe.made.id), ({ data }) => {
    const body: unknown = JSON.parse(Buffer.from(data).toString());
    const monitors = memberOf(memberOf(body, 'passes'), 'monitors');
    if (Array.isArray(monitors)) passes.push(...monitors);
    const inOther = memberOf(body, 'others');
    if (Array.isArray(inOther)) others.push(...inOther);
  });
  const numbersOf = async (continent: string) => (await resultsOf(network.sql, monitor)).filter((result) => result.continent === continent);
  await eventually(async () => passes.length >= 3 && (await numbersOf('Europe')).length >= 3, 40_000);
  expect(new Set(passes)).toEqual(new Set([monitor]));
  const [stored] = await network.sql<{ phases: (number | null)[] | null; outcome: number }[]>`
    select phases, outcome from results order by at desc limit 1`;
  expect(stored?.phases?.[4]).toBeGreaterThan(0);

  await other.say(monitor, [{ seq: 1, at: Date.now(), outcome: 'ok' }]);
  await eventually(async () => (await numbersOf('Asia')).length === 1);
  target.answer(broken, ['Europe']);
  await incidentThat(network.sql, monitor, ({ seen_continent }) => seen_continent === 'Europe', 40_000);
  // What failed is whole among the passes, with all that it saw.
  await eventually(() => others.some((result) => memberOf(result, 'outcome') === 'fail' && memberOf(result, 'evidence') !== null));
  await other.say(monitor, [{ seq: 2, at: Date.now(), outcome: 'fail' }], 1);
  await incidentThat(network.sql, monitor, ({ confirmed_continent }) => confirmed_continent === 'Asia', 20_000);
  target.answer(fine);
  await other.say(monitor, [{ seq: 3, at: Date.now(), outcome: 'ok' }], 2);
  await incidentThat(network.sql, monitor, isResolved, 40_000);

  heard.stop();
  await other.close();
  await bus.close();
  await network.close();
});
