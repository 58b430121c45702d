import { chmod, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, credsAuthenticator } from '@nats-io/transport-node';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { freePort, openCache } from '../../../deploy/local/home.ts';
import { greetsOn, type NatsBinary, obtainNatsServer, prepareNats } from '../../../deploy/local/nats.ts';
import { awaitReady, type Child, startChild } from '../../../deploy/local/processes.ts';
import { createBusIdentity } from '../../../shared/bus/identity.ts';
import { issueCredentials, keyFromSeed, withRevocations } from '../../../shared/bus/nkeys.ts';
import { hasBinaries, pushAccount } from '../../support/services.ts';

let folder: string;
let binary: NatsBinary;
const children: Child[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'antipode-nats-'));
  binary = await obtainNatsServer(openCache(process.env, folder), process.env.PATH ?? '', () => undefined);
});
afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => child.stop(1_000)));
  await rm(folder, { recursive: true, force: true });
});

/** What stands on a machine's PATH: a program that says which version it is. */
const installed = async (version: string): Promise<string> => {
  const place = join(folder, `bin-${version}`);
  await mkdir(place);
  await writeFile(join(place, 'nats-server'), `#!/bin/sh\necho "nats-server: v${version}"\n`);
  await chmod(join(place, 'nats-server'), 0o755);
  return place;
};

const cached = async (version: string): Promise<string> => {
  const cache = join(folder, 'kept');
  await mkdir(join(cache, `nats-server-${version}`), { recursive: true });
  await cp(binary.file, join(cache, `nats-server-${version}`, 'nats-server'));
  return cache;
};

describe.runIf(hasBinaries())('a nats-server', () => {
  test('that the machine has is taken when it is 2.10 or newer', async () => {
    const place = await installed('2.12.1');
    expect(await obtainNatsServer(folder, place, () => undefined)).toEqual({ file: join(place, 'nats-server'), version: [2, 12, 1] });
  });

  test('that is older gives way to the one in the cache, without a fetch', async () => {
    const said: string[] = [];
    const cache = await cached(binary.version.join('.'));
    const found = await obtainNatsServer(cache, await installed('2.9.10'), (line) => said.push(line));
    // A machine with one of its own in the usual places has that taken, and nothing is fetched either way.
    expect(found.version).toEqual(binary.version);
    expect(said).toEqual([]);
  });

  test('that does not run is as good as none', async () => {
    const cache = await cached(binary.version.join('.'));
    const place = await installed('2.12.1');
    await writeFile(join(place, 'nats-server'), '#!/bin/sh\nexit 1\n');
    expect((await obtainNatsServer(cache, place, () => undefined)).version).toEqual(binary.version);
  });
});

describe.runIf(hasBinaries())('the embedded bus', () => {
  const identity = createBusIdentity(Date.now());

  const start = async (): Promise<string> => {
    const port = await freePort();
    const log = join(folder, 'nats.log');
    const child = await startChild(await prepareNats({ binary, folder: join(folder, 'nats'), identity, port, log }));
    children.push(child);
    await awaitReady(child, log, () => greetsOn(port));
    return `nats://127.0.0.1:${port}`;
  };
  const enter = async (url: string, credentials: string): Promise<void> => {
    const authenticator = credsAuthenticator(new TextEncoder().encode(credentials));
    await (await connect({ servers: url, authenticator, reconnect: false })).close();
  };

  test('has not forgotten a revocation after a kill -9, although its first account is preloaded again', async () => {
    const account = keyFromSeed(identity.accountSeed, 'account');
    const probe = issueCredentials({ name: 'p1', account }, Date.now());
    const first = await start();
    await enter(first, probe.credentials);
    const revoked = withRevocations(
      identity.accountJwt,
      { [probe.id]: Math.floor(Date.now() / 1000) },
      keyFromSeed(identity.operatorSeed, 'operator'),
      Date.now() + 1_000,
    );
    await pushAccount(first, identity.systemCredentials, revoked);
    await expect(enter(first, probe.credentials)).rejects.toThrow(/authorization/i);
    for (const child of children.splice(0)) {
      process.kill(child.pid, 'SIGKILL');
      await child.exited;
    }
    const second = await start();
    await expect(enter(second, probe.credentials)).rejects.toThrow(/authorization/i);
    await enter(second, identity.coordinatorCredentials);
  });

  test('lets nobody in without credentials', async () => {
    const url = await start();
    await expect(connect({ servers: url, reconnect: false })).rejects.toThrow(/authorization/i);
  });
});
