import { isJSONRPCNotification, isJSONRPCRequest, isJSONRPCResponse, type JSONRPCMessage } from '@modelcontextprotocol/server';
import { isRecord } from '../base/json-record.ts';

export type Id = string | number;

/** A value that came as a message, or why it is none: the library drops in silence what it does not know for one. */
export type Read = { readonly message: JSONRPCMessage } | { readonly id: Id | null; readonly fault: string };

export const idOf = (message: unknown): Id | undefined => {
  const id = isRecord(message) ? message.id : undefined;
  return typeof id === 'string' || (typeof id === 'number' && Number.isSafeInteger(id)) ? id : undefined;
};

const metaFault = (params: unknown): string | undefined => {
  const meta = isRecord(params) ? params._meta : undefined;
  if (meta === undefined) return undefined;
  return isRecord(meta) ? 'a member of params._meta, such as progressToken, is not of its type' : 'params._meta must be an object';
};

const faultOf = (value: unknown): string => {
  if (!isRecord(value)) return 'a message is an object, such as {"jsonrpc":"2.0","id":1,"method":"tools/list"}';
  if (value.jsonrpc !== '2.0') return 'not a JSON-RPC 2.0 message; "jsonrpc" must be "2.0"';
  if (Object.hasOwn(value, 'id') && idOf(value) === undefined) return 'id must be a string or a whole number';
  if (typeof value.method !== 'string') return 'not a JSON-RPC 2.0 message; "method" must be a string, such as "tools/list"';
  if (value.params !== undefined && !isRecord(value.params)) return 'params must be an object; leave it out where there are none';
  return metaFault(value.params) ?? 'not a message that the protocol knows';
};

const withoutNulls = (params: unknown): unknown =>
  isRecord(params) ? Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null)) : params;

/** What stands beside the members of a message is passed over, and null stands for what is not given. */
const bare = (value: unknown): unknown => {
  if (!isRecord(value) || typeof value.method !== 'string') return value;
  const { jsonrpc, method } = value;
  const params = withoutNulls(value.params ?? undefined);
  return { jsonrpc, ...(Object.hasOwn(value, 'id') && { id: value.id }), method, ...(params !== undefined && { params }) };
};

export const readMessage = (value: unknown): Read => {
  const message = bare(value);
  if (isJSONRPCRequest(message) || isJSONRPCNotification(message) || isJSONRPCResponse(message)) return { message };
  return { id: idOf(value) ?? null, fault: faultOf(message) };
};
