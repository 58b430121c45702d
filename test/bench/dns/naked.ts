/**
 * What node itself needs: as many questions in flight over as many sockets as the probe has, by node:dgram, with nothing read, judged or given up on.
 */
import { createSocket } from 'node:dgram';
import { withId, writeQuestion } from '../../../probe/checks/dns-message.ts';
import { answerOrders, type Order } from './order.ts';

const slots = 16;
const sockets = Array.from({ length: slots }, () =>
  createSocket({ type: 'udp4', lookup: (address, _options, done) => done(null, address, 4) }).bind(0),
);

const keepAsking = ({ resolver, name, in_flight, ms }: Order): Promise<object> =>
  new Promise((resolve) => {
    const [address = '', port = ''] = resolver.split(':');
    const question = writeQuestion({ name, type: 'A' }, true);
    const before = process.cpuUsage();
    let [asked, answered] = [0, 0];
    const ask = (): void => {
      asked += 1;
      sockets[asked % slots]?.send(withId(question, asked & 0xffff), Number(port), address);
    };
    const hear = (): void => {
      answered += 1;
      ask();
    };
    // A datagram that got lost is one less in flight; what is answered later than this counts for nobody.
    setTimeout(() => {
      for (const socket of sockets) socket.off('message', hear);
      const { user, system } = process.cpuUsage(before);
      resolve({ checks: answered, failed: 0, cpu_ms: (user + system) / 1_000 });
    }, ms);
    for (const socket of sockets) socket.on('message', hear);
    for (let nth = 0; nth < in_flight; nth += 1) ask();
  });

await answerOrders(keepAsking);
for (const socket of sockets) socket.close();
