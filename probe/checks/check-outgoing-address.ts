import { createSocket } from 'node:dgram';
import { isPublic, parseAddress } from '../../shared/base/public-addresses.ts';
import type { Resolver } from '../../shared/checks/dns/checks-dns-config.ts';

/** Whether it may be told which of our addresses the other side saw: one that is not public is changed on its way out, and nobody's business. */
export const mayTellOutgoing = (own: string | null, other: string | null): own is string => {
  const [from, to] = [own, other].map((text) => (text === null ? undefined : parseAddress(text)));
  return from !== undefined && to !== undefined && (isPublic(from) || !isPublic(to));
};

/** From which of our addresses the system sends to this resolver; null where there is no way. Nothing is sent. */
export const outgoingTo = ({ address, port, family }: Resolver): Promise<string | null> =>
  new Promise((resolve) => {
    const socket = createSocket(family === 4 ? 'udp4' : 'udp6');
    // To the callback node gives the error of a connection that fails, which its type leaves out.
    socket.connect(port, address, (error?: Error) => {
      const own = error ? null : socket.address().address;
      socket.close();
      resolve(own);
    });
  });
