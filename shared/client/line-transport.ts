import type { Readable, Writable } from 'node:stream';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server';

/**
 * JSON-RPC over two streams, one message a line. The library's own transport drops malformed lines without a word and leaves calls
 * in flight unanswered when the input ends; this one answers both.
 *
 * Modes: `reading` → `draining` (the input has ended, calls in flight are still answered, for `drainMs` at most) → `closed`.
 */
type Mode = 'reading' | 'draining' | 'closed';

type Id = string | number;

const mostBytes = 4 * 1024 * 1024;

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

const idOf = (message: unknown): Id | undefined => {
  const id = isRecord(message) ? message.id : undefined;
  // The library drops a call whose id is a fraction or beyond all integers, and nobody would answer it.
  return typeof id === 'string' || (typeof id === 'number' && Number.isSafeInteger(id)) ? id : undefined;
};

const cancelledId = (params: unknown): Id => {
  const id = isRecord(params) ? params.requestId : undefined;
  return typeof id === 'string' || typeof id === 'number' ? id : '';
};

const isMessage = (value: unknown): value is JSONRPCMessage =>
  isRecord(value) &&
  value.jsonrpc === '2.0' &&
  (value.id === undefined || idOf(value) !== undefined) &&
  (typeof value.method === 'string'
    ? value.params === undefined || isRecord(value.params)
    : idOf(value) !== undefined && ('result' in value || 'error' in value));

export const createLineTransport = (options: {
  readonly input: Readable;
  readonly output: Writable;
  readonly drainMs?: number;
  readonly mostBytes?: number;
}): Transport => {
  const { input, output, drainMs = 10_000 } = options;
  const limit = options.mostBytes ?? mostBytes;
  const inFlight = new Set<Id>();
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

  const answerError = (id: Id | null, code: number, message: string): void => {
    write({ jsonrpc: '2.0', id, error: { code, message } }).catch((error: Error) => transport.onerror?.(error));
  };

  const close = async (): Promise<void> => {
    if (mode === 'closed') return;
    mode = 'closed';
    clearTimeout(deadline);
    input.off('data', onData);
    input.pause();
    transport.onclose?.();
  };

  const onMessage = (message: JSONRPCMessage): void => {
    const id = 'method' in message ? idOf(message) : undefined;
    if (id !== undefined && inFlight.has(id)) {
      answerError(id, -32600, 'Invalid request: this id is still in use');
      return;
    }
    if (id !== undefined) inFlight.add(id);
    // A cancelled call gets no answer, so none is waited for.
    if ('method' in message && message.method === 'notifications/cancelled') inFlight.delete(cancelledId(message.params));
    transport.onmessage?.(message);
  };

  const onLine = (line: string): void => {
    if (line.trim() === '') return;
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      answerError(null, -32700, 'Parse error: the line is not JSON');
      return;
    }
    if (Array.isArray(message)) answerError(null, -32600, 'Invalid request: batches are not taken, send one message a line');
    else if (isMessage(message)) onMessage(message);
    else answerError(idOf(message) ?? null, -32600, 'Invalid request: not a JSON-RPC 2.0 message');
  };

  const endLine = (): void => {
    const line = Buffer.concat(buffered).toString('utf8');
    buffered = [];
    size = 0;
    if (skipping) answerError(null, -32600, `Invalid request: the line is longer than ${limit} bytes`);
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
      await write(message);
      const id = idOf(message);
      if (id !== undefined && !('method' in message)) inFlight.delete(id);
      if (mode === 'draining' && inFlight.size === 0) await close();
    },
    close,
  };
  return transport;
};
