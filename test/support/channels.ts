/** For test files: the kinds of channels and their sender, as the server has them; they reach this machine. */

import type { Sql } from '../../coordinator/database/connect.ts';
import type { ChannelsPart } from '../../coordinator/gate/context.ts';
import { createNotifications } from '../../coordinator/notifications/setup.ts';
import { createSecretsAtRest } from '../../coordinator/secrets/at-rest.ts';
import { createLog } from '../../shared/base/log.ts';
import { type Clock, systemClock } from '../../shared/base/time.ts';

export const testChannels = (sql: Sql, secretKey: string, clock: Clock = systemClock): ChannelsPart =>
  createNotifications({
    ...{ sql, clock, log: createLog({ name: 'telling', level: 'silent' }), secrets: createSecretsAtRest(secretKey) },
    config: { SECRET_KEY: secretKey, ALERT_ALLOW_CIDRS: ['127.0.0.0/8', '::1'] },
    baseUrl: () => 'https://antipode.test',
  }).channels;
