import type { IncomingHttpHeaders } from 'node:http';
import { createMcpHandler, isJSONRPCResponse } from '@modelcontextprotocol/server';
import { type Asked, askedBy, explained } from '../../../shared/assistants/tools.ts';
import { isRecord } from '../../../shared/base/json.ts';
import type { Asking, AssistantParts } from './assistant-given.ts';
import { serverFor } from './assistant-server.ts';

/** One request through the protocol's library, in whichever revision it speaks. */

/** Null stands for what is not given, as in the local server. */
const withoutNulls = (message: unknown): unknown => {
  if (!isRecord(message) || !isRecord(message.params)) return message;
  return { ...message, params: Object.fromEntries(Object.entries(message.params).filter(([, value]) => value !== null)) };
};

/** What was asked, by the ids of the messages. */
const askedIn = (messages: readonly unknown[]): ReadonlyMap<unknown, Asked> =>
  new Map(
    messages.filter(isRecord).flatMap(({ id, method, params }) => (typeof method === 'string' ? [[id, askedBy({ method, params })]] : [])),
  );

/** What the library says of parameters that it cannot read is its checker's report; whoever sent them is told in words what to send. */
const inWords = (text: string, asked: ReadonlyMap<unknown, Asked>): { readonly text: string; readonly failedTool: boolean } => {
  const message: unknown = JSON.parse(text);
  if (!isJSONRPCResponse(message)) return { text, failedTool: false };
  const said = explained(message, asked.get(message.id));
  return said === message ? { text, failedTool: false } : { text: JSON.stringify(said), failedTool: 'result' in said };
};

const eventLine = /^data: (?=\{)(.*)$/gm;

export const answered = async (parts: AssistantParts, asking: Asking, sent: IncomingHttpHeaders, body: unknown): Promise<Response> => {
  const headers = new Headers();
  for (const [name, value] of Object.entries(sent)) if (typeof value === 'string') headers.set(name, value);
  const parsedBody = Array.isArray(body) ? body.map(withoutNulls) : withoutNulls(body);
  const asked = askedIn(Array.isArray(parsedBody) ? parsedBody : [parsedBody]);
  const { fetch: answerTo } = createMcpHandler(() => serverFor(parts, asking));
  // The body was read already; this one is never looked at, but a POST has one.
  const response = await answerTo(new Request(`${parts.baseUrl()}/mcp`, { method: 'POST', headers, body: '{}' }), { parsedBody });
  const text = await response.text();
  const type = response.headers.get('content-type') ?? '';
  if (type.startsWith('text/event-stream'))
    return new Response(
      text.replaceAll(eventLine, (_line, data: string) => `data: ${inWords(data, asked).text}`),
      response,
    );
  if (!type.startsWith('application/json')) return new Response(text === '' ? null : text, response);
  const said = inWords(text, asked);
  return new Response(said.text, { status: said.failedTool ? 200 : response.status, headers: response.headers });
};
