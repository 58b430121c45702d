/**
 * Answers by http and https in a process of its own: 200, or 503 on the port that `fail` on
 * standard input turns off, and anything else on; one more fails on one continent alone. Says its
 * ports on standard output.
 */
import { readFileSync } from 'node:fs';
import { createServer as createHttp, type RequestListener, type Server } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { faultAt, placeOf } from '../one-sided/schedule.ts';

const [folder = '.'] = process.argv.slice(2);
const page = Buffer.alloc(2_048, 0x61);
let isFailing = false;

const well: RequestListener = (_request, response) =>
  void response
    .writeHead(200, { 'content-type': 'text/plain', 'content-length': page.length })
    .end(page);
const breakable: RequestListener = (request, response) => {
  if (isFailing) response.writeHead(503).end();
  else well(request, response);
};

const oneSided: RequestListener = (request, response) => {
  const fault = faultAt(Number(request.url?.slice(1)), Date.now());
  const isHere =
    fault?.continent === null || fault?.continent === placeOf(request.headers['user-agent']);
  if (!fault || !isHere) well(request, response);
  else if (fault.manner === 'status') response.writeHead(503).end();
  else if (fault.manner === 'reset') request.socket.destroy();
  else request.resume();
};

const listen = (server: Server): Promise<number> =>
  new Promise((resolve) => {
    server.listen({ port: 0, host: '127.0.0.1', backlog: 8_192 }, () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });

process.stdin.on('data', (said) => {
  isFailing = said.toString().includes('fail');
});
// As nginx does: the client chooses the cipher.
const tls = {
  honorCipherOrder: false,
  cert: readFileSync(`${folder}/leaf.pem`),
  key: readFileSync(`${folder}/leaf.key`),
};
const ports = {
  well: await listen(createHttp(well)),
  breakable: await listen(createHttp(breakable)),
  https: await listen(createHttps(tls, well)),
  oneSided: await listen(createHttp(oneSided)),
};
process.stdout.write(`${JSON.stringify(ports)}\n`);
