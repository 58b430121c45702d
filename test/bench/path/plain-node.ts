/**
 * What node itself needs for an https check at the same pace: by node:tls with one context, as many
 * connections at the end of each slot as the probe's schedule has turns there, the certificate
 * verified and its name and end read once, one question, one answer; nothing scheduled, judged,
 * kept or sent.
 */
import { readFileSync } from 'node:fs';
import { connect, createSecureContext, DEFAULT_CIPHERS, getCACertificates } from 'node:tls';

const [authority = '', port = '0', perSecond = '0'] = process.argv.slice(2);
const slotMs = 50;
const secureContext = createSecureContext({
  ca: [...getCACertificates(), readFileSync(authority, 'utf8')],
  ecdhCurve: 'X25519:P-256:P-384:P-521',
  ciphers: `TLS_AES_128_GCM_SHA256:${DEFAULT_CIPHERS}`,
});
const request = Buffer.from(
  'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\nConnection: close\r\n\r\n',
);
// Node's own reading of the whole chain costs a fifth more, and nobody asks for it.
const noLegacyCertificate = (): object => ({});

let begun = 0;
let lost = 0;
/** A busy machine resets some. With more of them the figure would say nothing. */
const lostAtMost = (): number => Math.max(10, begun / 100);

const check = (): void => {
  begun += 1;
  const socket = connect({
    host: '127.0.0.1',
    port: Number(port),
    secureContext,
    checkServerIdentity: () => undefined,
  });
  Object.defineProperty(socket, 'getPeerCertificate', { value: noLegacyCertificate });
  socket.once('secureConnect', () => {
    const leaf = socket.getPeerX509Certificate();
    if (leaf?.checkIP('127.0.0.1') === undefined || leaf.validToDate.getTime() < Date.now())
      throw new Error('not the certificate of the target');
    socket.write(request);
  });
  socket.once('error', (error) => {
    lost += 1;
    if (lost > lostAtMost()) throw error;
  });
  socket.on('data', () => undefined);
  socket.once('end', () => socket.destroy());
};

let owed = 0;
const tick = (): void => {
  for (owed += (Number(perSecond) * slotMs) / 1_000; owed >= 1; owed -= 1) check();
  setTimeout(tick, slotMs - (Date.now() % slotMs));
};
tick();
