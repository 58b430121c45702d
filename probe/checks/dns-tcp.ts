import { randomInt } from 'node:crypto';
import { connect } from 'node:net';
import { codeOf } from '../../shared/base/error-code.ts';
import type { Resolver } from '../../shared/checks/dns/checks-dns-config.ts';
import type { CheckDeadline } from './check-deadline.ts';
import { type DnsMessage, type Question, type Reading, readMessage, type Written, withId } from './dns-message.ts';

export type TcpOutcome =
  | { readonly is: 'answer'; readonly message: DnsMessage; readonly connected_ms: number }
  | {
      readonly is: 'silent' | 'wrong_question' | 'malformed' | 'oversized' | 'refused' | 'failed' | 'unreachable';
      readonly connected_ms: number | null;
    };

const failures: Readonly<Record<string, 'refused' | 'unreachable'>> = {
  ECONNREFUSED: 'refused',
  ENETUNREACH: 'unreachable',
  EHOSTUNREACH: 'unreachable',
  EADDRNOTAVAIL: 'unreachable',
};

/** One question over one connection of its own. Settles at the latest with the deadline, and leaves nothing open. */
export const askByTcp = (resolver: Resolver, question: Question, written: Written, deadline: CheckDeadline): Promise<TcpOutcome> =>
  new Promise((resolve) => {
    const began = performance.now();
    const id = randomInt(0x10000);
    let connected_ms: number | null = null;
    let strays = false;
    let received = Buffer.alloc(0);
    const socket = connect({ host: resolver.address, port: resolver.port, family: resolver.family });
    const end = (outcome: TcpOutcome): void => {
      deadline.unlisten(expiring);
      socket.destroy();
      resolve(outcome);
    };
    const expiring = { expire: (): void => end({ is: strays ? 'wrong_question' : 'silent', connected_ms }) };
    if (deadline.isOver()) return expiring.expire();
    deadline.listen(expiring);

    /** Takes whole messages off what was received; a length has 16 bits, so that no more than 64 KiB is ever held. */
    const read = (): void => {
      for (;;) {
        const length = received.length < 2 ? undefined : received.readUInt16BE(0);
        if (length === undefined || received.length < 2 + length) return;
        const message = received.subarray(2, 2 + length);
        received = received.subarray(2 + length);
        const ours = message.length >= 2 && message.readUInt16BE(0) === id;
        const reading: Reading = ours ? readMessage(message, question, written.plain, 'tcp') : { is: 'stray' };
        if (reading.is !== 'stray') {
          end(reading.is === 'answer' ? { ...reading, connected_ms: connected_ms ?? 0 } : { ...reading, connected_ms });
          return;
        }
        strays = true;
      }
    };

    socket.on('connect', () => {
      connected_ms = performance.now() - began;
      const query = withId(written.edns, id);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(query.length);
      socket.write(Buffer.concat([length, query]));
    });
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      read();
    });
    socket.on('end', () => end({ is: strays ? 'wrong_question' : 'failed', connected_ms }));
    socket.on('error', (error) => end({ is: failures[codeOf(error)] ?? 'failed', connected_ms }));
  });
