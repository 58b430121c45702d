import { spawn } from 'node:child_process';
import { isIP } from 'node:net';
import { packetEveryMs } from '../../../shared/checks/icmp/config.ts';
import { CheckDeadline } from '../limits.ts';

/**
 * Echo requests by the system's `ping`: node has no sockets for them, and the program has the
 * rights that a probe should not have.
 */
export type Echoes = {
  readonly sent: number;
  readonly received: number;
  /** Round trips in milliseconds; null when nothing came back. */
  readonly rtt: { readonly min: number; readonly mean: number; readonly max: number } | null;
  /** What a router on the way, or this host, said instead. */
  readonly refusal: 'host' | 'network' | null;
};

/** Sends this many requests to a literal address; undefined when the program did not work. */
export type Ping = (
  address: string,
  packets: number,
  deadline: CheckDeadline,
) => Promise<Echoes | undefined>;

/** An answer that comes later counts as lost: a silent host must not keep a process for long. */
const answerWithinS = 2;
/**
 * The last of it is kept, which has the summary: the target decides how many answers come before.
 */
const maxOutput = 16_384;
/** The summary is printed after this signal, and then the program ends. */
const lastWordsMs = 250;

/** Its own environment: a program needs no credentials of the probe, and speaks English here. */
const environment = ['-i', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin', 'LC_ALL=C'];

/** `command`: what runs in place of the system's ping. */
export function createPing(command: readonly string[] = ['ping']): Ping {
  return (address, packets, deadline) => {
    if (isIP(address) === 0) throw new Error('only a literal address is pinged');
    return new Promise((resolve) => {
      if (deadline.isOver()) return resolve(undefined);
      const child = spawn(
        'env',
        [
          ...environment,
          ...command,
          '-n',
          '-c',
          String(packets),
          '-i',
          String(packetEveryMs / 1_000),
          '-W',
          String(answerWithinS),
          address,
        ],
        { stdio: ['ignore', 'pipe', 'pipe'] },
      );
      let output = '';
      const take = (chunk: Buffer): void => {
        output = (output + chunk.toString('latin1')).slice(-maxOutput);
      };
      child.stdout.on('data', take);
      child.stderr.on('data', take);
      // Asked to end shortly before the deadline, it still says what came back until then.
      const askingIn = Math.max(1, deadline.due - performance.now() - lastWordsMs);
      const asking = setTimeout(() => child.kill('SIGINT'), askingIn);
      const stopping = { expire: () => void child.kill('SIGKILL') };
      deadline.listen(stopping);
      const finish = (echoes: Echoes | undefined): void => {
        clearTimeout(asking);
        deadline.unlisten(stopping);
        resolve(echoes);
      };
      child.once('error', () => finish(undefined));
      child.once('close', () => finish(readEchoes(output)));
    });
  };
}

/** Reads the output of ping, of iputils as of busybox; undefined when it says nothing of echoes. */
export function readEchoes(output: string): Echoes | undefined {
  const refusal = /network is unreachable|destination net unreachable/i.test(output)
    ? 'network'
    : /destination (?:host|port) unreachable|no route to host|address unreachable/i.test(output)
      ? 'host'
      : null;
  const [, sent, received] =
    /(\d{1,4}) packets transmitted, (\d{1,4}) (?:packets )?received/.exec(output) ?? [];
  if (sent === undefined || received === undefined || Number(sent) === 0)
    return refusal === null ? undefined : { sent: 0, received: 0, rtt: null, refusal };
  const [, min, mean, max] = /= ([\d.]+)\/([\d.]+)\/([\d.]+)(?:\/[\d.]+)? ms/.exec(output) ?? [];
  const times = [min, mean, max].map(Number);
  const [least, middle, most] = times;
  const isRead =
    times.every((time) => Number.isFinite(time)) &&
    least !== undefined &&
    middle !== undefined &&
    most !== undefined;
  return {
    sent: Number(sent),
    received: Math.min(Number(received), Number(sent)),
    rtt: isRead ? { min: least, mean: middle, max: most } : null,
    refusal,
  };
}

/** Whether this host lets the probe send echo requests. */
export async function canPing(ping: Ping): Promise<boolean> {
  const now = performance.now();
  const echoes = await ping('127.0.0.1', 1, new CheckDeadline(now, now + 2_000));
  return (echoes?.received ?? 0) > 0;
}
