import { randomInt } from 'node:crypto';
import { connect } from 'node:net';
import { performance } from 'node:perf_hooks';
import { codeOf } from '../../../shared/base/errors.ts';
import type { Resolver, Transport } from '../../../shared/checks/dns/config.ts';
import { type Alarm, type CheckDeadline, clearAlarm, type Expiring, setAlarm } from '../limits.ts';
import {
  type DnsMessage,
  flagBits,
  type Question,
  type Reading,
  readMessage,
  type Written,
  withId,
} from './message.ts';
import type { Asker, Ticket, UdpSockets } from './sockets.ts';

export type TcpOutcome =
  | { readonly is: 'answer'; readonly message: DnsMessage; readonly connected_ms: number }
  | {
      readonly is:
        | 'silent'
        | 'wrong_question'
        | 'malformed'
        | 'oversized'
        | 'refused'
        | 'failed'
        | 'unreachable';
      readonly connected_ms: number | null;
    };

const failures: Readonly<Record<string, 'refused' | 'unreachable'>> = {
  ECONNREFUSED: 'refused',
  ENETUNREACH: 'unreachable',
  EHOSTUNREACH: 'unreachable',
  EADDRNOTAVAIL: 'unreachable',
};

/**
 * One question over one connection of its own. Settles at the latest with the deadline, and leaves
 * nothing open.
 */
export function askByTcp(
  resolver: Resolver,
  question: Question,
  written: Written,
  deadline: CheckDeadline,
): Promise<TcpOutcome> {
  return new Promise((resolve) => {
    const began = performance.now();
    const id = randomInt(0x10000);
    let connected_ms: number | null = null;
    let strays = false;
    let received = Buffer.alloc(0);
    const socket = connect({
      host: resolver.address,
      port: resolver.port,
      family: resolver.family,
    });
    const end = (outcome: TcpOutcome): void => {
      deadline.unlisten(expiring);
      socket.destroy();
      resolve(outcome);
    };
    const expiring = {
      expire: (): void => end({ is: strays ? 'wrong_question' : 'silent', connected_ms }),
    };
    if (deadline.isOver()) return expiring.expire();
    deadline.listen(expiring);

    /**
     * Takes whole messages off what was received; a length has 16 bits, so that no more than 64 KiB
     * is ever held.
     */
    const read = (): void => {
      for (;;) {
        const length = received.length < 2 ? undefined : received.readUInt16BE(0);
        if (length === undefined || received.length < 2 + length) return;
        const message = received.subarray(2, 2 + length);
        received = received.subarray(2 + length);
        const ours = message.length >= 2 && message.readUInt16BE(0) === id;
        const reading: Reading = ours
          ? readMessage(message, question, written.plain, 'tcp')
          : { is: 'stray' };
        if (reading.is !== 'stray') {
          end(
            reading.is === 'answer'
              ? { ...reading, connected_ms: connected_ms ?? 0 }
              : { ...reading, connected_ms },
          );
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
}

// Imported, because the global of this name is a getter, which costs more than the clock.

/** What asking came to, whatever the answer says. */
export type Outcome =
  | { readonly is: 'answer'; readonly message: DnsMessage }
  /**
   * Nobody answered; a truncated answer and no TCP; answers to other questions only; an answer that
   * cannot be read; nobody listening; no way there.
   */
  | {
      readonly is:
        | 'silent'
        | 'truncated'
        | 'wrong_question'
        | 'malformed'
        | 'oversized'
        | 'closed'
        | 'refused'
        | 'failed'
        | 'unreachable';
    };

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

/** What is asked of whom: the same for every check of a monitor, so that it is made once. */
export type Asking = {
  readonly question: Question;
  readonly written: Written;
  /** Asked in turn; more than one only if they are the probe's own. */
  readonly resolvers: readonly [Resolver, ...Resolver[]];
  readonly transport: Transport;
  /** How long to wait for the first datagram's answer; doubles with each further one. */
  readonly patience_ms: number;
  /** By a socket that nothing else is asked by. */
  readonly alone?: boolean;
};

/** Called once, when a question is over or goes on by TCP. */
export type OnExchange = (seen: Exchange | Promise<Exchange>) => void;

/** A resolver that cannot or will not: with another one of ours at hand, that one is asked. */
const evasions: readonly number[] = [2, 4, 5];

/**
 * What servers say to EDNS when they do not know it: format error, not implemented, bad version
 * (which only comes with EDNS of their own).
 */
const ednsRefusals: readonly number[] = [1, 4, 16];

/**
 * How often a resolver refuses before its port counts as closed: one that restarts is back by then.
 */
const refusalsOfClosed = 2;

/** After so many timeouts, the next go without EDNS, which middleboxes may drop. */
const inVainWithEdns = 2;

/** One for all, because most questions are refused by nobody. */
const noOne: readonly Resolver[] = [];

const unreachable: readonly string[] = [
  'ENETUNREACH',
  'EHOSTUNREACH',
  'EADDRNOTAVAIL',
  'EAFNOSUPPORT',
  'EINVAL',
];

/**
 * One question by UDP, asked again and again at doubling distances, each time from another port
 * under another id; all stay open for an answer.
 * `begin` → waiting → ended, once, by an answer, a failure or the deadline. An object and not a nest of functions: of those, a dozen would be made
 * for each check.
 */
class UdpQuestion implements Asker, Alarm, Expiring {
  due = 0;
  place = -1;
  readonly #sockets: UdpSockets;
  readonly #asking: Asking;
  readonly #deadline: CheckDeadline;
  readonly #began: number;
  readonly #told: OnExchange;
  /** The datagrams under way; most questions take one. */
  #ticket: Ticket | undefined;
  #further: Ticket[] | undefined;
  #attempts = 0;
  #strays = 0;
  #failure: 'failed' | 'unreachable' | 'closed' | undefined;
  /** Who refused a datagram, once for each time. */
  #refused: readonly Resolver[] = noOne;
  #edns = true;
  /** How often nobody answered in time. */
  #inVain = 0;
  #done = false;

  constructor(
    sockets: UdpSockets,
    asking: Asking,
    deadline: CheckDeadline,
    began: number,
    told: OnExchange,
  ) {
    this.#sockets = sockets;
    this.#asking = asking;
    this.#deadline = deadline;
    this.#began = began;
    this.#told = told;
  }

  begin(): void {
    if (this.#deadline.isOver(this.#began)) {
      this.expire();
      return;
    }
    this.#deadline.attend(this);
    this.#sendAgain(this.#began);
  }

  ring(): void {
    const now = performance.now();
    if (this.#deadline.isOver(now)) this.expire();
    else {
      this.#inVain += 1;
      if (this.#inVain >= inVainWithEdns) this.#edns = false;
      this.#sendAgain(now);
    }
  }

  hear(answer: Buffer, ticket: Ticket): void {
    this.#read(answer, ticket);
  }

  fail(error: Error, ticket: Ticket): void {
    this.#lose(error, ticket);
  }

  #read(answer: Buffer, { resolver, question }: Ticket): void {
    const { resolvers, written, question: asked } = this.#asking;
    const reading = readMessage(answer, asked, written.plain, 'udp');
    if (reading.is === 'stray') this.#strays += 1;
    else if (reading.is !== 'answer') this.#end(reading, resolver);
    else if (question === written.edns && ednsRefusals.includes(reading.message.rcode)) {
      this.#edns = false;
      this.#sendAgain(performance.now());
    } else if (this.#attempts < resolvers.length && evasions.includes(reading.message.rcode))
      this.#sendAgain(performance.now());
    else this.#end(reading, resolver);
  }

  #lose(error: Error, { resolver }: Ticket): void {
    const code = codeOf(error);
    if (code === 'ECONNREFUSED') {
      this.#refused = [...this.#refused, resolver];
      const isClosed = (one: Resolver): boolean =>
        this.#refused.filter((other) => other === one).length >= refusalsOfClosed;
      // One that is gone does not speak for another of ours, which may only be slow.
      if (!this.#asking.resolvers.every(isClosed)) return;
      this.#failure = 'closed';
    } else this.#failure = unreachable.includes(code) ? 'unreachable' : 'failed';
    // With nobody else to ask there is nothing to wait for: a failed datagram is our own system
    // speaking, a refused one the other's.
    const sent = this.#ticket === undefined ? 0 : 1 + (this.#further?.length ?? 0);
    if (this.#attempts >= this.#asking.resolvers.length && sent >= this.#attempts)
      this.#end({ is: this.#failure }, resolver);
  }

  expire(): void {
    this.#end(
      { is: this.#failure ?? (this.#strays > 0 ? 'wrong_question' : 'silent') },
      this.#last(),
    );
  }

  #last(): Resolver {
    const { resolvers } = this.#asking;
    return resolvers[Math.max(0, this.#attempts - 1) % resolvers.length] ?? resolvers[0];
  }

  #sendAgain(now: number): void {
    if (this.#done) return;
    const { written, patience_ms, alone = false } = this.#asking;
    this.#attempts += 1;
    const again = now + (patience_ms << Math.min(this.#attempts - 1, 6));
    setAlarm(this, Math.min(again, this.#deadline.due));
    const ticket = this.#sockets.ask(
      this.#last(),
      this.#edns ? written.edns : written.plain,
      this,
      alone || this.#attempts > 1,
    );
    if (this.#ticket === undefined) this.#ticket = ticket;
    else if (this.#further === undefined) this.#further = [ticket];
    else this.#further.push(ticket);
  }

  #end(outcome: Outcome, resolver: Resolver): void {
    if (this.#done) return;
    this.#done = true;
    clearAlarm(this);
    this.#deadline.unlisten(this);
    if (this.#ticket) this.#sockets.cancel(this.#ticket);
    if (this.#further) for (const ticket of this.#further) this.#sockets.cancel(ticket);
    const seen: Exchange = {
      outcome,
      resolver,
      transport: 'udp',
      attempts: this.#attempts,
      strays: this.#strays,
      answered_ms: performance.now() - this.#began,
      connected_ms: null,
    };
    const isCut = outcome.is === 'answer' && (outcome.message.flags & flagBits.tc) !== 0;
    this.#told(
      isCut ? askWhole(seen, this.#asking, this.#deadline, this.#began, this.#edns) : seen,
    );
  }
}

/** The whole of an answer that was truncated, by TCP. */
async function askWhole(
  cut: Exchange,
  asking: Asking,
  deadline: CheckDeadline,
  began: number,
  edns: boolean,
): Promise<Exchange> {
  const { connected_ms, ...byTcp } = await askOne(cut.resolver, asking, deadline, edns);
  const unread =
    byTcp.is === 'malformed' || byTcp.is === 'oversized' || byTcp.is === 'wrong_question';
  const outcome: Outcome = byTcp.is === 'answer' || unread ? byTcp : { is: 'truncated' };
  return {
    ...cut,
    outcome,
    transport: 'tcp',
    answered_ms: performance.now() - began,
    connected_ms,
  };
}

/** By TCP, without EDNS where the resolver does not know it. */
async function askOne(
  resolver: Resolver,
  { question, written }: Asking,
  deadline: CheckDeadline,
  edns: boolean,
): Promise<TcpOutcome> {
  const without: Written = { edns: written.plain, plain: written.plain };
  const seen = await askByTcp(resolver, question, edns ? written : without, deadline);
  return edns && seen.is === 'answer' && ednsRefusals.includes(seen.message.rcode)
    ? askByTcp(resolver, question, without, deadline)
    : seen;
}

/**
 * Performs one question: by UDP first unless TCP is asked for, by TCP when the answer was
 * truncated. Ends by the deadline. `began`: since when its time is measured. What comes in one
 * datagram is told as it is, because a promise costs as much as reading it.
 */
export function ask(
  sockets: UdpSockets,
  asking: Asking,
  deadline: CheckDeadline,
  began: number,
  told: OnExchange,
): void {
  if (asking.transport === 'tcp') told(exchangeByTcp(asking, deadline, began));
  else new UdpQuestion(sockets, asking, deadline, began, told).begin();
}

async function exchangeByTcp(
  asking: Asking,
  deadline: CheckDeadline,
  began: number,
): Promise<Exchange> {
  const [resolver] = asking.resolvers;
  const { connected_ms, ...outcome } = await askOne(resolver, asking, deadline, true);
  const strays = outcome.is === 'wrong_question' ? 1 : 0;
  return {
    outcome,
    resolver,
    transport: 'tcp',
    attempts: 0,
    strays,
    answered_ms: performance.now() - began,
    connected_ms,
  };
}

/** The same for those who wait for it. */
export function exchange(
  sockets: UdpSockets,
  asking: Asking,
  deadline: CheckDeadline,
  began = deadline.began,
): Promise<Exchange> {
  return new Promise((resolve) => ask(sockets, asking, deadline, began, resolve));
}
