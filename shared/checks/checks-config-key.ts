import type { Json } from './checks-result.ts';

/**
 * What people read of one key of a config, wherever they look: the refusal of a bad value, the document, its page, the command line and its
 * completion. Plain words and values, so that programs on people's machines can carry it; a test holds it equal to the schemas.
 */
export type ConfigKey = {
  readonly meaning: string;
  /** What stands behind "give": the shape and the bounds. */
  readonly allowed: string;
  /** What the check uses where the key is not given; left out where there is no such value. */
  readonly initial?: Json;
  /** What is so where the key is not given, in words. */
  readonly otherwise?: string;
  readonly example: Json;
  /** All values, where there are only so many. */
  readonly choices?: readonly string[];
};

export type ConfigKeys = { readonly [key: string]: ConfigKey };

export const yesOrNo = { allowed: 'true or false', choices: ['true', 'false'] } as const;
