import type { Logger } from 'pino';
import type { Operation, RawInput } from '../../../shared/api/operation.ts';
import type { Count } from '../../access/access-rate-limit.ts';
import type { Answered, Named, Outcome } from '../../operations/operations.ts';

/** What REST must know of a caller: which token it is, to count its calls. */
export type TokenCaller = { readonly token?: { readonly id: string } };

/** What the REST face is given: the gate, who is calling, and how often. */
export type RestParts<Caller extends TokenCaller> = {
  readonly execute: (operation: Operation, caller: Caller, raw: RawInput) => Promise<Answered>;
  /** The same for a call that names a key. */
  readonly executeOnce: (operation: Operation, caller: Caller, raw: RawInput, named: Named) => Promise<Outcome>;
  /** Throws the refusals token_missing and token_invalid. */
  readonly authenticate: (authorization: string | undefined, address: string) => Promise<Caller>;
  readonly limiter: { readonly count: (subject: string) => Count | Promise<Count>; readonly look: (subject: string) => Count };
  readonly log: Pick<Logger, 'error'>;
  /** Origins whose pages may call from a browser; `*` is any. */
  readonly corsOrigins?: readonly string[];
  /** Where people reach the service, for the document; known only once the service listens. */
  readonly baseUrl: () => string;
  /** Whether everyone may see the page about the installation itself. */
  readonly isAboutOpen?: () => boolean;
};
