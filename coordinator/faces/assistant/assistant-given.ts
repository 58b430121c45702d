import type { Logger } from 'pino';
import type { Operation, RawInput } from '../../../shared/api/operation.ts';
import type { AssistantCaller } from '../../access/access-assistant-connections.ts';
import type { Count } from '../../access/access-rate-limit.ts';
import type { Answered } from '../../operations/operations.ts';

/** What the face of assistants is given: the gate, who is calling, and how often. */
export type AssistantParts = {
  readonly execute: (operation: Operation, caller: AssistantCaller, raw: RawInput) => Promise<Answered>;
  /** Read afresh each time; undefined when the token is of no connection that there is. */
  readonly callerOf: (accessToken: string, address: string) => Promise<AssistantCaller | undefined>;
  readonly limiter: { readonly count: (subject: string) => Count | Promise<Count> };
  readonly clock: { readonly now: () => number };
  readonly log: Pick<Logger, 'error'>;
  /** Where people reach the service, without a slash at the end. */
  readonly baseUrl: () => string;
};

/** One request of an assistant. */
export type Asking = {
  readonly caller: AssistantCaller;
  /** The caller as it is now: a call that takes a while is not carried on for who was disconnected, or may less. @throws Refusal */
  readonly again: () => Promise<AssistantCaller>;
};
