import { isUnknownAuthority, trustHere } from '../base/network.ts';

/**
 * The way to the bus through port 443: a websocket at the coordinators' address, also through the
 * proxy that the process was given at its start. What does not let it pass is told in words.
 */

export function isWebsocket(url: string): boolean {
  return /^wss?:\/\//.test(url);
}

/** The path of the coordinators' address where websockets come in. */
export const busPath = '/bus';
/** Of their answer: where the probe comes from, with a proof for the other coordinators. */
export const addressHeader = 'antipode-address';

const openingMs = 3_000;

/** The socket for the bus's client, which waits for it to open, or for its error. */
export async function openWebsocket(
  url: string,
  {
    authorities,
    onAddress,
  }: {
    readonly authorities?: string | undefined;
    /** Called with what the coordinator that passes it on says; undefined: nobody did. */
    readonly onAddress?: ((text: string | undefined) => void) | undefined;
  },
) {
  const encrypted = url.startsWith('wss://');
  // A bus at an address of its own needs none of it.
  const [{ WebSocket }, { globalAgent }] = await Promise.all([import('ws'), import('node:https')]);
  const socket = new WebSocket(url, {
    perMessageDeflate: false,
    handshakeTimeout: openingMs,
    ...(encrypted ? { agent: globalAgent, secureContext: trustHere(authorities) } : {}),
  });
  socket.once('upgrade', ({ headers }) => {
    const said = headers[addressHeader];
    onAddress?.(typeof said === 'string' ? said : undefined);
  });
  socket.once('unexpected-response', (request, { statusCode, headers }) => {
    request.destroy();
    socket.emit('error', new Error(refusedWith(statusCode ?? 0, headers.location)));
  });
  // The client's own listener comes after this one, and reads the error that it was changed to.
  socket.prependListener('error', (error) => {
    error.message = whyNoWay(error);
  });
  return { socket, encrypted };
}

function refusedWith(status: number, location: string | undefined): string {
  return location === undefined
    ? `no websocket passes: the answer was ${status}. A proxy or balancer on the way must pass on "Upgrade: websocket" at ${busPath}`
    : `no websocket passes: the answer was ${status}, to ${location}`;
}

/** The remedy where a private authority signed the service's certificates. */
export const unknownAuthority =
  'nobody here knows the authority that signed its certificate: name it to join with --ca FILE, ' +
  'or add it to those that this machine trusts (update-ca-certificates); a proxy that opens TLS ' +
  'has one of its own';

/** Why the coordinators' address is not reached, with what to do. */
export function whyNoWay(error: Error): string {
  if ('code' in error && error.code === 'ERR_PROXY_TUNNEL')
    return 'statusCode' in error && error.statusCode === 407
      ? 'the proxy wants a user and a password (407): HTTPS_PROXY=http://user:password@host:port'
      : `the proxy does not let it pass: ${error.message}`;
  return isUnknownAuthority(error) ? unknownAuthority : error.message || error.name;
}
