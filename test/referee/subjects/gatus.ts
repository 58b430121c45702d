import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { freePort } from '../../../deploy/local/home.ts';
import { gatusProgram, gatusVersion } from '../../bench/service/gatus.ts';
import { startPeer } from './peer.ts';
import type { Open } from './types.ts';

const posted = z.object({ target: z.string(), state: z.enum(['TRIGGERED', 'RESOLVED']) });

export const openGatus: Open = async (lab) => {
  const { receiver, folder, interval_s, timeoutMs } = lab;
  const program = await gatusProgram(folder);
  const name = 'gatus';
  if (program === undefined) return { name, missing: 'neither the program nor Go is here' };
  return {
    name,
    version: gatusVersion,
    settings:
      'alerts after 3 failures in a row and ends after 2 successes, as they come; one condition, the status, and of DNS the code and the address; disable-monitoring-lock, so that checks do not wait for each other',
    watch: async (targets) => {
      const config = join(folder, 'gatus.yaml');
      const port = await freePort();
      const alerts = [{ type: 'custom', 'send-on-resolved': true }];
      const client = { timeout: `${timeoutMs}ms` };
      const rest = { interval: `${interval_s}s`, alerts, client };
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
      return startPeer(lab, [program], port, '/health', {
        GATUS_CONFIG_FILE: config,
        GATUS_CONFIG_PATH: config,
      });
    },
    read: ({ body }) => {
      const { target, state } = posted.parse(JSON.parse(body.toString()));
      return [{ target, event: state === 'TRIGGERED' ? 'down' : 'up' }];
    },
    close: async () => undefined,
  };
};
