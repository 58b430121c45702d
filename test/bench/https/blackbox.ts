import type { ChildProcess } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { Agent, get } from 'node:http';
import { join } from 'node:path';
import { freePort } from '../../../deploy/local/home.ts';
import { debianProgram } from '../../support/processes.ts';
import { cores, cpuOf, start, stop } from '../processes.ts';

/**
 * Debian's prometheus-blackbox-exporter, asked to probe as its users ask it. Its pool of
 * authorities is the system's, and ours with it.
 */
export type Blackbox = {
  /**
   * CPU of one probe in milliseconds: `per_second` of them, or without it as many as `in_flight`
   * allows.
   */
  readonly cpuPerProbe: (
    target: string,
    ms: number,
    load: { readonly in_flight: number; readonly per_second?: number },
  ) => Promise<number>;
  /** Whether a probe of the module succeeds. */
  readonly ask: (target: string) => Promise<boolean>;
  readonly close: () => Promise<void>;
};

/** A module of its configuration, by its name. */
export type Module = { readonly name: string; readonly config: string };

const module: Module = {
  name: 'https',
  config: `modules:
  https:
    prober: http
    timeout: 8s
    http:
      preferred_ip_protocol: ip4
`,
};

export const startBlackbox = async (
  folder: string,
  bundle: string,
  { name, config: text }: Module = module,
): Promise<Blackbox | undefined> => {
  const program = await debianProgram('prometheus-blackbox-exporter', [
    'prometheus-blackbox-exporter',
  ]);
  if (!program) return undefined;
  const config = join(folder, 'blackbox.yml');
  await writeFile(config, text);
  const port = await freePort();
  const child: ChildProcess = start(
    cores.subject,
    [
      program.file,
      `--config.file=${config}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=error',
    ],
    {
      env: { ...process.env, ...program.env, SSL_CERT_FILE: bundle, GOMAXPROCS: '1' },
      stdio: 'ignore',
    },
  );
  const agent = new Agent({ keepAlive: true, maxSockets: 200 });

  const ask = (target: string): Promise<boolean> =>
    new Promise((resolve, reject) => {
      const url = `http://127.0.0.1:${port}/probe?module=${name}&target=${encodeURIComponent(target)}`;
      get(url, { agent }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        response.on('end', () => resolve(/^probe_success 1$/m.test(text)));
      }).on('error', reject);
    });

  const isUp = async (): Promise<boolean> => {
    for (let tries = 0; tries < 100; tries += 1) {
      try {
        await ask('http://127.0.0.1:1/');
        return true;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 50)); // It does not listen yet.
      }
    }
    return false;
  };
  const close = async (): Promise<void> => {
    agent.destroy();
    await stop(child);
  };
  if (!(await isUp()) || child.pid === undefined) {
    await close();
    throw new Error('prometheus-blackbox-exporter did not come up');
  }
  const { pid } = child;

  return {
    ask,
    close,
    cpuPerProbe: async (target, ms, { in_flight, per_second }) => {
      const before = cpuOf(pid);
      const began = performance.now();
      let probes = 0;
      const one = async (): Promise<void> => {
        if (!(await ask(target))) throw new Error('blackbox could not probe the target');
        probes += 1;
      };
      const lane = async (nth: number): Promise<void> => {
        for (let turn = nth; performance.now() - began < ms; turn += in_flight) {
          const wait =
            per_second === undefined ? 0 : began + (turn * 1_000) / per_second - performance.now();
          if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
          await one();
        }
      };
      await Promise.all(Array.from({ length: in_flight }, (_, nth) => lane(nth)));
      return (cpuOf(pid) - before) / probes;
    },
  };
};
