/** For test files: the kinds of channels and their sender, as the server has them; they reach this machine. */

import { createSecretsAtRest } from '../../coordinator/access/secrets-at-rest.ts';
import type { ChannelsPart } from '../../coordinator/operations/channels/channels-part.ts';
import type { Sql } from '../../coordinator/store/database.ts';
import { createTelling } from '../../coordinator/telling.ts';
import { type Clock, systemClock } from '../../shared/base/clock.ts';
import { createLog } from '../../shared/base/log.ts';

export const testChannels = (sql: Sql, secretKey: string, clock: Clock = systemClock): ChannelsPart =>
  createTelling({
    ...{ sql, clock, log: createLog({ name: 'telling', level: 'silent' }), secrets: createSecretsAtRest(secretKey) },
    config: { SECRET_KEY: secretKey, ALERT_ALLOW_CIDRS: ['127.0.0.0/8', '::1'] },
    baseUrl: () => 'https://antipode.test',
  }).channels;
