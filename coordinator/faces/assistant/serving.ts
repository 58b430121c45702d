import type { IncomingHttpHeaders } from 'node:http';
import { createMcpHandler } from '@modelcontextprotocol/server';
import type { Asking, AssistantParts } from './parts.ts';
import { serverFor } from './server.ts';

/** One request through the protocol's library, in whichever revision it speaks. */
export const answered = async (parts: AssistantParts, asking: Asking, sent: IncomingHttpHeaders, body: unknown): Promise<Response> => {
  const headers = new Headers();
  for (const [name, value] of Object.entries(sent)) if (typeof value === 'string') headers.set(name, value);
  const { fetch: answerTo } = createMcpHandler(() => serverFor(parts, asking));
  // The body was read already; this one is never looked at, but a POST has one.
  return answerTo(new Request(`${parts.baseUrl()}/mcp`, { method: 'POST', headers, body: '{}' }), { parsedBody: body });
};
