import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { gatusProgram, gatusVersion } from '../../bench/service/gatus.ts';
import { freePorts } from '../../support/buses.ts';
import type { Watched } from '../world.ts';
import { startPeer } from './peer.ts';
import type { Lab, Open } from './types.ts';

/** It begins with one endpoint every 0.8 s, so that several processes share them. */
const each = 15;

const posted = z.object({ target: z.string(), state: z.enum(['TRIGGERED', 'RESOLVED']) });

export const openGatus: Open = async (lab) => {
  const program = await gatusProgram(lab.folder);
  const name = 'gatus';
  if (program === undefined) return { name, missing: 'neither the program nor Go is here' };
  return {
    name,
    version: gatusVersion,
    settings:
      'alerts after 3 failures in a row and ends after 2 successes, as they come; one condition, the status, and of DNS the code and the address; disable-monitoring-lock, so that checks do not wait for each other',
    watch: async (targets) => {
      const ports = await freePorts(Math.ceil(targets.length / each));
      const ends = await Promise.all(
        ports.map((port, nth) =>
          start(lab, program, port, targets.slice(nth * each, (nth + 1) * each)),
        ),
      );
      return async () => {
        for (const end of ends) await end();
      };
    },
    read: ({ body }) => {
      const { target, state } = posted.parse(JSON.parse(body.toString()));
      return [{ target, event: state === 'TRIGGERED' ? 'down' : 'up' }];
    },
    close: async () => undefined,
  };
};

/** Settles when it has looked at all of them. */
async function start(
  lab: Lab,
  program: string,
  port: number,
  targets: readonly Watched[],
): Promise<() => Promise<void>> {
  const { receiver, folder, interval_s, timeoutMs } = lab;
  const config = join(folder, `gatus-${port}.yaml`);
  const rest = {
    interval: `${interval_s}s`,
    alerts: [{ type: 'custom', 'send-on-resolved': true }],
    client: { timeout: `${timeoutMs}ms` },
  };
  await writeFile(
    config,
    JSON.stringify({
      web: { address: '0.0.0.0', port },
      'disable-monitoring-lock': true,
      alerting: {
        custom: {
          url: `${receiver}/gatus/`,
          method: 'POST',
          body: '{"target": "[ENDPOINT_NAME]", "state": "[ALERT_TRIGGERED_OR_RESOLVED]"}',
        },
      },
      endpoints: targets.map((target) =>
        target.by === 'http'
          ? { name: target.name, url: target.url, conditions: ['[STATUS] == 200'], ...rest }
          : {
              name: target.name,
              url: target.server,
              dns: { 'query-name': target.host, 'query-type': 'A' },
              conditions: ['[DNS_RCODE] == NOERROR', `[BODY] == ${target.expected}`],
              ...rest,
            },
      ),
    }),
  );
  const isUp = async (url: string): Promise<boolean> => {
    const answer = await fetch(`${url}/api/v1/endpoints/statuses?pageSize=100`);
    const seen = z.array(z.object({ results: z.array(z.unknown()) })).parse(await answer.json());
    return seen.filter(({ results }) => results.length > 0).length === targets.length;
  };
  return startPeer(lab, [program], port, isUp, {
    GATUS_CONFIG_FILE: config,
    GATUS_CONFIG_PATH: config,
  });
}
