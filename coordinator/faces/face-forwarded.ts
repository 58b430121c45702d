import type { IncomingMessage } from 'node:http';
import type { Log } from '../../shared/base/log.ts';
import { isLoopback, isPrivateUse, parseAddress, unmapped } from '../../shared/base/network.ts';

/** A proxy passes on from proxies before it; longer than this is no way that a request took. */
const mostHops = 16;

/** An entry as an address; with its port, as some proxies write it. Undefined: it is none. */
const addressIn = (entry: string): string | undefined => {
  const text = entry.trim();
  const [, inBrackets, withPort] = /^(?:\[(.+)\](?::\d+)?|([\d.]+):\d+)$/.exec(text) ?? [];
  const address = parseAddress(inBrackets ?? withPort ?? text);
  return address && unmapped(address).toString();
};

/**
 * What of X-Forwarded-For is read: from the proxy nearest to us on, as far as there are addresses. An entry that is none hides all before it, or a
 * caller's own would count for what a proxy could not tell.
 */
const soundForwarded = (header: string): string | undefined => {
  const sound: string[] = [];
  for (const entry of header.split(',').slice(-mostHops).toReversed()) {
    const address = addressIn(entry);
    if (address === undefined) break;
    sound.unshift(address);
  }
  return sound.length === 0 ? undefined : sound.join(', ');
};

export type Forwarded = {
  /** For the server: the address of a request is the first, from us on, that is not among these. */
  readonly trustProxy: string[] | false;
  /** Done to a request before anybody reads it. */
  readonly tidy: (request: IncomingMessage) => void;
};

/**
 * Where a request comes from that a proxy passes on: TRUSTED_PROXIES says whose word counts. Only an address is ever taken from such headers; what we
 * are called, and that it is https, BASE_URL says.
 */
export const createForwarded = (trusted: readonly string[], log: Pick<Log, 'warn'>): Forwarded => {
  let isTold = false;

  /** Where nobody is named, all who come by way of a proxy are one address, and one of them uses up the tries of all. */
  const tellOnce = (from: string): void => {
    const address = parseAddress(from);
    if (isTold || trusted.length > 0 || !address || !(isLoopback(address) || isPrivateUse(address))) return;
    isTold = true;
    log.warn(
      { proxy: from },
      'requests come by way of a proxy, and count as one address: set TRUSTED_PROXIES to its address, such as loopback, if it writes X-Forwarded-For itself',
    );
  };

  return {
    trustProxy: trusted.length > 0 && [...trusted],
    tidy: ({ headers, socket }) => {
      delete headers['x-forwarded-host'];
      delete headers['x-forwarded-proto'];
      const { 'x-forwarded-for': header } = headers;
      if (header === undefined) return;
      tellOnce(socket.remoteAddress ?? '');
      const sound = soundForwarded(String(header));
      if (sound === undefined) delete headers['x-forwarded-for'];
      else headers['x-forwarded-for'] = sound;
    },
  };
};
