import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { type Bench, type Figure, interleaved } from './figure.ts';
import { startAlone } from './https/alone.ts';
import { startBlackbox } from './https/blackbox.ts';
import { startWholeProbe } from './https/whole-probe.ts';
import { cores, find, pinned } from './processes.ts';

/**
 * CPU of one https check, fresh connection and verified chain, against prometheus-blackbox-exporter
 * and `openssl s_time` on the same targets. The subject has a core to itself; targets, load and the
 * bus share the other.
 */

const rounds = 3;
const roundMs = 2_000;
const wholeMs = 6_000;
const inFlight = 50;
/** What the whole probe checks a second, and what blackbox is asked beside it. */
const perSecond = 100;
const heldOpen = 5_000;

const held = z.object({ before: z.number(), during: z.number(), open: z.number() });

/**
 * CPU of one new TLS handshake with verification, one after the other, in milliseconds; undefined
 * without openssl.
 */
export const openssl = (folder: string): ((port: number) => Promise<number>) | undefined => {
  const program = find('openssl');
  if (!program) return undefined;
  return async (port) => {
    const command = `${program} s_time -connect 127.0.0.1:${port} -new -time ${Math.ceil(roundMs / 1_000)} -verify 3 -CAfile ${folder}/ca.pem -www / ; times`;
    const [shell, ...given] = pinned(cores.subject, ['sh', '-c', command]);
    const { stdout } = await promisify(execFile)(shell, given);
    const connections = Number(/^(\d+) connections in \d+ real seconds/m.exec(stdout)?.[1]);
    const ofChildren = stdout.trim().split('\n').at(-1) ?? '';
    const seconds = [...ofChildren.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
      (sum, [, minutes, rest]) => sum + Number(minutes) * 60 + Number(rest),
      0,
    );
    return (seconds * 1_000) / connections;
  };
};

const ms = (value: number): string => `${value.toFixed(3)} ms`;

/** A figure against a peer that may be missing. */
const against = (
  what: string,
  ours: number,
  peer: number | undefined,
  name: string,
  goal: number,
  aim?: number,
): Figure => {
  const ratio = peer === undefined ? null : ours / peer;
  return {
    what,
    ours: ms(ours),
    against: peer === undefined ? `${name} is not on this machine` : `${name} ${ms(peer)}`,
    ratio,
    goal: `≤ ${goal.toFixed(2)} ×${aim === undefined ? '' : ` (aim ${aim.toFixed(2)})`}`,
    holds: ratio === null ? null : ratio <= goal,
  };
};

export const https: Bench = {
  name: 'https',
  about:
    'CPU of one https check, bare and in the whole probe, against blackbox exporter; memory of checks in flight (5 min)',
  run: async (say) => {
    const folder = await mkdtemp(join(tmpdir(), 'antipode-bench-https-'));
    const ends: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
    try {
      const { authority, ports, order, cpuPerCheck, close } = await startAlone(folder);
      ends.push(close);
      const url = (name: 'ecdsa' | 'rsa' | 'hang'): string => `https://localhost:${ports[name]}/`;
      const bareCheck = (target: string): Promise<number> =>
        cpuPerCheck({ kind: 'https', target, in_flight: inFlight, ms: roundMs });

      const blackbox = await startBlackbox(folder, join(folder, 'bundle.pem'));
      if (blackbox) ends.push(blackbox.close);
      const whole = await startWholeProbe(folder, authority, [url('ecdsa'), url('rsa')], perSecond);
      ends.push(whole.close);
      const handshake = openssl(folder);

      const none = async (): Promise<number> => Number.NaN;
      const seen = await interleaved(
        {
          bareEcdsa: () => bareCheck(url('ecdsa')),
          blackboxEcdsa: blackbox
            ? () => blackbox.cpuPerProbe(url('ecdsa'), roundMs, { in_flight: inFlight })
            : none,
          opensslEcdsa: handshake ? () => handshake(ports.ecdsa) : none,
          bareRsa: () => bareCheck(url('rsa')),
          blackboxRsa: blackbox
            ? () => blackbox.cpuPerProbe(url('rsa'), roundMs, { in_flight: inFlight })
            : none,
          opensslRsa: handshake ? () => handshake(ports.rsa) : none,
          wholeEcdsa: () => whole.cpuPerCheck(url('ecdsa'), wholeMs),
          besideEcdsa: blackbox
            ? () =>
                blackbox.cpuPerProbe(url('ecdsa'), wholeMs, {
                  in_flight: inFlight,
                  per_second: perSecond,
                })
            : none,
          wholeRsa: () => whole.cpuPerCheck(url('rsa'), wholeMs),
          besideRsa: blackbox
            ? () =>
                blackbox.cpuPerProbe(url('rsa'), wholeMs, {
                  in_flight: inFlight,
                  per_second: perSecond,
                })
            : none,
        },
        rounds,
        say,
      );
      say(`memory of ${heldOpen} checks in flight`);
      const memory = held.parse(
        await order({
          kind: 'https',
          target: url('hang'),
          in_flight: heldOpen,
          ms: 20_000,
          once: true,
        }),
      );
      const each = (memory.during - memory.before) / 1_024 / memory.open;
      const there = (value: number): number | undefined =>
        Number.isNaN(value) ? undefined : value;
      const peer = 'blackbox';
      return [
        against('check alone, ECDSA', seen.bareEcdsa, there(seen.blackboxEcdsa), peer, 1, 0.77),
        against('check alone, RSA', seen.bareRsa, there(seen.blackboxRsa), peer, 0.9, 0.7),
        against(
          'check alone, ECDSA',
          seen.bareEcdsa,
          there(seen.opensslEcdsa),
          'openssl s_time -new',
          1.1,
        ),
        against(
          'check alone, RSA',
          seen.bareRsa,
          there(seen.opensslRsa),
          'openssl s_time -new',
          1.1,
        ),
        against(
          `whole probe, ${perSecond} checks a second, ECDSA`,
          seen.wholeEcdsa,
          there(seen.besideEcdsa),
          `${peer} as often`,
          1,
          0.85,
        ),
        against(
          `whole probe, ${perSecond} checks a second, RSA`,
          seen.wholeRsa,
          there(seen.besideRsa),
          `${peer} as often`,
          0.9,
          0.78,
        ),
        {
          what: `${memory.open} checks in flight after the TLS handshake, memory each`,
          ours: `${each.toFixed(1)} KiB (${(memory.during / 1_048_576).toFixed(0)} MiB in all)`,
          against: '512 MiB in all',
          ratio: memory.during / 1_048_576 / 512,
          goal: '≤ 1.00 ×',
          holds: memory.open >= heldOpen && memory.during <= 512 * 1_048_576,
        },
        {
          what: 'the probe at rest',
          ours: `${whole.atRest.toFixed(0)} MiB`,
          against: '80 MiB',
          ratio: whole.atRest / 80,
          goal: '≤ 1.00 ×',
          holds: whole.atRest <= 80,
        },
      ];
    } finally {
      for (const end of ends.toReversed()) await end();
    }
  },
};
