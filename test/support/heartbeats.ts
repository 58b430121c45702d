/** For test files: heartbeat monitors with their addresses, and calls of them. */

import type { Sql } from '../../coordinator/database/connect.ts';
import { insertPingTokens } from '../../coordinator/monitors/queries.ts';
import type { Config } from '../../shared/checks/assignment.ts';
import { newPingToken, pingFingerprint } from '../../shared/checks/heartbeat/config.ts';
import { eventually, passed } from './eventually.ts';
import type { Network } from './network.ts';

export type Heartbeat = { readonly monitor: string; readonly token: string; readonly key: string };

export const addToken = async (network: Network, monitor: string): Promise<Heartbeat> => {
  const token = newPingToken();
  const key = pingFingerprint(token);
  const { organisation } = network;
  await network.sql.begin((tx) => insertPingTokens(tx, organisation, [{ fingerprint: key, monitor, box: Buffer.from(token) }]));
  return { monitor, token, key };
};

export const addHeartbeat = async (network: Network, config: Config = {}, interval_s = 2): Promise<Heartbeat> => {
  const monitor = await network.addMonitor({ type: 'heartbeat', target: '', interval_s, config: { grace_s: 0, ...config } });
  return addToken(network, monitor);
};

export type Answer = { readonly status: number; readonly text: string };

export const call = async (address: string, path: string, init: RequestInit = {}): Promise<Answer> => {
  const answer = await fetch(`${address}/beat/${path}`, init);
  return { status: answer.status, text: await answer.text() };
};

/** Calls until the address knows the token: it was made a moment ago. */
export const ping = async (address: string, { token }: Pick<Heartbeat, 'token'>, more = '', init: RequestInit = {}): Promise<Answer> =>
  eventually(async () => {
    const answer = await call(address, `${token}${more}`, init);
    return answer.status === 200 ? answer : undefined;
  });

/** Pings on while something takes its time, however long that is; stop() settles with how many were taken. */
export const keepTicking = (address: string, { token }: Pick<Heartbeat, 'token'>): { readonly stop: () => Promise<number> } => {
  let isStopped = false;
  const run = async (): Promise<number> => {
    let taken = 0;
    for (; !isStopped; await passed(500)) {
      // A job goes on when nobody takes its ping: whoever takes it ends and begins anew in these tests.
      const answer = await call(address, token).catch(() => undefined);
      if (answer?.status === 200) taken += 1;
    }
    return taken;
  };
  const running = run();
  return {
    stop: () => {
      isStopped = true;
      return running;
    },
  };
};

export type StoredPing = {
  readonly kind: string;
  readonly at: Date;
  readonly exit_code: number | null;
  readonly rid: string | null;
  readonly run_ms: number | null;
  readonly body: string;
  readonly ear: string;
  readonly method: string;
};

const pingsOf = (sql: Sql, monitor: string): Promise<StoredPing[]> =>
  sql<StoredPing[]>`select kind, at, exit_code, rid, run_ms, body, ear, method from beats where monitor_id = ${monitor} order by at, id`;

/** Settles when so many pings of the monitor are written down. */
export const pingsWritten = (sql: Sql, monitor: string, count: number): Promise<StoredPing[]> =>
  eventually(async () => {
    const pings = await pingsOf(sql, monitor);
    return pings.length >= count ? pings : undefined;
  });
