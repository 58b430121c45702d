import { describe, expect, test as plain } from 'vitest';
import { createApp } from '../../coordinator/app.ts';
import { readConfig } from '../../coordinator/config.ts';
import { refuseWrites } from '../support/databases.ts';
import { eventually, passed } from '../support/eventually.ts';
import {
  addHeartbeat,
  incidentThat,
  isConfirmed,
  pingsWritten,
  watch,
} from '../support/monitors.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { openReceiver, type Receiver, says } from '../support/receivers.ts';
import { freePort } from '../support/services.ts';
import { broken } from '../support/targets.ts';

/** Rule 53, real in every part, at a shorter cadence. */

const everyMs = 3_000;
const timing = {
  signOfLifeMs: everyMs,
  refreshMs: 250,
  checkpointMs: 4_000,
  lostAfterMs: 3_000,
} as const;

const secret = 'f8a1c2e4';

const test = plain
  .extend('receiver', async ({ task: _ }, { onCleanup }) => {
    const receiver = await openReceiver();
    onCleanup(receiver.close);
    return receiver;
  })
  .extend('network', async ({ receiver }, { onCleanup }) => {
    const settings = { HEARTBEAT_URL: `${receiver.url}/beat/${secret}` };
    const network = await createNetwork({ relayed: {}, settings });
    onCleanup(network.close);
    return network;
  });

/** Settles with a ping that is not one of before. */
const pinged = async ({ got }: Receiver): Promise<void> => {
  const before = got.length;
  await eventually(() => got.length > before, 60_000);
};

const notices = ({ sql }: Network): Promise<{ message: string; is_over: boolean }[]> =>
  sql<{ message: string; is_over: boolean }[]>`
    select message, ended_at is not null as is_over from notices where kind = 'no_sign_of_life' order by id`;

/** The operator has a notice that says why, and nothing comes any more; ends once it heals. */
const expectSilence = async (
  network: Network,
  receiver: Receiver,
  why: string,
  heal: () => unknown,
): Promise<void> => {
  await eventually(
    async () => (await notices(network)).some((one) => !one.is_over && one.message.endsWith(why)),
    60_000,
  );
  const before = receiver.got.length;
  await passed(2 * everyMs);
  expect(receiver.got).toHaveLength(before);
  await heal();
  await pinged(receiver);
  await eventually(async () => (await notices(network)).every(({ is_over }) => is_over), 60_000);
};

describe('rule 53: whoever watches the installation', () => {
  test('is pinged without any monitor, and not while a probe is missing', async ({
    network,
    receiver,
  }) => {
    await network.startCoordinator({ timing });
    const made = await network.makeProbe('Europe');
    const probe = await network.startProbe(made);
    await pinged(receiver);
    expect(receiver.got[0]).toMatchObject({ method: 'POST', path: `/beat/${secret}` });
    await probe.close();
    await expectSilence(network, receiver, ': no probe is heard', () => network.startProbe(made));
  });

  test('is not while the bus is gone', async ({ network, receiver }) => {
    await network.startCoordinator({ timing });
    await network.addProbes('Europe', 'Asia');
    await pinged(receiver);
    network.relay.cut();
    await expectSilence(network, receiver, ': the bus cannot be reached', network.relay.heal);
  });

  test('is not while the database takes nothing', async ({ network, receiver }) => {
    await network.startCoordinator({ timing });
    await network.addProbes('Europe');
    await pinged(receiver);
    const heal = await refuseWrites(network.sql);
    await expectSilence(network, receiver, ': the database takes no decisions', heal);
  });

  test('is not while a partition has no owner', async ({ network, receiver }) => {
    await network.startCoordinator({ timing });
    await network.addProbes('Europe');
    await pinged(receiver);
    const heal = await refuseWrites(
      network.sql,
      'leases',
      'new.partition = 5 and new.owner is not null',
    );
    await network.sql`
      update leases set epoch = epoch + 1, owner = null, expires_at = now() where partition = 5`;
    await expectSilence(network, receiver, ': not every partition is worked on', heal);
  });

  test('is not while alerts do not leave, and checks that come in change nothing', async ({
    network,
    receiver,
  }) => {
    await network.startCoordinator({ timing });
    await network.addProbes('Europe', 'Asia');
    const { target, monitor } = await watch(network);
    await pinged(receiver);
    const heal = await refuseWrites(network.sql, 'alerts', 'new.planned_at is not null');
    target.answer(broken);
    await incidentThat(network.sql, monitor, isConfirmed);
    await expectSilence(network, receiver, ': alerts do not leave', heal);
  });

  test('is asked again within the minute, and the operator is told what is wrong, without the secret', async ({
    network,
    receiver,
  }) => {
    receiver.answer(says(503));
    await network.startCoordinator({ timing });
    await network.addProbes('Europe');
    const message = `Whoever watches this installation, at 127.0.0.1:${receiver.port}, gets no ping: it answered 503`;
    await eventually(
      async () => (await notices(network)).some((one) => one.message === message),
      60_000,
    );
    await eventually(() => receiver.got.length > 2, 60_000);
    receiver.answer(says(200));
    await pinged(receiver);
    await eventually(async () => (await notices(network)).every(({ is_over }) => is_over));
  });
});

test('rule 53: two installations that watch each other', async ({ onTestFinished }) => {
  const ports = [await freePort(), await freePort()] as const;
  const begin = async (port: number) => {
    const network = await createNetwork({ settings: { PORT: String(port) } });
    onTestFinished(network.close);
    return { network, heartbeat: await addHeartbeat(network, { grace_s: 10 }, 5) };
  };
  const [a, b] = [await begin(ports[0]), await begin(ports[1])];
  const start = async ({ network }: typeof a, of: string) => {
    const config = readConfig({ ...network.environment, HEARTBEAT_URL: of });
    const app = createApp(config, { log: network.log, timing });
    await app.start();
    await network.startProbe(await network.makeProbe('Europe'));
    return app;
  };
  const first = await start(a, `http://127.0.0.1:${ports[1]}/beat/${b.heartbeat.token}`);
  const second = await start(b, `http://127.0.0.1:${ports[0]}/beat/${a.heartbeat.token}`);
  await pingsWritten(a.network.sql, a.heartbeat.monitor, 2);
  await pingsWritten(b.network.sql, b.heartbeat.monitor, 2);
  await first.close();
  await incidentThat(b.network.sql, b.heartbeat.monitor, isConfirmed, 60_000);
  await second.close();
});
