/**
 * What node itself needs: so many TLS connections with one context, each of which has asked and
 * waits. Says on standard output, as JSON, its memory before and during.
 */
import { readFileSync } from 'node:fs';
import { connect, createSecureContext, type TLSSocket } from 'node:tls';

const [authority = '', port = '0', count = '0'] = process.argv.slice(2);
const secureContext = createSecureContext({ ca: readFileSync(authority), ecdhCurve: 'X25519' });
const perTick = 25;

const open = (): Promise<TLSSocket> =>
  new Promise((resolve, reject) => {
    const socket = connect(
      { host: '127.0.0.1', servername: 'localhost', port: Number(port), secureContext },
      () => {
        socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
        resolve(socket);
      },
    );
    socket.once('error', reject);
  });

const first = await open();
first.destroy();
const before = process.memoryUsage.rss();
const sockets: TLSSocket[] = [];
while (sockets.length < Number(count))
  sockets.push(...(await Promise.all(Array.from({ length: perTick }, open))));
const during = process.memoryUsage.rss();
process.stdout.write(`${JSON.stringify({ before, during, open: sockets.length })}\n`, () =>
  process.exit(0),
);
