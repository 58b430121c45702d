import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { readCertificateLazily, type Trust } from './https-trust.ts';

/** How a connection is to be secured. `host`: the name that is asked for, if it is one; `isHybrid`: with post-quantum groups too. */
export type Securing = { readonly host: string; readonly verify: boolean; readonly isHybrid: boolean };

/** As it goes over the wire: a list of names would be put together anew for each connection. */
const alpn = Buffer.from('\u0008http/1.1', 'latin1');
const noOwnCheck = () => undefined;

/**
 * Opens a socket to a literal address. With TLS it is one object for both, whose handshake begins as soon as it is connected: to put TLS over a
 * socket that is there already costs a twentieth of the whole check.
 */
export const openSocket = (address: string, port: number, securing: Securing | null, trust: Trust): Socket => {
  if (!securing) return connectTcp({ host: address, port, noDelay: true });
  const { host, verify, isHybrid } = securing;
  const socket = connectTls({
    ...{ host: address, port },
    ...(isIP(host) === 0 ? { servername: host } : {}),
    secureContext: trust.context(verify, isHybrid),
    // The chain is judged by the check, from what OpenSSL says of it, so that its certificates can still be read as evidence.
    rejectUnauthorized: false,
    checkServerIdentity: noOwnCheck,
    ALPNProtocols: alpn,
  });
  socket.setNoDelay(true);
  readCertificateLazily(socket);
  return socket;
};
