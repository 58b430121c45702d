import type { Readable, Writable } from 'node:stream';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server';
import { type Asked, askedBy, explained, foreignRevision } from '../assistants/tool-faults.ts';
import { isRecord } from '../base/json-record.ts';
import { type Id, idOf, readMessage } from './client-mcp-json-rpc.ts';

/**
 * JSON-RPC over two streams, one message a line. The library's own transport drops malformed lines without a word and leaves calls
 * in flight unanswered when the input ends; this one answers both.
 *
 * Modes: `reading` → `draining` (the input has ended, calls in flight are still answered, for `drainMs` at most) → `closed`.
 */
type Mode = 'reading' | 'draining' | 'closed';

/** Several messages in one line are answered in one line: `reading` (its members are still being told) → `waiting` for answers → written. */
type Batch = { mode: 'reading' | 'waiting'; readonly waiting: Set<Id>; readonly answers: unknown[] };

type InFlight = Asked & { readonly batch: Batch | undefined };

const mostBytes = 4 * 1024 * 1024;

/** However slow the service is, a call ends by itself; this is for one that never does. */
const usualDrainMs = 900_000;

/** The revisions whose servers must take batches; later ones have none. */
const withBatches = ['2024-11-05', '2025-03-26'];

/** A subscription is answered when it ends, which may be never: it is not waited for. */
const unanswered = 'subscriptions/listen';

const cancelledId = (params: unknown): Id => {
  const id = isRecord(params) ? params.requestId : undefined;
  return typeof id === 'string' || typeof id === 'number' ? id : '';
};

export const createLineTransport = (options: {
  readonly input: Readable;
  readonly output: Writable;
  readonly drainMs?: number;
  readonly mostBytes?: number;
}): Transport => {
  const { input, output, drainMs = usualDrainMs } = options;
  const limit = options.mostBytes ?? mostBytes;
  const inFlight = new Map<Id, InFlight>();
  let takesBatches = false;
  let mode: Mode = 'reading';
  let buffered: Buffer[] = [];
  let size = 0;
  /** The line that is being read is over the limit: nothing of it is kept until it ends. */
  let skipping = false;
  let deadline: NodeJS.Timeout | undefined;

  const write = (message: unknown): Promise<void> =>
    new Promise((resolve, reject) => {
      output.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()));
    });

  const report = (error: Error): void => transport.onerror?.(error);

  const finish = async (batch: Batch): Promise<void> => {
    if (batch.mode === 'waiting' && batch.waiting.size === 0 && batch.answers.length > 0) await write(batch.answers.splice(0));
  };

  const answer = async (message: unknown, batch: Batch | undefined): Promise<void> => {
    if (!batch) return write(message);
    batch.answers.push(message);
    await finish(batch);
  };

  const answerError = (id: Id | null, error: { code: number; message: string; data?: unknown }, batch?: Batch): void => {
    answer({ jsonrpc: '2.0', id, error }, batch).catch(report);
  };

  const refuse = (id: Id | null, fault: string, batch?: Batch): void =>
    answerError(id, { code: -32600, message: `Invalid request: ${fault}` }, batch);

  const close = async (): Promise<void> => {
    if (mode === 'closed') return;
    mode = 'closed';
    clearTimeout(deadline);
    input.off('data', onData);
    input.pause();
    transport.onclose?.();
  };

  /** Forgets a call; whether it was one. */
  const settle = (id: Id): InFlight | undefined => {
    const asked = inFlight.get(id);
    inFlight.delete(id);
    asked?.batch?.waiting.delete(id);
    return asked;
  };

  const onRequest = (id: Id, message: Extract<JSONRPCMessage, { method: string }>, batch: Batch | undefined): boolean => {
    if (inFlight.has(id)) {
      refuse(id, 'this id is still in use', batch);
      return false;
    }
    const foreign = foreignRevision(message.params);
    if (foreign) {
      answerError(id, foreign, batch);
      return false;
    }
    if (message.method === 'initialize') takesBatches = withBatches.some((version) => version === message.params?.protocolVersion);
    if (message.method === unanswered) return true;
    inFlight.set(id, { ...askedBy(message), batch });
    batch?.waiting.add(id);
    return true;
  };

  const onMessage = (message: JSONRPCMessage, batch: Batch | undefined): void => {
    const id = idOf(message);
    if ('method' in message && id !== undefined && !onRequest(id, message, batch)) return;
    if ('method' in message && message.method === 'notifications/cancelled') {
      // A cancelled call gets no answer, so none is waited for.
      const cancelled = settle(cancelledId(message.params));
      if (cancelled?.batch) finish(cancelled.batch).catch(report);
    }
    transport.onmessage?.(message);
  };

  const onValue = (value: unknown, batch?: Batch): void => {
    const read = readMessage(value);
    if ('message' in read) onMessage(read.message, batch);
    else refuse(read.id, read.fault, batch);
  };

  const onBatch = (values: readonly unknown[]): void => {
    if (!takesBatches || values.length === 0) {
      const fault = takesBatches ? 'the batch is empty' : 'batches are not taken in this revision of the protocol; send one message a line';
      refuse(null, fault);
      return;
    }
    const batch: Batch = { mode: 'reading', waiting: new Set(), answers: [] };
    for (const value of values) onValue(value, batch);
    batch.mode = 'waiting';
    finish(batch).catch(report);
  };

  const onLine = (line: string): void => {
    // A byte order mark, which some tools begin with, counts among the blanks.
    const text = line.trim();
    if (text === '') return;
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      answerError(null, { code: -32700, message: 'Parse error: the line is not JSON' });
      return;
    }
    if (Array.isArray(value)) onBatch(value);
    else onValue(value);
  };

  const endLine = (): void => {
    const line = Buffer.concat(buffered).toString('utf8');
    buffered = [];
    size = 0;
    if (skipping) refuse(null, `the line is longer than ${limit} bytes`);
    else onLine(line);
    skipping = false;
  };

  const keep = (part: Buffer): void => {
    size += part.length;
    if (size > limit) {
      skipping = true;
      buffered = [];
    } else if (!skipping) buffered.push(part);
  };

  const onData = (chunk: Buffer): void => {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      keep(chunk.subarray(from, end));
      endLine();
      from = end + 1;
    }
    keep(chunk.subarray(from));
  };

  const onEnd = (): void => {
    if (mode !== 'reading') return;
    if (size > 0) endLine();
    mode = 'draining';
    if (inFlight.size === 0) void close();
    else deadline = setTimeout(() => void close(), drainMs);
  };

  const transport: Transport = {
    start: async () => {
      input.on('data', onData);
      input.once('end', onEnd);
      input.once('close', onEnd);
      output.on('error', () => void close());
    },
    send: async (message) => {
      const id = 'method' in message ? undefined : idOf(message);
      const asked = id === undefined ? undefined : settle(id);
      await answer(explained(message, asked), asked?.batch);
      if (mode === 'draining' && inFlight.size === 0) await close();
    },
    close,
  };
  return transport;
};
