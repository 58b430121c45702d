/** For tests on buses of several servers: what the streams themselves say of who keeps them. */
import { createLog } from '../../shared/base/log.ts';
import { type Bus, connectBus } from '../../shared/bus/bus-nats.ts';
import { streams } from '../../shared/bus/bus-streams.ts';
import { eventually } from './support-eventually.ts';
import type { TestAccount } from './support-services.ts';

const names = Object.values(streams).map(({ name }) => name);

const onBus = async <Done>({ url, coordinatorCredentials }: TestAccount, work: (bus: Bus) => Promise<Done>): Promise<Done> => {
  const log = createLog({ name: 'test', level: process.env.TEST_LOG ?? 'silent' });
  const bus = await connectBus({ url, credentials: coordinatorCredentials, name: 'test', log, firstConnectionMs: 30_000 });
  return await work(bus).finally(bus.close);
};

/** Whether no stream that is there lacks a server of those that are to keep it: another one may be taken away only then. */
export const areWhole = (account: TestAccount): Promise<boolean> =>
  onBus(account, async (bus) =>
    (await Promise.all(names.map((name) => bus.streamState(name)))).every((state) => !state || state.missing === 0),
  );

/** A bus of several servers votes on everything in a stream, and on everything in its consumers, for as long as it is there. */
export const deleteStreams = (account: TestAccount): Promise<void> =>
  onBus(account, async (bus) => {
    for (const name of names) await eventually(() => bus.deleteStream(name).then(() => true));
  });
