import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Config } from '../../../../shared/checks/assignment.ts';
import { type Blackbox, startBlackbox } from '../../../bench/https/blackbox.ts';
import { mint, mintAuthority } from '../../../support/certificates.ts';
import type { TargetOptions } from '../../../support/targets.ts';
import { checkerOf } from '../../support/checkers.ts';
import { serve } from '../../support/observations.ts';
import { type Step, serveScript } from '../../support/servers.ts';

/** Beside Debian's blackbox exporter on the same ports. Where they differ, a row says why. */

const day = 86_400_000;
const root = mintAuthority('Test Root');
const between = mintAuthority('Test Intermediate', root);
const names = ['localhost'];
const good = mint({ names, issuer: root });

/** What a user of blackbox writes for each of our configs. */
const modules = {
  connect: { kind: 'tcp', config: {}, peer: '' },
  smtp: {
    kind: 'tcp',
    config: { banner: 'smtp' },
    peer: 'query_response: [{expect: "^220"}]',
  },
  ssh: {
    kind: 'tcp',
    config: { banner: 'ssh' },
    peer: 'query_response: [{expect: "^SSH-2.0-"}]',
  },
  starttls: {
    kind: 'tcp',
    config: { tls: 'smtp' },
    peer: 'query_response: [{expect: "^220"}, {send: "EHLO prober\\r"}, {expect: "^250[ -]STARTTLS"}, {send: "STARTTLS\\r"}, {expect: "^220"}, {starttls: true}]',
  },
  tls: { kind: 'tls', config: {}, peer: 'tls: true' },
} as const satisfies Record<string, { kind: 'tcp' | 'tls'; config: Config; peer: string }>;

type Row = {
  readonly what: string;
  readonly module: keyof typeof modules;
  readonly script?: readonly Step[];
  readonly target?: TargetOptions;
  readonly passes: boolean;
  /** Why blackbox says the opposite. */
  readonly differs?: string;
};

const tls = (what: string, passes: boolean, target: TargetOptions, differs?: string): Row => ({
  what,
  module: 'tls',
  target,
  passes,
  ...(differs === undefined ? {} : { differs }),
});
const said = (
  module: Row['module'],
  what: string,
  passes: boolean,
  script: readonly Step[],
  differs?: string,
): Row => ({ what, module, script, passes, ...(differs === undefined ? {} : { differs }) });

const helloed: readonly Step[] = [
  { says: '220 m ESMTP\r\n' },
  { wants: 'EHLO', says: '250-m\r\n250 STARTTLS\r\n' },
];

const rows: readonly Row[] = [
  said('connect', 'an open port', true, []),
  said('connect', 'a port that greets', true, [{ says: 'hello\r\n' }]),
  said('connect', 'a port that closes at once', true, [{ ends: 'close' }]),
  said('smtp', '220', true, [{ says: '220 m\r\n' }]),
  said('smtp', '220 on several lines', true, [{ says: '220-m\r\n220 go\r\n' }]),
  said('smtp', '421', false, [{ says: '421 busy\r\n' }]),
  said('smtp', '554', false, [{ says: '554 no\r\n', ends: 'close' }]),
  said('smtp', 'silence', false, []),
  said('smtp', 'a close', false, [{ ends: 'close' }]),
  said('smtp', 'a reset', false, [{ ends: 'reset' }]),
  said('smtp', 'SSH', false, [{ says: 'SSH-2.0-x\r\n', ends: 'close' }]),
  said(
    'smtp',
    '220 after a line of nonsense',
    false,
    [{ says: 'hello\r\n220 m\r\n' }],
    'blackbox reads on to any line that matches; a client of mail would not',
  ),
  said(
    'smtp',
    '220 with more lines to come that never do',
    false,
    [{ says: '220-m\r\n' }],
    'blackbox is content with the first line of a reply that has no end',
  ),
  said('ssh', '2.0', true, [{ says: 'SSH-2.0-OpenSSH_9.2\r\n' }]),
  said('ssh', '2.0 after another line', true, [{ says: 'a word\r\nSSH-2.0-x\r\n' }]),
  said('ssh', '1.5', false, [{ says: 'SSH-1.5-x\r\n', ends: 'close' }]),
  said('ssh', 'too many', false, [{ says: 'Exceeded MaxStartups\r\n', ends: 'close' }]),
  said(
    'ssh',
    '1.99',
    true,
    [{ says: 'SSH-1.99-x\r\n' }],
    '1.99 means that 2.0 is spoken, too (RFC 4253)',
  ),
  said('starttls', 'a good certificate', true, [
    ...helloed,
    { wants: 'STARTTLS', says: '220 go\r\n', secures: good },
  ]),
  said('starttls', 'a certificate that signed itself', false, [
    ...helloed,
    { wants: 'STARTTLS', says: '220 go\r\n', secures: mint({ names }) },
  ]),
  said('starttls', 'no STARTTLS', false, [
    { says: '220 m\r\n' },
    { wants: 'EHLO', says: '250 m\r\n' },
  ]),
  said('starttls', 'a refusal', false, [...helloed, { wants: 'STARTTLS', says: '454 no\r\n' }]),
  said('starttls', 'silence after it', false, [
    ...helloed,
    { wants: 'STARTTLS', says: '220 go\r\n' },
  ]),
  said(
    'starttls',
    'words before the handshake',
    false,
    [...helloed, { wants: 'STARTTLS', says: '220 go\r\n250 injected\r\n', secures: good }],
    'blackbox takes what was put before the handshake for words of the server, or drops it',
  ),
  tls('a good certificate', true, { certificate: good }),
  tls('an RSA key', true, { certificate: mint({ names, issuer: root, key: 'rsa' }) }),
  tls('an intermediate', true, { certificate: mint({ names, issuer: between }) }),
  tls('all names of a level, not this one', false, {
    certificate: mint({ names: ['*.localhost'], issuer: root }),
  }),
  tls('another name', false, { certificate: mint({ names: ['other.example'], issuer: root }) }),
  tls('one that signed itself', false, { certificate: mint({ names }) }),
  tls('one of an unknown authority', false, {
    certificate: mint({ names, issuer: mintAuthority('Unknown') }),
  }),
  tls('an end yesterday', false, {
    certificate: mint({
      names,
      issuer: root,
      from: new Date(Date.now() - 9 * day),
      to: new Date(Date.now() - day),
    }),
  }),
  tls('a beginning tomorrow', false, {
    certificate: mint({ names, issuer: root, from: new Date(Date.now() + day) }),
  }),
  tls('an end in ten minutes', true, {
    certificate: mint({ names, issuer: root, to: new Date(Date.now() + 600_000) }),
  }),
  tls('TLS 1.2', true, { certificate: good, tls: { maxVersion: 'TLSv1.2' } }),
  tls('TLS 1.3', true, { certificate: good, tls: { minVersion: 'TLSv1.3' } }),
  tls('a demand for our certificate', true, { certificate: good, tls: { requestCert: true } }),
  said('tls', 'words in the clear', false, [{ says: '220 m\r\n' }]),
  said('tls', 'a close', false, [{ wants: '\x16', ends: 'close' }]),
  said('tls', 'an alert', false, [{ wants: '\x16', says: Buffer.from([0x15, 3, 3, 0, 2, 2, 40]) }]),
  said('tls', 'silence', false, []),
];

describe('beside blackbox exporter', () => {
  let folder = '';
  const peers = new Map<string, Blackbox>();
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'antipode-blackbox-'));
    const bundle = join(folder, 'ca.pem');
    await writeFile(bundle, root.certificate);
    for (const [name, { peer }] of Object.entries(modules)) {
      const tcp = ['preferred_ip_protocol: ip4', ...(peer === '' ? [] : [peer])];
      const config = `modules:\n  ${name}:\n    prober: tcp\n    timeout: 2s\n    tcp:\n${tcp.map((line) => `      ${line}\n`).join('')}`;
      const started = await startBlackbox(folder, bundle, { name, config });
      if (started) peers.set(name, started);
    }
    if (peers.size === 0) process.stderr.write('SKIPPED: there is no blackbox exporter here\n');
  }, 120_000);
  afterAll(async () => {
    for (const peer of peers.values()) await peer.close();
    await rm(folder, { recursive: true, force: true });
  });

  test.each(rows)('$module: $what', async ({ module, script, target, passes, differs }) => {
    const { kind, config } = modules[module];
    const check = checkerOf(kind, { authorities: [root.certificate] });
    const { port } = script ? await serveScript(script) : await serve(target);
    const address = `localhost:${port}`;
    const verdict = await check(address, { ip_family: '4', ...config }, { timeout_ms: 1_500 });
    expect([verdict.outcome === 'ok', verdict.cause?.class]).toEqual([
      passes,
      verdict.cause?.class,
    ]);
    const peer = peers.get(module);
    if (peer) expect(await peer.ask(address)).toBe(differs === undefined ? passes : !passes);
  });
});
