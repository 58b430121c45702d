import { randomUUID } from 'node:crypto';
import type { Continent } from '../../../shared/base/continents.ts';
import { createLog } from '../../../shared/base/log.ts';
import { probeLimits, probePermissions } from '../../../shared/bus/identity.ts';
import { type Bus, connectBus } from '../../../shared/bus/nats.ts';
import { issueCredentials, type Key, keyFromSeed } from '../../../shared/bus/nkeys.ts';
import { inboxOf, partitionConsumer, partitionCount, probeConsumers, streams, subjects } from '../../../shared/bus/subjects.ts';
import { createTcpProxy, type TcpProxy } from '../../support/connections.ts';
import { createAccount } from '../../support/services.ts';
import type { Services } from '../../support/services-run.ts';

/** A bus of its own with the streams of today, the coordinators' connection to it, and one probe with the rights of a probe. */
export type BusOfProbe = {
  readonly probe: { readonly id: string; readonly name: string; readonly continent: Continent; readonly organisation: string | null };
  readonly key: Key;
  readonly credentials: string;
  /** The coordinators' side. */
  readonly coordinator: Bus;
  /** The probe's side, through a relay that can be cut. */
  readonly connect: () => Promise<Bus>;
  readonly proxy: TcpProxy;
  readonly close: () => Promise<void>;
};

export const silentLog = createLog({ name: 'test', level: process.env.TEST_LOG ?? 'silent' });

export const createBusOfProbe = async (
  options: { continent?: Continent; organisation?: string; services?: Services } = {},
): Promise<BusOfProbe> => {
  const account = await createAccount(options.services);
  const id = randomUUID();
  const probe = { id, name: 'eu-1', continent: options.continent ?? 'Europe', organisation: options.organisation ?? null } as const;
  const issued = issueCredentials(
    {
      name: id,
      account: keyFromSeed(account.accountSeed, 'account'),
      permissions: probePermissions({ probe: id, continent: probe.continent, organisation: probe.organisation }, true),
      limits: probeLimits,
    },
    Date.now(),
  );
  const coordinator = await connectBus({
    url: account.url,
    credentials: account.coordinatorCredentials,
    name: 'coordinator',
    log: silentLog,
  });
  await coordinator.ensureStream(streams.results);
  await coordinator.ensureStream(streams.assignments);
  for (let partition = 0; partition < partitionCount; partition += 1) {
    await coordinator.ensureConsumer(streams.results.name, partitionConsumer(partition));
  }
  await coordinator.ensureConsumer(streams.assignments.name, probeConsumers.roster(id));
  const assignments =
    probe.organisation === null ? probeConsumers.assignments(id, subjects.assignmentsOf(probe.continent)) : probeConsumers.private(id);
  await coordinator.ensureConsumer(streams.assignments.name, assignments);
  const proxy = await createTcpProxy(account.url);
  const opened: Bus[] = [];
  return {
    probe,
    key: keyFromSeed(issued.seed, 'user'),
    credentials: issued.credentials,
    coordinator,
    proxy,
    connect: async () => {
      const bus = await connectBus({
        url: proxy.url,
        credentials: issued.credentials,
        name: 'probe',
        log: silentLog,
        inboxPrefix: inboxOf(id),
      });
      opened.push(bus);
      return bus;
    },
    close: async () => {
      proxy.heal();
      for (const bus of opened) await bus.close();
      await coordinator.close();
      await proxy.close();
    },
  };
};
