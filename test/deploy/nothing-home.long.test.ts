import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { debianProgram } from '../support/processes.ts';
import { openMailbox, openReceiver } from '../support/receivers.ts';
import { hasBinaries } from '../support/services.ts';
import {
  createHome,
  type Local,
  removeHome,
  startCommand,
  startService,
  stopService,
} from './service.ts';

/**
 * The service sends nothing home: every address that any of its processes connects or sends to, as
 * the kernel was asked for it, from the first start to the last delivery.
 */

const strace = await debianProgram('strace', ['strace', 'libunwind8']);

/** How a program reaches an address. Node's rings hold files and waits, and connect nothing. */
const calls = 'connect,sendto,sendmsg,sendmmsg';

/** Each IP address with its port that a trace names. @throws if one is written otherwise. */
function addressesIn(trace: string): ReadonlySet<string> {
  const named = [
    ...trace.matchAll(
      /sa_family=AF_INET6?, sin6?_port=htons\((\d+)\), (?:sin6_flowinfo=htonl\(\d+\), )?(?:sin_addr=inet_addr\(|inet_pton\(AF_INET6, )"([^"]+)"/g,
    ),
  ].map(([, port, address]) => `${address} ${port}`);
  expect(named).toHaveLength(trace.match(/AF_INET6?, sin6?_port/g)?.length ?? 0);
  expect(trace.match(/sa_family=AF_INET6?\b/g)?.length).toBe(named.length);
  return new Set(named);
}

const isLoopback = (address: string): boolean => /^(?:::ffff:)?127\.|^::1 /.test(address);

describe.runIf(strace !== undefined && hasBinaries())('the whole service', () => {
  test('connects to its own parts, the targets and the channels, and asks for no name', async ({
    onTestFinished,
  }) => {
    const home = await createHome();
    onTestFinished(() => removeHome(home));
    const file = join(home, 'trace');
    const [receiver, mail] = await Promise.all([
      openReceiver({ host: '127.0.0.2' }),
      openMailbox(),
    ]);
    onTestFinished(async () => void (await Promise.all([receiver.close(), mail.close()])));
    // Of documentation: nobody is there, and nothing else here has a reason to ask for it.
    const target = '192.0.2.1';

    const words = ['-D', '-f', '--seccomp-bpf', '-s', '0', '-e', `trace=${calls}`, '-o', file];
    const service = startService(
      home,
      undefined,
      {
        ...strace?.env,
        PROBE_ALLOW_CIDRS: `${target}/32`,
        SMTP_URL: mail.url,
        MAIL_FROM: 'antipode@here.example',
      },
      [strace?.file ?? '', ...words, ...startCommand],
    );
    const local = await service.ready;
    await make(local, 'channels', {
      kind: 'webhook',
      name: 'Hook',
      config: { url: `${receiver.url}/told` },
    });
    await make(local, 'channels', {
      kind: 'email',
      name: 'Mail',
      config: { address: 'ada@here.example' },
    });
    await make(local, 'monitors', {
      type: 'tcp',
      target: `${target}:9`,
      name: 'Silent',
      interval_s: 10,
    });
    // A message that tried the channel, and the outage.
    await eventually(() => receiver.got.length > 1, 90_000);
    await eventually(() => mail.received.length > 0);
    expect(await stopService(service)).toBe(0);

    const trace = await readFile(file, 'utf8');
    const addresses = [...addressesIn(trace)];
    for (const url of [receiver.url, mail.url, local.nats_url, local.database_url]) {
      const { hostname, port } = new URL(url);
      expect(addresses).toContain(`${hostname} ${port}`);
    }
    expect(addresses.filter((address) => !isLoopback(address))).toEqual([`${target} 9`]);
    // A machine's own resolver may listen on loopback.
    expect(addresses.filter((address) => / 53$/.test(address))).toEqual([]);
  });
});

async function make(
  { base_url, api_token }: Local,
  things: string,
  body: Readonly<Record<string, unknown>>,
): Promise<void> {
  const answer = await fetch(`${base_url}/api/v1/${things}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${api_token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(`${answer.status} ${await answer.text()}`).toMatch(/^201 /);
}
