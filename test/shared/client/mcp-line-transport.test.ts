import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect, test, vi } from 'vitest';
import { createLineTransport } from '../../../shared/client/mcp.ts';

const setUp = (options: { mostBytes?: number; drainMs?: number } = {}) => {
  const input = new PassThrough();
  const output = new PassThrough();
  const written: unknown[] = [];
  output.on('data', (chunk: Buffer) => {
    for (const line of chunk.toString().split('\n').filter(Boolean)) written.push(JSON.parse(line));
  });
  const transport = createLineTransport({ input, output, ...options });
  const messages: unknown[] = [];
  transport.onmessage = (message) => void messages.push(message);
  const closed = new Promise<void>((resolve) => {
    transport.onclose = resolve;
  });
  const send = async (text: string) => {
    input.write(text);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { input, written, transport, messages, closed, send };
};

const request = (id: number) => `{"jsonrpc":"2.0","id":${id},"method":"tools/list"}\n`;

test('a message may come in pieces, and several in one piece', async () => {
  const { transport, messages, send } = setUp();
  await transport.start();
  await send('\ufeff{"jsonrpc":"2.0",');
  await send(`"id":1,"method":"a"}\n${request(2)}\n`);
  expect(messages).toMatchObject([{ id: 1 }, { id: 2 }]);
});

test.each([
  ['not JSON', 'nonsense\n', { id: null, error: { code: -32700 } }],
  ['a batch', '[]\n', { id: null, error: { code: -32600 } }],
  ['no JSON-RPC', '{"id":7}\n', { id: 7, error: { code: -32600 } }],
  [
    'an id that is a fraction',
    '{"jsonrpc":"2.0","id":1.5,"method":"ping"}\n',
    { id: null, error: { code: -32600 } },
  ],
  [
    'an envelope that is no object',
    '{"jsonrpc":"2.0","id":9,"method":"x","params":{"_meta":5}}\n',
    { id: 9, error: { code: -32600 } },
  ],
  [
    'a progress token that is none',
    '{"jsonrpc":"2.0","id":9,"method":"x","params":{"_meta":{"progressToken":{}}}}\n',
    { id: 9, error: { code: -32600, message: expect.stringContaining('params._meta') } },
  ],
  [
    'parameters that are no object',
    '{"jsonrpc":"2.0","id":8,"method":"x","params":[1]}\n',
    { id: 8, error: { code: -32600 } },
  ],
])('%s gets an error answer, and the next message is still taken', async (_, line, answer) => {
  const { transport, messages, written, send } = setUp();
  await transport.start();
  await send(line);
  await send(request(1));
  expect(written).toMatchObject([answer]);
  expect(messages).toHaveLength(1);
});

test('a line over the limit is refused without being kept', async () => {
  const { transport, messages, written, send } = setUp({ mostBytes: 100 });
  await transport.start();
  await send('x'.repeat(90));
  await send('x'.repeat(90));
  await send(`x\n${request(1)}`);
  expect(written).toMatchObject([
    { error: { code: -32600, message: expect.stringContaining('100 bytes') } },
  ]);
  expect(messages).toHaveLength(1);
});

test('when the input ends, calls in flight are answered before it closes', async () => {
  const { transport, input, written, closed, send } = setUp();
  await transport.start();
  await send(request(1) + request(2));
  input.end();
  await once(input, 'end');
  await transport.send({ jsonrpc: '2.0', id: 2, result: {} });
  await transport.send({ jsonrpc: '2.0', id: 1, result: {} });
  await closed;
  expect(written).toMatchObject([{ id: 2 }, { id: 1 }]);
});

test('a call that was cancelled is not waited for', async () => {
  const { transport, input, closed, send } = setUp();
  await transport.start();
  await send(
    `${request(1)}{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n`,
  );
  input.end();
  await closed;
});

test('a call that never ends delays the end of the process for a limited time', async () => {
  const { transport, input, closed, send } = setUp({ drainMs: 10 });
  await transport.start();
  await send(request(1));
  input.end();
  await closed;
});

test('a call in flight is answered after the input has ended, however slow the service is', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const { transport, input, written, closed, send } = setUp();
    const ended = new Promise((resolve) => input.once('end', resolve));
    let isClosed = false;
    const noted = closed.then(() => {
      isClosed = true;
    });
    await transport.start();
    await send(request(1));
    input.end();
    await ended;
    vi.advanceTimersByTime(5 * 60_000);
    await new Promise((resolve) => setImmediate(resolve));
    expect(isClosed).toBe(false);
    await transport.send({ jsonrpc: '2.0', id: 1, result: {} });
    await noted;
    expect(written).toMatchObject([{ id: 1, result: {} }]);
  } finally {
    vi.useRealTimers();
  }
});

test('unknown members of a message, and null for no parameters, are accepted', async () => {
  const { transport, messages, send } = setUp();
  await transport.start();
  await send(
    '{"jsonrpc":"2.0","id":1,"method":"a","params":null,"trace":"x"}\n{"jsonrpc":"2.0","id":2,"method":"b","params":{"c":null}}\n',
  );
  expect(messages).toEqual([
    { jsonrpc: '2.0', id: 1, method: 'a' },
    { jsonrpc: '2.0', id: 2, method: 'b', params: {} },
  ]);
});

const hello = (version: string) =>
  `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"${version}"}}\n`;

test('a batch of the revision that has them is answered in one line, in whatever order, faults and cancelled calls included', async () => {
  const { transport, messages, written, send } = setUp();
  await transport.start();
  await send(hello('2025-03-26'));
  await send(
    `[${request(1).trim()},${request(2).trim()},${request(3).trim()},7,{"jsonrpc":"2.0","method":"notifications/initialized"}]\n`,
  );
  expect(messages).toHaveLength(5);
  await transport.send({ jsonrpc: '2.0', id: 2, result: {} });
  await send('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}\n');
  expect(written).toEqual([]);
  await transport.send({ jsonrpc: '2.0', id: 1, result: {} });
  expect(written).toMatchObject([[{ id: null, error: { code: -32600 } }, { id: 2 }, { id: 1 }]]);
});

test('a batch of notifications alone is not answered, and an empty one is refused', async () => {
  const { transport, messages, written, send } = setUp();
  await transport.start();
  await send(hello('2025-03-26'));
  await send('[{"jsonrpc":"2.0","method":"notifications/initialized"}]\n');
  expect(messages).toHaveLength(2);
  expect(written).toEqual([]);
  await send('[]\n');
  expect(written).toMatchObject([
    { id: null, error: { code: -32600, message: expect.stringContaining('empty') } },
  ]);
});

test('a batch of a later revision is refused with what to do', async () => {
  const { transport, written, send } = setUp();
  await transport.start();
  await send(hello('2025-06-18'));
  await send(`[${request(1).trim()}]\n`);
  expect(written).toMatchObject([
    { id: null, error: { code: -32600, message: expect.stringContaining('one message a line') } },
  ]);
});

test('a subscription, which has no answer, does not delay the end of the process', async () => {
  const { transport, input, closed, send } = setUp();
  await transport.start();
  await send('{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{}}\n');
  input.end();
  await closed;
});
