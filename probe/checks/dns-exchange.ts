import type { Resolver, Transport } from '../../shared/checks/dns/config.ts';
import { type DnsMessage, type Question, readMessage, writeQuestion } from './dns-message.ts';
import type { UdpSockets } from './dns-sockets.ts';
import { askByTcp } from './dns-tcp.ts';

/** What asking came to, whatever the answer says. */
export type Outcome =
  | { readonly is: 'answer'; readonly message: DnsMessage }
  /** Nobody answered; a truncated answer and no TCP; answers to other questions only; an answer that cannot be read; no way there. */
  | { readonly is: 'silent' | 'truncated' | 'wrong_question' | 'malformed' | 'oversized' | 'refused' | 'failed' | 'unreachable' };

export type Exchange = {
  readonly outcome: Outcome;
  /** Who answered, or was asked last. */
  readonly resolver: Resolver;
  readonly transport: Transport;
  /** Datagrams sent. */
  readonly attempts: number;
  /** Answers to something else, under our id. */
  readonly strays: number;
  /** From the first question to the answer; and to the TCP connection, where there was one. */
  readonly answered_ms: number;
  readonly connected_ms: number | null;
};

export type Asking = {
  readonly question: Question;
  /** Asked in turn; more than one only if they are the probe's own. */
  readonly resolvers: readonly [Resolver, ...Resolver[]];
  readonly transport: Transport;
  /** How long to wait for the first datagram's answer; doubles with each further one. */
  readonly patience_ms: number;
  readonly deadline: AbortSignal;
};

/** Questions as bytes, with and without EDNS, for as long as the question is asked. */
export type Written = { readonly edns: Buffer; readonly plain: Buffer };

export const write = (question: Question): Written => ({ edns: writeQuestion(question, true), plain: writeQuestion(question, false) });

/** A resolver that cannot or will not: with another one of ours at hand, that one is asked. */
const evasions: readonly number[] = [2, 4, 5];

/** What old servers say to EDNS when they do not know it: format error, not implemented, bad version. */
const ednsRefusals: readonly number[] = [1, 4, 16];

const unreachable: readonly string[] = ['ENETUNREACH', 'EHOSTUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL'];

type Datagrams = { readonly outcome: Outcome; readonly resolver: Resolver; readonly attempts: number; readonly strays: number };

/** Asks by UDP, again and again at doubling distances, each time from another port under another id; all stay open for an answer. */
const askByUdp = (sockets: UdpSockets, asking: Asking, written: Written): Promise<Datagrams> =>
  new Promise((resolve) => {
    const { resolvers, deadline, question } = asking;
    const tickets: { cancel: () => void }[] = [];
    let attempts = 0;
    let strays = 0;
    let failure: 'failed' | 'unreachable' | undefined;
    let edns = true;
    let timer: NodeJS.Timeout | undefined;
    let done = false;
    const last = (): Resolver => resolvers[Math.max(0, attempts - 1) % resolvers.length] ?? resolvers[0];

    const end = (outcome: Outcome, resolver = last()): void => {
      if (done) return;
      done = true;
      clearTimeout(timer);
      deadline.removeEventListener('abort', expired);
      for (const ticket of tickets) ticket.cancel();
      resolve({ outcome, resolver, attempts, strays });
    };
    const expired = (): void => end({ is: failure ?? (strays > 0 ? 'wrong_question' : 'silent') });

    const send = (): void => {
      attempts += 1;
      const resolver = last();
      const withEdns = edns;
      const hear = (answer: Buffer): void => {
        const reading = readMessage(answer, question, 'udp');
        if (reading.is === 'stray') strays += 1;
        else if (reading.is !== 'answer') end(reading, resolver);
        else if (withEdns && !reading.message.edns && ednsRefusals.includes(reading.message.rcode)) {
          edns = false;
          again();
        } else if (attempts < resolvers.length && evasions.includes(reading.message.rcode)) again();
        else end(reading, resolver);
      };
      const fail = (error: Error): void => {
        failure = 'code' in error && unreachable.includes(String(error.code)) ? 'unreachable' : 'failed';
        // With nobody else to ask there is nothing to wait for; a failed datagram is our own system speaking.
        if (attempts >= resolvers.length && tickets.length >= attempts) end({ is: failure }, resolver);
      };
      tickets.push(sockets.ask(resolver, withEdns ? written.edns : written.plain, hear, fail));
    };
    const again = (): void => {
      clearTimeout(timer);
      if (done) return;
      send();
      timer = setTimeout(again, asking.patience_ms * 2 ** Math.min(attempts - 1, 6));
    };

    if (deadline.aborted) return expired();
    deadline.addEventListener('abort', expired);
    again();
  });

/** Performs one question: by UDP first unless TCP is asked for, by TCP when the answer was truncated. Ends by the deadline. */
export const exchange = async (sockets: UdpSockets, asking: Asking, written: Written = write(asking.question)): Promise<Exchange> => {
  const began = performance.now();
  const timed = (): number => performance.now() - began;
  if (asking.transport === 'tcp') {
    const [resolver] = asking.resolvers;
    const { connected_ms, ...outcome } = await askByTcp(resolver, asking.question, written.edns, asking.deadline);
    const strays = outcome.is === 'wrong_question' ? 1 : 0;
    return { outcome, resolver, transport: 'tcp', attempts: 0, strays, answered_ms: timed(), connected_ms };
  }
  const { outcome, resolver, attempts, strays } = await askByUdp(sockets, asking, written);
  if (outcome.is !== 'answer' || !outcome.message.flags.tc)
    return { outcome, resolver, transport: 'udp', attempts, strays, answered_ms: timed(), connected_ms: null };
  const { connected_ms, ...byTcp } = await askByTcp(resolver, asking.question, written.edns, asking.deadline);
  const unread = byTcp.is === 'malformed' || byTcp.is === 'oversized' || byTcp.is === 'wrong_question';
  const whole: Outcome = byTcp.is === 'answer' || unread ? byTcp : { is: 'truncated' };
  return { outcome: whole, resolver, transport: 'tcp', attempts, strays, answered_ms: timed(), connected_ms };
};
