/**
 * Answers by https so many milliseconds after it was asked, in a process of its own. Says its port
 * on standard output.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';

const [folder = '.', delay = '0'] = process.argv.slice(2);
const server = createServer(
  { cert: readFileSync(`${folder}/leaf.pem`), key: readFileSync(`${folder}/leaf.key`) },
  (_request, response) => {
    setTimeout(
      () => response.writeHead(200, { 'content-type': 'text/plain' }).end('well'),
      Number(delay),
    );
  },
);
server.on('tlsClientError', () => undefined); // Clients that leave in the middle are part of the day.
server.listen({ port: 0, host: '127.0.0.1', backlog: 8_192 }, () => {
  const address = server.address();
  process.stdout.write(
    `${JSON.stringify({ port: typeof address === 'object' && address !== null ? address.port : 0 })}\n`,
  );
});
