import { type Reach, SourceRefused } from '../../shared/imports/download.ts';
import type { DocumentReader } from '../outbound/documents.ts';

/** Asks other services over TLS, never at an address of this network, with their answer in memory. */
export function createSourceReach({ read }: Pick<DocumentReader, 'read'>): Reach {
  return async ({ url, ...request }, signal) => {
    try {
      const { status, headers, body } = await read(url, { ...request, signal });
      return {
        status,
        retryAfter: headers['retry-after'] ?? null,
        text: Buffer.from(body).toString('utf8'),
      };
    } catch {
      // The reason may name what is in this network.
      throw new SourceRefused('unreadable', `${new URL(url).host} cannot be reached.`);
    }
  };
}
