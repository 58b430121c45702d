/** A message as it came, of whatever kind of delivery. */
export type Message = {
  readonly subject: string;
  readonly data: Uint8Array;
  /** Where an answer is wanted. */
  readonly reply: string | undefined;
  readonly header: (name: string) => string | undefined;
  /** False when the sender did not ask for an answer. */
  readonly respond: (data: Uint8Array | string, headers?: Headers) => boolean;
};

export type Headers = Readonly<Record<string, string>>;
export type Subscription = { readonly stop: () => void };
export type BusStatus = 'connected' | 'disconnected' | 'closed';
