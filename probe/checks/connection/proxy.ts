import { connect, isIP, type Socket } from 'node:net';
import { codeOf } from '../../../shared/base/errors.ts';
import { isOwnSocketCode, ofProxy } from './observation.ts';

/** The proxy through which checks connect, where the operator names one. */
export type ChecksProxy = {
  readonly host: string;
  readonly port: number;
  /** The line of its user and password; empty without one. */
  readonly authorization: string;
};

/** @throws Error, with words that hold nothing of the address. */
export function proxyAt(text: string): ChecksProxy {
  const url = URL.parse(text);
  if (url?.protocol !== 'http:')
    throw new Error('must be http://host:port, or with http://user:password@host:port');
  const { hostname, port, username, password } = url;
  const [user, word] = [username, password].map(decodeURIComponent);
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || 80),
    authorization:
      username === ''
        ? ''
        : `Proxy-Authorization: Basic ${Buffer.from(`${user}:${word}`).toString('base64')}\r\n`,
  };
}

/** A proxy that says more before it connects is none. */
const maxHead = 16_384;

/**
 * A socket to the proxy, which calls `established` once the proxy has connected it to the address.
 * Until then, its error has a code that says what the proxy did.
 */
export function dialThrough(
  { host, port: at, authorization }: ChecksProxy,
  address: string,
  port: number,
  established: () => void,
): Socket {
  const socket = connect({ host, port: at, noDelay: true });
  const target = `${isIP(address) === 6 ? `[${address}]` : address}:${port}`;
  let head = Buffer.alloc(0);
  const read = (): void => {
    for (let part = socket.read(); part !== null; part = socket.read())
      head = Buffer.concat([head, part]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0 && head.length <= maxHead) return;
    const status =
      end < 0 ? undefined : /^HTTP\/1\.[01] (\d{3})\b/.exec(head.toString('latin1', 0, end))?.[1];
    if (!status?.startsWith('2')) {
      refuse(status ?? 'MALFORMED');
      return;
    }
    listenNoMore();
    // A server that speaks first may have done so.
    const more = head.subarray(end + 4);
    if (more.length > 0) socket.unshift(more);
    established();
  };
  const refuse = (what: string): void => {
    listenNoMore();
    socket.destroy(Object.assign(new Error('the proxy refuses'), { code: ofProxy + what }));
  };
  const listenNoMore = (): void => {
    socket.off('readable', read).off('end', closed).off('error', named);
  };
  const closed = (): void => refuse('CLOSED');
  const named = (error: Error): void => {
    const code = codeOf(error, 'EUNKNOWN');
    if (!isOwnSocketCode(code)) Object.assign(error, { code: ofProxy + code });
  };
  socket.on('readable', read).once('end', closed).once('error', named);
  socket.once('connect', () =>
    socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${authorization}\r\n`),
  );
  return socket;
}
