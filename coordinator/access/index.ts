import type { Clock } from '../../shared/base/clock.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Sql } from '../store/database.ts';
import { createRateLimiter, type RateLimiter } from './rate-limit.ts';
import { createSecretsAtRest, type SecretsAtRest } from './secrets.ts';
import { createTokens, type Tokens } from './tokens.ts';

export type Access = {
  readonly tokens: Tokens;
  readonly limiter: RateLimiter;
  readonly secrets: SecretsAtRest;
  /** Writes down what is still in memory. */
  readonly close: () => Promise<void>;
};

export type AccessParts = {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly secretKey: string;
  readonly ratePerMinute: number;
};

/** Who is calling, how often, and what must stay secret. */
export const createAccess = ({ sql, clock, log, secretKey, ratePerMinute }: AccessParts): Access => {
  const tokens = createTokens({ sql, clock, log, secretKey });
  const limiter = createRateLimiter({ sql, clock, log, perMinute: ratePerMinute });
  return {
    tokens,
    limiter,
    secrets: createSecretsAtRest(secretKey),
    close: async () => {
      await Promise.all([tokens.close(), limiter.close()]);
    },
  };
};
