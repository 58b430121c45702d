/**
 * What all contestants check: a page of 2 KB by https, with an ECDSA and with an RSA certificate, a
 * WebSocket beside it that echoes, and a mail server's greeting, in a process of its own. Says its ports on standard output.
 */
import { readFileSync } from 'node:fs';
import { createServer, type ServerOptions } from 'node:https';
import { type AddressInfo, createServer as createTcp, type Server } from 'node:net';
import { WebSocketServer } from 'ws';

const [folder = '.'] = process.argv.slice(2);
const page = Buffer.alloc(2_048, 0x61);

const serve = (name: string, options: ServerOptions, hang: boolean): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer(
      {
        cert: readFileSync(`${folder}/${name}.pem`),
        key: readFileSync(`${folder}/${name}.key`),
        honorCipherOrder: false,
        ...options,
      },
      (_request, response) => {
        if (!hang)
          response
            .writeHead(200, { 'content-type': 'text/plain', 'content-length': page.length })
            .end(page);
      },
    );
    new WebSocketServer({ server }).on('connection', (client) =>
      client
        .on('error', () => undefined)
        .on('message', (data, binary) => client.send(data, { binary })),
    );
    server.on('tlsClientError', () => undefined); // Clients that leave in the middle are part of the day.
    resolve(listen(server));
  });

const listen = (server: Server): Promise<number> =>
  new Promise((resolve) => {
    server.listen({ port: 0, host: '127.0.0.1', backlog: 8_192 }, () => {
      const address: AddressInfo | string | null = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });

const ports = {
  ecdsa: await serve('ecdsa', {}, false),
  rsa: await serve('rsa', {}, false),
  hang: await serve('ecdsa', {}, true),
  greeting: await listen(
    createTcp((socket) => {
      socket.on('error', () => undefined).on('data', () => undefined);
      socket.write('220 mail.example ESMTP\r\n');
    }),
  ),
};
process.stdout.write(`${JSON.stringify(ports)}\n`);
