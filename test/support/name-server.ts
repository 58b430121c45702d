/** For test files: who answers for names on the wire of hosts of their own. */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import dnsPacket from 'dns-packet';

/** At port 53 of the address: these names, and of all others that there is none, which is an answer. */
export const startNameServer = async (address: string, names: Readonly<Record<string, string>> = {}): Promise<Socket> => {
  const socket = createSocket('udp4', (query, from) => {
    const { id, questions = [] } = dnsPacket.decode(query);
    const [question] = questions;
    const found = question && names[question.name.toLowerCase()];
    const flags = dnsPacket.RECURSION_DESIRED | dnsPacket.RECURSION_AVAILABLE;
    const answers =
      question?.type === 'A' && found !== undefined ? [{ type: 'A' as const, name: question.name, ttl: 60, data: found }] : [];
    // A name that there is has no other addresses.
    const rcode = found === undefined ? 3 : 0;
    socket.send(dnsPacket.encode({ type: 'response', id: id ?? 0, flags: flags | rcode, questions, answers }), from.port, from.address);
  });
  socket.bind(53, address);
  await once(socket, 'listening');
  return socket;
};
