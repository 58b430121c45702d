/**
 * The API as the coordinator serves it, in a process of its own that a bench can pin; says its
 * address on standard output.
 */

import { fastify } from 'fastify';
import { restRoutes, restServerOptions } from '../../../coordinator/api/routes.ts';
import { connect } from '../../../coordinator/database/connect.ts';
import type { ProbesPart } from '../../../coordinator/gate/context.ts';
import { noTestRuns } from '../../../coordinator/gate/context.ts';
import { createRateLimiter } from '../../../coordinator/gate/rate-limit.ts';
import { createOperations } from '../../../coordinator/gate/setup.ts';
import { handlers } from '../../../coordinator/operations.ts';
import { createSecretsAtRest } from '../../../coordinator/secrets/at-rest.ts';
import { createTokens } from '../../../coordinator/tokens/authenticate.ts';
import { createLog } from '../../../shared/base/log.ts';
import { systemClock as clock } from '../../../shared/base/time.ts';
import { partitionOf } from '../../../shared/bus/subjects.ts';
import { testChannels } from '../../support/channels.ts';
import { testResults } from '../../support/checks.ts';

const { DATABASE_URL = '', SECRET_KEY: secretKey = '' } = process.env;

const noProbes = (): Promise<never> => Promise.reject(new Error('a bench makes no probes'));
const probes: ProbesPart = {
  createProbe: noProbes,
  rotateProbe: noProbes,
  revokeProbe: noProbes,
  enrolProbe: noProbes,
  isEnrolmentProof: () => false,
  welcome: () => {
    throw new Error('a bench welcomes no probes');
  },
};

const sql = connect(DATABASE_URL, { name: 'bench', connections: 20 });
const log = createLog({ name: 'bench', level: 'warn' });
const tokens = createTokens({ sql, secretKey, clock, log });
const gate = createOperations({
  handlers,
  sql,
  clock,
  results: testResults(clock),
  secretKey,
  probes,
  trials: noTestRuns,
  channels: testChannels(sql, secretKey),
  identifiesProbes: true,
  partitionOf,
  mintToken: tokens.mint,
  baseUrl: () => '',
  secrets: createSecretsAtRest(secretKey),
});
const app = fastify({ ...restServerOptions, logger: false });
restRoutes(app, {
  execute: gate.execute,
  executeOnce: gate.executeOnce,
  authenticate: tokens.authenticate,
  log,
  baseUrl: () => '',
  // The calls of a bench are counted like all others, towards a limit that is never met.
  limiter: createRateLimiter({ sql, clock, log, perMinute: 100_000_000 }),
});
process.stdout.write(`${await app.listen({ host: '127.0.0.1', port: 0 })}\n`);
