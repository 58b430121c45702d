import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Config } from '../../../../shared/checks/assignment.ts';
import { type Blackbox, startBlackbox } from '../../../bench/https/blackbox.ts';
import { mint, mintAuthority } from '../../../support/certificates.ts';
import type { TargetOptions } from '../../../support/targets.ts';
import { checkerOf } from '../../support/checkers.ts';
import {
  data,
  endHeaders,
  endStream,
  fields,
  goAway,
  headers,
  reset,
  settings,
} from '../../support/frames.ts';
import { answerHealth, type Health } from '../../support/grpc.ts';
import { type Serving, serveHttp2 } from '../../support/http2.ts';
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
  grpcs: { kind: 'grpc', config: {}, peer: 'tls: true' },
  grpc: { kind: 'grpc', config: {}, peer: 'tls: false' },
  service: { kind: 'grpc', config: { service: 'shop' }, peer: 'service: shop' },
} as const satisfies Record<string, { kind: 'tcp' | 'tls' | 'grpc'; config: Config; peer: string }>;

type Row = {
  readonly what: string;
  readonly module: keyof typeof modules;
  readonly script?: readonly Step[];
  readonly target?: TargetOptions;
  readonly health?: Health & Serving;
  readonly passes: boolean;
  /** Why blackbox says the opposite. */
  readonly differs?: string;
  /** Blackbox gives no answer: its calls of gRPC wait for a silent server beyond any time limit. */
  readonly isEndless?: true;
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

const call = (
  module: Row['module'],
  what: string,
  passes: boolean,
  health: Health & Serving,
  differs?: string,
): Row => ({ what, module, health, passes, ...(differs === undefined ? {} : { differs }) });

/** What a server of HTTP/2 writes to a call for the health of the whole server. */
const frames = (...says: readonly Buffer[]): readonly Step[] => [
  { wants: 'PRI * HTTP/2.0', says: settings },
  { wants: data(Buffer.alloc(5), endStream).subarray(3), says: Buffer.concat(says) },
];
const grpcHead = headers(fields([':status', '200'], ['content-type', 'application/grpc']));
const serving = data(Buffer.from([0, 0, 0, 0, 2, 8, 1]));
const status = (code: string): Buffer =>
  headers(fields(['grpc-status', code]), endHeaders | endStream);

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
  call('grpcs', 'SERVING', true, { certificate: good, status: 1 }),
  call('grpcs', 'NOT_SERVING', false, { certificate: good, status: 2 }),
  call('grpcs', 'another name', false, {
    certificate: mint({ names: ['other.example'], issuer: root }),
    status: 1,
  }),
  call('grpcs', 'a certificate that signed itself', false, {
    certificate: mint({ names }),
    status: 1,
  }),
  call('grpcs', 'no TLS', false, { status: 1 }),
  call('grpc', 'TLS', false, { certificate: good, status: 1 }),
  said('grpcs', 'a server of HTTP/1.1', false, [{ wants: '\x16', ends: 'close' }]),
  call('grpc', 'SERVING', true, { status: 1 }),
  call('grpc', 'UNKNOWN', false, { status: 0 }),
  call('grpc', 'SERVICE_UNKNOWN', false, { status: 3 }),
  call('grpc', 'no message', false, {}),
  call('grpc', 'UNIMPLEMENTED', false, { only: true, trailers: { 'grpc-status': '12' } }),
  call('grpc', 'UNAVAILABLE', false, { only: true, trailers: { 'grpc-status': '14' } }),
  call('grpc', 'UNAUTHENTICATED after a message', false, {
    status: 1,
    trailers: { 'grpc-status': '16' },
  }),
  call('grpc', 'another content type', false, {
    status: 1,
    headers: { 'content-type': 'text/html' },
  }),
  call('grpc', 'status 503', false, { headers: { ':status': 503, 'content-type': 'text/html' } }),
  call('service', 'SERVING', true, { status: 1 }),
  call('service', 'NOT_FOUND', false, { only: true, trailers: { 'grpc-status': '5' } }),
  said('grpc', 'frames of an answer', true, frames(grpcHead, serving, status('0'))),
  { ...said('grpc', 'frames without trailers', false, frames(grpcHead, serving)), isEndless: true },
  said('grpc', 'RST_STREAM', false, frames(reset(2))),
  said('grpc', 'GOAWAY', false, frames(goAway(0))),
  said('grpc', 'a status that is no number', false, frames(grpcHead, serving, status('fine'))),
  said('grpc', 'HTTP/1.1', false, [{ says: 'HTTP/1.1 400 No\r\n\r\n', ends: 'close' }]),
  said('grpc', 'a close', false, [{ ends: 'close' }]),
  { ...said('grpc', 'silence', false, []), isEndless: true },
];

describe('beside blackbox exporter', () => {
  let folder = '';
  const peers = new Map<string, Blackbox>();
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'antipode-blackbox-'));
    const bundle = join(folder, 'ca.pem');
    await writeFile(bundle, root.certificate);
    for (const [name, { kind, peer }] of Object.entries(modules)) {
      const prober = kind === 'grpc' ? 'grpc' : 'tcp';
      const lines = ['preferred_ip_protocol: ip4', ...(peer === '' ? [] : [peer])];
      const config = `modules:\n  ${name}:\n    prober: ${prober}\n    timeout: 2s\n    ${prober}:\n${lines.map((line) => `      ${line}\n`).join('')}`;
      const started = await startBlackbox(folder, bundle, { name, config });
      if (started) peers.set(name, started);
    }
    if (peers.size === 0) process.stderr.write('SKIPPED: there is no blackbox exporter here\n');
  }, 120_000);
  afterAll(async () => {
    for (const peer of peers.values()) await peer.close();
    await rm(folder, { recursive: true, force: true });
  });

  test.each(rows)(
    '$module: $what',
    async ({ module, script, target, health, passes, differs, isEndless }) => {
      const { kind, config } = modules[module];
      const check = checkerOf(kind, { authorities: [root.certificate] });
      const { port } = health
        ? await serveHttp2(answerHealth(health), health)
        : script
          ? await serveScript(script)
          : await serve(target);
      const address = `localhost:${port}`;
      const isClear = kind === 'grpc' && module !== 'grpcs';
      const verdict = await check(
        `${isClear ? 'grpc://' : ''}${address}`,
        { ip_family: '4', ...config },
        { timeout_ms: 1_500 },
      );
      expect([verdict.outcome === 'ok', verdict.cause?.class]).toEqual([
        passes,
        verdict.cause?.class,
      ]);
      const peer = peers.get(module);
      if (peer && !isEndless)
        expect(await peer.ask(address)).toBe(differs === undefined ? passes : !passes);
    },
  );
});
