import { createServer, type TLSSocket } from 'node:tls';
import { afterAll, describe, expect, test } from 'vitest';
import { createTrust } from '../../../../probe/checks/connection/trust.ts';
import { readClientCertificate } from '../../../../shared/checks/connection/client-certificate.ts';
import { mint, mintAuthority } from '../../../support/certificates.ts';
import { portOf } from '../../../support/connections.ts';
import { httpsChecker } from '../../support/checkers.ts';

const servers = mintAuthority('Servers');
const clients = mintAuthority('Clients');
const server = mint({ names: ['localhost'], issuer: servers });
const monitor = mint({ commonName: 'monitor', issuer: clients });
const stranger = mint({ commonName: 'stranger' });
const check = httpsChecker({ authorities: [servers.certificate] });
const pem = ({ chain, key }: typeof monitor): string => `${chain}${key}`;
const closing: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of closing) await close();
});

type Answering = (socket: TLSSocket) => string | undefined;
const fine = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** A server that asks for a certificate of `clients`; keeps whom it was shown. */
const asking = async (
  options: { readonly maxVersion?: 'TLSv1.2'; readonly isStrict?: boolean } = {},
  answer: Answering = () => fine,
) => {
  const shown: (string | undefined)[] = [];
  const { isStrict = true, ...more } = options;
  const listening = createServer(
    {
      cert: server.chain,
      key: server.key,
      requestCert: true,
      rejectUnauthorized: isStrict,
      ca: [clients.certificate],
      ...more,
    },
    (socket) => {
      socket.on('error', () => undefined); // A check that has what it needs closes at once.
      shown.push(socket.getPeerX509Certificate()?.subject);
      socket.once('data', () => {
        const text = answer(socket);
        if (text === undefined) socket.destroy();
        else socket.end(text);
      });
    },
  );
  const port = await portOf(listening, '::');
  closing.push(() => new Promise((resolve) => listening.close(resolve)));
  return { url: `https://localhost:${port}/`, shown };
};

describe('a client certificate', () => {
  test.each([[{}], [{ maxVersion: 'TLSv1.2' }]] as const)(
    'is shown to a server that wants one (%j)',
    async (options) => {
      const { url, shown } = await asking(options);
      expect(await check(url)).toMatchObject({ outcome: 'fail' });
      expect(await check(url, { client_certificate: pem(monitor) })).toMatchObject({
        outcome: 'ok',
        evidence: { status: 200 },
      });
      expect(shown).toEqual(['CN=monitor']);
    },
  );

  test('that the server does not know is a failure of the handshake, and shows nothing of the key', async () => {
    const { url } = await asking({ maxVersion: 'TLSv1.2' });
    const checked = await check(url, { client_certificate: pem(stranger) });
    expect(checked).toMatchObject({ outcome: 'fail' });
    expect(JSON.stringify(checked)).not.toContain(stranger.key.split('\n')[1]);
  });

  test('goes to the origin of the monitor alone, not over a redirect and not back', async () => {
    const elsewhere = await asking({ isStrict: false }, () => undefined);
    const start = await asking(
      {},
      () => `HTTP/1.1 302 Found\r\nLocation: ${elsewhere.url}\r\nContent-Length: 0\r\n\r\n`,
    );
    expect(await check(start.url, { client_certificate: pem(monitor) })).toMatchObject({
      outcome: 'fail',
    });
    expect(start.shown).toEqual(['CN=monitor']);
    expect(elsewhere.shown).toEqual([undefined]);
  });

  test('of one monitor is never shown by another', async () => {
    const { url, shown } = await asking({ isStrict: false });
    await check(url, { client_certificate: pem(monitor) });
    await check(url);
    await check(url, { client_certificate: pem(stranger) });
    await check(url, { client_certificate: pem(monitor), verify_tls: false });
    expect(shown).toEqual(['CN=monitor', undefined, 'CN=stranger', 'CN=monitor']);
  });

  test('has a context of its own, of which only the latest are kept', () => {
    const trust = createTrust();
    const made = Array.from({ length: 70 }, (_, nth) => ({
      ...readClientCertificate(pem(monitor)),
      id: String(nth),
    }));
    const contexts = made.map((one) => trust.context(true, false, one));
    expect(new Set(contexts).size).toBe(70);
    const isKept = made.map((one, nth) => trust.context(true, false, one) === contexts[nth]);
    expect(isKept.at(0)).toBe(false);
    expect(trust.context(true, false)).toBe(trust.context(true, false, null));
    expect(contexts).not.toContain(trust.context(true, false));
  });
});
