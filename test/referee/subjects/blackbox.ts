import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { freePorts } from '../../support/buses.ts';
import { debianProgram, type Program, runProgram } from '../../support/processes.ts';
import type { Watched } from '../world.ts';
import { startPeer } from './peer.ts';
import type { Open, Said } from './types.ts';

/** Debian's blackbox exporter, asked by Prometheus, which tells Alertmanager. */

const parts = ['prometheus-blackbox-exporter', 'prometheus', 'prometheus-alertmanager'] as const;

const posted = z.object({
  alerts: z.array(
    z.object({
      status: z.enum(['firing', 'resolved']),
      labels: z.object({ instance: z.string() }),
    }),
  ),
});

export const openBlackbox: Open = async (lab) => {
  const { receiver, folder: home, interval_s, timeoutMs } = lab;
  const name = 'blackbox';
  const [exporter, prometheus, alertmanager] = await Promise.all(
    parts.map((part) => debianProgram(part, [part])),
  );
  if (!exporter || !prometheus || !alertmanager)
    return { name, missing: `Debian gave no ${parts.join(', ')}` };
  const versions = await Promise.all([exporter, prometheus, alertmanager].map(versionOf));
  let waves = 0;
  return {
    name,
    version: parts.map((part, nth) => `${part} ${versions[nth]}`).join(', '),
    settings:
      'probe_success == 0 for 20 s; group_by instance, group_wait 0 s and group_interval 1 s in place of 30 s and 5 min, which would hold back every message; evaluation_interval as the interval',
    watch: async (targets) => {
      waves += 1;
      const folder = join(home, `blackbox-${waves}`);
      await mkdir(folder);
      const [blackboxPort = 0, prometheusPort = 0, alertmanagerPort = 0] = await freePorts(3);
      const write = async (file: string, content: unknown): Promise<string> => {
        await writeFile(join(folder, file), JSON.stringify(content));
        return join(folder, file);
      };
      const dns = targets.filter((target) => target.by === 'dns');
      const modules = await write('modules.yaml', {
        modules: {
          http_2xx: {
            prober: 'http',
            timeout: `${timeoutMs}ms`,
            http: { preferred_ip_protocol: 'ip4' },
          },
          ...Object.fromEntries(dns.map((target) => [target.name, dnsModule(target, timeoutMs)])),
        },
      });
      const route = {
        receiver: 'referee',
        group_by: ['instance'],
        group_wait: '0s',
        group_interval: '1s',
      };
      const webhooks = [{ url: `${receiver}/blackbox/`, send_resolved: true }];
      const routes = await write('alertmanager.yaml', {
        route,
        receivers: [{ name: 'referee', webhook_configs: webhooks }],
      });
      const alert = { alert: 'Down', expr: 'probe_success == 0', for: '20s' };
      const rules = await write('rules.yaml', { groups: [{ name: 'referee', rules: [alert] }] });
      const every = `${interval_s}s`;
      const config = await write('prometheus.yaml', {
        global: { scrape_interval: every, scrape_timeout: every, evaluation_interval: every },
        rule_files: [rules],
        alerting: {
          alertmanagers: [{ static_configs: [{ targets: [`127.0.0.1:${alertmanagerPort}`] }] }],
        },
        scrape_configs: targets.map((target) => ({
          job_name: target.name,
          metrics_path: '/probe',
          params:
            target.by === 'http'
              ? { module: ['http_2xx'], target: [target.url] }
              : { module: [target.name], target: [target.server] },
          static_configs: [
            { targets: [`127.0.0.1:${blackboxPort}`], labels: { instance: target.name } },
          ],
        })),
      });
      const begin = (program: Program, args: readonly string[], port: number) =>
        startPeer(lab, [...sharing(program), program.file, ...args], port, isHealthy, program.env);
      const ends = [
        await begin(
          exporter,
          [
            `--config.file=${modules}`,
            `--web.listen-address=0.0.0.0:${blackboxPort}`,
            '--log.level=error',
          ],
          blackboxPort,
        ),
        await begin(
          alertmanager,
          [
            `--config.file=${routes}`,
            `--web.listen-address=0.0.0.0:${alertmanagerPort}`,
            `--storage.path=${join(folder, 'alertmanager')}`,
            '--cluster.listen-address=',
          ],
          alertmanagerPort,
        ),
        await begin(
          prometheus,
          [
            `--config.file=${config}`,
            `--web.listen-address=0.0.0.0:${prometheusPort}`,
            `--storage.tsdb.path=${join(folder, 'prometheus')}`,
          ],
          prometheusPort,
        ),
      ];
      return async () => {
        for (const end of ends.toReversed()) await end();
        await rm(folder, { recursive: true, force: true });
      };
    },
    read: ({ body }) =>
      posted.parse(JSON.parse(body.toString())).alerts.map(
        ({ status, labels }): Said => ({
          target: labels.instance,
          event: status === 'firing' ? 'down' : 'up',
        }),
      ),
    close: async () => undefined,
  };
};

function dnsModule(target: Watched & { readonly by: 'dns' }, timeoutMs: number) {
  return {
    prober: 'dns',
    timeout: `${timeoutMs}ms`,
    dns: {
      query_name: target.host,
      query_type: 'A',
      preferred_ip_protocol: 'ip4',
      validate_answer_rrs: { fail_if_none_matches_regexp: [`.*\\t${target.expected}$`] },
    },
  };
}

async function isHealthy(url: string): Promise<boolean> {
  return (await fetch(`${url}/-/healthy`)).ok;
}

/**
 * Alertmanager reads a template below /usr/share. `ip netns exec` gives each program mounts of its
 * own, so that what the package has there can stand in its place.
 */
function sharing({ file }: Program): readonly string[] {
  const share = join(dirname(file), '../share');
  return ['sh', '-c', `mount --bind ${share} /usr/share && exec "$0" "$@"`];
}

async function versionOf({ file, env }: Program): Promise<string> {
  const { out, err } = await runProgram([file, '--version'], { env: { ...process.env, ...env } });
  return /version (\S+)/.exec(`${out}${err}`)?.[1] ?? 'unknown';
}
