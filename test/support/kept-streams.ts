/** For tests on buses of several servers: what the streams themselves say of who keeps them. */
import { createLog } from '../../shared/base/log.ts';
import { type Bus, connectBus } from '../../shared/bus/nats.ts';
import { streams } from '../../shared/bus/subjects.ts';
import { eventually } from './eventually.ts';
import type { TestAccount } from './services.ts';

const names = Object.values(streams).map(({ name }) => name);

const onBus = async <Done>({ url, coordinatorCredentials }: TestAccount, work: (bus: Bus) => Promise<Done>): Promise<Done> => {
  const log = createLog({ name: 'test', level: process.env.TEST_LOG ?? 'silent' });
  const bus = await connectBus({ url, credentials: coordinatorCredentials, name: 'test', log, firstConnectionMs: 30_000 });
  return await work(bus).finally(bus.close);
};

/** In words, which streams lack how many of the servers that are to keep them. */
const lacking = (account: TestAccount): Promise<readonly string[]> =>
  onBus(account, async (bus) => {
    const states = await Promise.all(names.map(async (name) => ({ name, missing: (await bus.streamState(name))?.missing ?? 0 })));
    return states.filter(({ missing }) => missing > 0).map(({ name, missing }) => `${name} lacks ${missing}`);
  });

/** Whether no stream that is there lacks a server of those that are to keep it: another one may be taken away only then. @throws with what lacks. */
export const areWhole = async (account: TestAccount): Promise<true> => {
  const lacks = await lacking(account);
  if (lacks.length > 0) throw new Error(lacks.join(', '));
  return true;
};

/** A bus of several servers votes on everything in a stream, and on everything in its consumers, for as long as it is there. */
export const deleteStreams = (account: TestAccount): Promise<void> =>
  onBus(account, async (bus) => {
    for (const name of names) await eventually(() => bus.deleteStream(name).then(() => true));
  });
