/**
 * What node itself needs: as many questions in flight as the probe has, over as many sockets
 * connected to the resolver, and those of one turn of the loop together, by node:dgram, with
 * nothing read, judged or given up on.
 */
import { createSocket, type Socket } from 'node:dgram';
import { withId, writeQuestion } from '../../../probe/checks/dns/message.ts';
import { answerOrders, type Order } from './order.ts';

const slots = 4;
let sockets: Socket[] = [];

const connected = (port: number, address: string): Promise<Socket> =>
  new Promise((resolve) => {
    const socket = createSocket({
      type: 'udp4',
      lookup: (literal, _options, done) => done(null, literal, 4),
    });
    socket.connect(port, address, () => resolve(socket));
  });

const keepAsking = async ({ resolver, name, in_flight, ms }: Order): Promise<object> => {
  const [address = '', port = ''] = resolver.split(':');
  if (sockets.length === 0)
    sockets = await Promise.all(
      Array.from({ length: slots }, () => connected(Number(port), address)),
    );
  const question = writeQuestion({ name, type: 'A' }, true);
  const before = process.cpuUsage();
  let [asked, answered, leaving] = [0, 0, 0];
  const leave = (): void => {
    const count = leaving;
    leaving = 0;
    for (let nth = 0; nth < count; nth += 1) {
      asked += 1;
      sockets[asked % slots]?.send(withId(question, asked & 0xffff));
    }
  };
  const ask = (): void => {
    leaving += 1;
    if (leaving === 1) setImmediate(leave);
  };
  const hear = (): void => {
    answered += 1;
    ask();
  };
  for (const socket of sockets) socket.on('message', hear);
  for (let nth = 0; nth < in_flight; nth += 1) ask();
  // A datagram that got lost is one less in flight; what is answered later than this counts for
  // nobody.
  await new Promise((resolve) => setTimeout(resolve, ms));
  for (const socket of sockets) socket.off('message', hear);
  const { user, system } = process.cpuUsage(before);
  return { checks: answered, failed: 0, cpu_ms: (user + system) / 1_000 };
};

await answerOrders(keepAsking);
for (const socket of sockets) socket.close();
