import { X509Certificate } from 'node:crypto';
import { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import dnsPacket from 'dns-packet';
import { expect, test } from 'vitest';
import { createCertificateNotes } from '../../../probe/checks/connection/notes.ts';
import { createTrust, tlsSeen } from '../../../probe/checks/connection/trust.ts';
import { certificateCause } from '../../../probe/checks/connection/verdict.ts';
import { readMessage, writeQuestion } from '../../../probe/checks/dns/message.ts';
import { ResponseReader, readerLimits } from '../../../probe/checks/https/reader.ts';
import { readEchoes } from '../../../probe/checks/icmp/ping.ts';
import { clientCertificateFault } from '../../../shared/checks/connection/client-certificate.ts';
import { mint, mintAuthority } from '../../support/certificates.ts';
import { readMillion, spoiled } from '../../support/nonsense.ts';

/** A million bytes of spoiled truth into each reader: it throws at nothing, and keeps what it may. */

const root = mintAuthority('Test Root');
const between = mintAuthority('Test Intermediate', root);
const good = mint({ names: ['good.example', '*.good.example'], issuer: between });

test('into the reader of responses', () => {
  const head = 'HTTP/1.1 200 OK\r\nServer: x\r\n folded\r\n';
  const words = spoiled([
    `${head}Content-Length: 11\r\n\r\nhello world`,
    `HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${head}\r\nuntil it closes`,
    `${head}Transfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n6\r\n world\r\n0\r\nA: b\r\n\r\n`,
    `${head}Transfer-Encoding: gzip, chunked\r\nContent-Length: 3\r\n\r\nffffffffff\r\n`,
  ]);
  const limits = { ...readerLimits, body: 64, keep: 32 };
  readMillion(words, (bytes) => {
    const outcomes = [1, 7, bytes.length + 1].map((size) => {
      const reader = new ResponseReader('GET', limits);
      for (let at = 0; at < bytes.length && !reader.over; at += size)
        reader.take(bytes.subarray(at, at + size));
      reader.end();
      expect(reader.over).toBe(true);
      expect(reader.kept.length).toBeLessThanOrEqual(limits.keep);
      expect(reader.read).toBeLessThanOrEqual(limits.body);
      return `${reader.status} ${reader.fault} ${reader.body.toString('latin1')}`;
    });
    expect(new Set(outcomes).size).toBe(1);
  });
}, 120_000);

test('into the reader of DNS messages', () => {
  const question = { name: 'www.example.com', type: 'A' } as const;
  const asked = writeQuestion(question, false);
  const answer = (answers: dnsPacket.Answer[]) =>
    dnsPacket.encode({
      type: 'response',
      id: 0,
      flags: dnsPacket.RECURSION_AVAILABLE,
      questions: [question],
      answers,
    });
  const { name } = question;
  const words = spoiled([
    answer([
      { type: 'CNAME', name, ttl: 60, data: 'a.example.com' },
      { type: 'A', name: 'a.example.com', ttl: 60, data: '192.0.2.1' },
    ]),
    answer([
      { type: 'MX', name, data: { preference: 1, exchange: 'm.example.com' } },
      { type: 'TXT', name, data: ['v=spf1', 'x'.repeat(200)] },
      { type: 'SRV', name, data: { port: 1, target: 's.example.com' } },
      { type: 'CAA', name, data: { flags: 0, tag: 'issue', value: 'ca.example' } },
    ]),
  ]);
  const kinds = ['answer', 'stray', 'malformed', 'oversized'];
  readMillion(words, (bytes) => {
    for (const over of ['udp', 'tcp'] as const) {
      const read = readMessage(bytes, question, asked, over);
      expect(kinds).toContain(read.is);
      expect(JSON.stringify(read).length).toBeLessThan(100_000);
    }
  });
}, 120_000);

test('into the reader of what ping says', () => {
  const words = spoiled([
    'From 192.0.2.9 icmp_seq=1 Destination Host Unreachable\n',
    '3 packets transmitted, 2 received, +1 duplicates, 33% packet loss, time 402ms\nrtt min/avg/max/mdev = 9.812/10.104/10.560/0.310 ms\n',
    '2 packets transmitted, 1 packets received\nround-trip min/avg/max = 0.044/0.050/0.056 ms\n',
  ]);
  readMillion(words, (bytes) => {
    const echoes = readEchoes(bytes.toString('latin1'));
    if (echoes === undefined) return;
    expect(echoes.received).toBeLessThanOrEqual(echoes.sent);
    for (const time of Object.values(echoes.rtt ?? {})) expect(Number.isFinite(time)).toBe(true);
  });
}, 120_000);

test('into the reader of certificates', () => {
  const trust = createTrust([root.certificate]);
  const note = createCertificateNotes();
  const socket = new TLSSocket(new Socket());
  let read = 0;
  readMillion(
    spoiled([good, between, root].map(({ certificate }) => derOf(certificate))),
    (der) => {
      const leaf = parsed(der);
      if (leaf === undefined) return;
      read += 1;
      const shown = Object.assign(socket, { getPeerX509Certificate: () => leaf });
      const seen = tlsSeen(shown, 'good.example', trust);
      expect(seen.chain()).toHaveLength(1);
      tlsSeen(shown, '192.0.2.1', trust, null).path();
      certificateCause(seen, Date.now());
      note(String(read), Date.now(), [seen]);
    },
  );
  expect(read).toBeGreaterThan(50);
}, 120_000);

test('into the reader of client certificates', () => {
  readMillion(spoiled([`${good.chain}${good.key}`, good.key, good.certificate]), (bytes) => {
    const fault = clientCertificateFault(bytes.toString('latin1'));
    // No word of OpenSSL's, which could show a part of the key.
    if (fault !== undefined) expect(fault).not.toMatch(/error:|BEGIN [A-Z ]*KEY/);
  });
}, 120_000);

function derOf(pem: string): Buffer {
  return Buffer.from(new X509Certificate(pem).raw);
}

function parsed(der: Buffer): X509Certificate | undefined {
  try {
    return new X509Certificate(der);
  } catch {
    return undefined; // No server could show it.
  }
}
