import { createHmac, timingSafeEqual } from 'node:crypto';
import type { PresenceMessage } from '../../shared/bus/messages.ts';
import type { ProbeRow } from './queries.ts';

/**
 * Where each probe comes from. Of one that comes to the bus by TCP, the bus sees it. Of one that a
 * coordinator passes on, the bus sees that coordinator: it tells the probe the address, with a proof that
 * no probe can make, and the probe sends both with its presence. Rules 10 and 16 rest on it.
 */
export function createSeenAddresses(
  secretKeys: readonly string[],
  /** The address that the bus sees this key's newest connection come from. */
  connectionOf: (key: string) => string | undefined,
) {
  /** Of those that are passed on; undefined: a balancer did so, which proves nothing. */
  const passedOn = new Map<string, string | undefined>();
  return {
    hear: (probe: string, { way, comes_from }: PresenceMessage): void => {
      if (way !== 'websocket') passedOn.delete(probe);
      else passedOn.set(probe, comes_from && provenAddress(secretKeys, comes_from));
    },
    of: ({ id, keys }: Pick<ProbeRow, 'id' | 'keys'>): string | undefined =>
      passedOn.has(id)
        ? passedOn.get(id)
        : keys.toReversed().flatMap(({ key }) => connectionOf(key) ?? [])[0],
  };
}

/** An address with its proof, for the probe. */
export function proveAddress(secretKey: string, address: string): string {
  return `${address} ${proofOf(secretKey, address)}`;
}

function provenAddress(secretKeys: readonly string[], text: string): string | undefined {
  const [address = '', proof = ''] = text.split(' ');
  const isProven = (key: string): boolean => {
    const [one, other] = [Buffer.from(proofOf(key, address)), Buffer.from(proof)];
    return one.length === other.length && timingSafeEqual(one, other);
  };
  return secretKeys.some(isProven) ? address : undefined;
}

function proofOf(secretKey: string, address: string): string {
  return createHmac('sha256', secretKey)
    .update(`antipode: a probe comes from ${address}`)
    .digest('base64url');
}
