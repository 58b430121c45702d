import type { Got } from '../../support/receivers.ts';
import type { Told } from '../judge.ts';
import type { Watched, World } from '../world.ts';

/** Who is measured: each watches the same targets at the same interval, and posts to one receiver. */

export type Lab = {
  readonly world: World;
  /** Where all of them post, as `URL/NAME/…`. */
  readonly receiver: string;
  /** A file with the authority to trust. */
  readonly authority: string;
  readonly folder: string;
  readonly interval_s: number;
  readonly timeoutMs: number;
};

export type Said = Omit<Told, 'at' | 'message'>;

export type Subject = {
  readonly name: string;
  readonly version: string;
  /** What is set besides targets, interval and time limit, and what is not as it comes. */
  readonly settings: string;
  /** Settles when it watches; the answer ends that. */
  readonly watch: (targets: readonly Watched[]) => Promise<() => Promise<void>>;
  /** What a POST of its says. */
  readonly read: (got: Got) => readonly Said[];
  readonly close: () => Promise<void>;
};

/** `missing`: why it cannot be had here. */
type Opened = Subject | { readonly name: string; readonly missing: string };
export type Open = (lab: Lab) => Promise<Opened>;
