/** A real name server of Debian's on loopback, with a zone that has every type of record that a check can ask for. */

import { createSocket } from 'node:dgram';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import dnsPacket from 'dns-packet';
import { freePort } from '../../deploy/local/home.ts';
import { startChild } from '../../deploy/local/processes.ts';
import { debianProgram } from './debian.ts';
import { eventually } from './eventually.ts';

const packages = ['knot', 'libknot13', 'libzscanner4', 'libdnssec9', 'liburcu8', 'liblmdb0', 'libxdp1', 'libbpf1'];

const long = (size: number): string => Array.from({ length: Math.ceil(size / 200) }, () => `"${'x'.repeat(200)}"`).join(' ');

const zone = `
$ORIGIN knot.test.
$TTL 300
@        SOA ns1 hostmaster 2026112001 3600 600 86400 300
@        NS ns1
@        NS ns2
ns1      A 192.0.2.53
ns2      A 192.0.2.54
www      60 A 192.0.2.1
www      60 A 192.0.2.2
www      AAAA 2001:db8::1
alias    CNAME Other
other    CNAME www
@        MX 10 mail
@        MX 20 backup.example.org.
@        TXT "v=spf1 include:" "_spf.example.org -all"
big      TXT ${long(6_000)}
_sip._tcp SRV 10 5 5060 sip
@        CAA 0 issue "letsencrypt.org"
@        CAA 128 iodef "mailto:security@example.org"
svc      HTTPS 1 . alpn=h2,h3 port=8443 ipv4hint=192.0.2.1,192.0.2.2 ipv6hint=2001:db8::1
svc      SVCB 1 backend.example.org. alpn=h2
_443._tcp.www TLSA 3 1 1 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
child    NS ns1
child    DS 12345 13 2 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
@        DNSKEY 257 3 13 mdsswUyr3DPW132mOi8V9xESWE8jTo0dxCjjnopKl+GqJxpVXckHAeF+KkxLbxILfDLUT0rAK9iUzy1L53eKGQ==
1        PTR host.knot.test.
xn--bcher-kva A 192.0.2.9
`;

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createSocket('udp4');
    const end = (yes: boolean): void => {
      clearTimeout(timer);
      socket.close(() => resolve(yes));
    };
    const timer = setTimeout(() => end(false), 200);
    socket.on('message', () => end(true)).on('error', () => end(false));
    socket.send(dnsPacket.encode({ type: 'query', id: 1, questions: [{ type: 'SOA', name: 'knot.test' }] }), port, '127.0.0.1');
  });

export type Knot = { readonly port: number; readonly pid: number; readonly stop: () => Promise<void> };

/** undefined, said loudly, where no knotd can be had. */
export const startKnot = async (): Promise<Knot | undefined> => {
  const program = await debianProgram('knotd', packages);
  if (!program) return undefined;
  const folder = await mkdtemp(join(tmpdir(), 'antipode-knot-'));
  const port = await freePort();
  const config = [
    'server:',
    `    rundir: "${folder}"`,
    `    listen: 127.0.0.1@${port}`,
    'database:',
    `    storage: "${folder}/db"`,
    'template:',
    '  - id: default',
    `    storage: "${folder}"`,
    '    zonefile-load: whole',
    '    journal-content: none',
    '    semantic-checks: off',
    'zone:',
    '  - domain: knot.test',
    '    file: knot.test.zone',
    '',
  ].join('\n');
  await writeFile(join(folder, 'knot.test.zone'), zone);
  await writeFile(join(folder, 'knot.conf'), config);
  const child = await startChild({
    name: 'knotd',
    file: program.file,
    args: ['-c', join(folder, 'knot.conf')],
    env: program.env,
    stopSignal: 'SIGTERM',
    log: join(folder, 'knot.log'),
  });
  const stop = async (): Promise<void> => {
    await child.stop(3_000);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await eventually(() => answers(port), 10_000);
  } catch (error) {
    await stop();
    throw error;
  }
  return { port, pid: child.pid, stop };
};
