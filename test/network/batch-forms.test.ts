import { expect, test } from 'vitest';
import { memberOf } from '../../shared/base/json.ts';
import { connectBus } from '../../shared/bus/nats.ts';
import { partitionOf, subjects } from '../../shared/bus/subjects.ts';
import { speakAs } from '../support/bus-voice.ts';
import { eventually } from '../support/eventually.ts';
import { incidentThat, isResolved, resultsOf } from '../support/incidents.ts';
import { createNetwork, testLog } from '../support/network.ts';
import { broken, fine } from '../support/targets.ts';

test('results in the short form and in the old one come to the same incidents and charts, side by side', async () => {
  const network = await createNetwork();
  const { account } = network;
  const bus = await connectBus({ url: account.url, credentials: account.coordinatorCredentials, name: 'eavesdropper', log: testLog() });
  const target = await network.startTarget();
  await network.startCoordinator();
  const short = await network.addProbe('Europe');
  const old = await speakAs(await network.makeProbe('Asia'));
  const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });

  const forms: unknown[] = [];
  const others: unknown[] = [];
  const heard = bus.subscribe(subjects.result('Europe', partitionOf(monitor), short.made.id), ({ data }) => {
    const body: unknown = JSON.parse(Buffer.from(data).toString());
    forms.push(memberOf(body, 'v'));
    const inOther = memberOf(body, 'others');
    if (Array.isArray(inOther)) others.push(...inOther);
  });
  const numbersOf = async (continent: string) => (await resultsOf(network.sql, monitor)).filter((result) => result.continent === continent);
  // The first batch tells the owner who speaks; his receipt tells the probe what he reads.
  await eventually(async () => forms.filter((form) => form === 2).length >= 2 && (await numbersOf('Europe')).length >= 3, 40_000);
  expect(forms[0]).toBe(1);
  const [stored] = await network.sql<{ phases: (number | null)[] | null; outcome: number }[]>`
    select phases, outcome from results order by at desc limit 1`;
  expect(stored?.phases?.[4]).toBeGreaterThan(0);

  await old.say(monitor, [{ seq: 1, at: Date.now(), outcome: 'ok' }]);
  await eventually(async () => (await numbersOf('Asia')).length === 1);
  target.answer(broken, ['Europe']);
  await incidentThat(network.sql, monitor, ({ seen_continent }) => seen_continent === 'Europe', 40_000);
  // What failed is whole among the short ones, with all that it saw.
  await eventually(() => others.some((result) => memberOf(result, 'outcome') === 'fail' && memberOf(result, 'evidence') !== null));
  await old.say(monitor, [{ seq: 2, at: Date.now(), outcome: 'fail' }], 1);
  await incidentThat(network.sql, monitor, ({ confirmed_continent }) => confirmed_continent === 'Asia', 20_000);
  target.answer(fine);
  await old.say(monitor, [{ seq: 3, at: Date.now(), outcome: 'ok' }], 2);
  await incidentThat(network.sql, monitor, isResolved, 40_000);

  heard.stop();
  await old.close();
  await bus.close();
  await network.close();
});
