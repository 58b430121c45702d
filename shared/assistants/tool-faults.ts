import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { isRecord } from '../base/json-record.ts';

/** What the library says of parameters that it cannot read is its checker's report; whoever sent them is told what to send instead. */

const invalidParams = -32602;
const unsupportedRevision = -32022;

/** The one revision that has no handshake: each request names it. */
const modernRevision = '2026-07-28';

/** A call is known by its method and by whether it came with the envelope of the modern revision. */
export type Asked = { readonly method: string; readonly modern: boolean };

const revisionOf = (params: unknown): unknown => {
  const meta = isRecord(params) ? params._meta : undefined;
  return isRecord(meta) ? meta['io.modelcontextprotocol/protocolVersion'] : undefined;
};

export const askedBy = ({ method, params }: { readonly method: string; readonly params?: unknown }): Asked => ({
  method,
  modern: revisionOf(params) !== undefined,
});

/** The library asks for the revision of the first request alone; each is to be answered by its own. */
export const foreignRevision = (params: unknown): { code: number; message: string; data: unknown } | undefined => {
  const requested = revisionOf(params);
  if (typeof requested !== 'string' || requested === modernRevision) return undefined;
  const message = `Unsupported protocol version: ${requested}; send ${modernRevision}, or begin with initialize for an older one`;
  return { code: unsupportedRevision, message, data: { supported: [modernRevision], requested } };
};

type Issue = { readonly path: readonly unknown[]; readonly message: string };

const isIssue = (value: unknown): value is Issue => isRecord(value) && Array.isArray(value.path) && typeof value.message === 'string';

const issuesIn = (text: string): readonly Issue[] | undefined => {
  const begin = text.indexOf('[');
  if (begin < 0) return undefined;
  try {
    const found: unknown = JSON.parse(text.slice(begin));
    return Array.isArray(found) && found.length > 0 && found.every(isIssue) ? found : undefined;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
};

const named = new Map([
  ['record', 'an object'],
  ['object', 'an object'],
  ['array', 'a list'],
]);

const inWords = ({ path, message }: Issue): string => {
  const [, expected, received] = /expected (\w+), received (\w+)/.exec(message) ?? [];
  if (expected === undefined) return `${path.join('.')}: ${message}`;
  const wanted = named.get(expected) ?? `a ${expected}`;
  return `${path.join('.')} must be ${wanted}${received === 'undefined' ? '' : `, not ${named.get(received ?? '') ?? received}`}`;
};

const examples = new Map([
  [
    'initialize',
    'Send such as {"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"my-client","version":"1.0"}} as params.',
  ],
  ['tools/call', 'Send such as {"name":"get_monitor","arguments":{"id":"0190a7c4-5b1e-7c3d-9f42-6a8b1c2d3e4f"}} as params.'],
  ['tools/list', 'Send no params; all tools are listed at once.'],
]);

/** The message as it is sent: a failed reading of parameters in words, and that of a tool's as a result, where an assistant sees it. */
export const explained = (message: JSONRPCMessage, asked: Asked | undefined): JSONRPCMessage => {
  if (!asked || !('error' in message) || message.id === undefined) return message;
  const found = issuesIn(message.error.message);
  if (!found) return message;
  const example = examples.get(asked.method);
  const text = [`The params of ${asked.method} cannot be read: ${found.map(inWords).join('; ')}.`, ...(example ? [example] : [])].join(' ');
  const { jsonrpc, id } = message;
  // Without any params there is no call of a tool that could have failed.
  if (asked.method !== 'tools/call' || found.some(({ path }) => path.length < 2))
    return { jsonrpc, id, error: { code: invalidParams, message: text } };
  const result = { content: [{ type: 'text', text }], isError: true };
  return { jsonrpc, id, result: asked.modern ? { ...result, resultType: 'complete' } : result };
};
