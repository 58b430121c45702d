import { readFileSync } from 'node:fs';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { isIPv6 } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { UsageFault } from '../../base/env.ts';
import { isRecord, memberOf } from '../../base/json.ts';
import { listInWords, whyNotReached } from '../../base/text.ts';

/** Where the API of a cluster is and how to sign in there, and its answers. */

export type Cluster = {
  readonly server: URL;
  readonly serverName?: string | undefined;
  /** Read for each request: Kubernetes renews the files. */
  readonly credentials: () => {
    readonly ca?: string | undefined;
    readonly cert?: string | undefined;
    readonly key?: string | undefined;
    readonly token?: string | undefined;
  };
};

/** The API refused, answered what it never should, or did not answer: status 0. */
export class ClusterFault extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

type Place = {
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Of the service account of a pod. */
  readonly accountFolder?: string;
};

/** The file that is named, or the cluster that this runs in, or the file that kubectl reads. */
export function clusterOf(place: Place): Cluster {
  const { kubeconfig, environment, accountFolder = usualAccountFolder } = place;
  const named = kubeconfig ?? (environment.KUBECONFIG || undefined);
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = environment;
  if (named === undefined && host) return clusterOfPod(host, port, accountFolder);
  if (named?.includes(':') && kubeconfig === undefined)
    throw new UsageFault('KUBECONFIG names several files; choose one with --kubeconfig.');
  return clusterInFile(named ?? join(homedir(), '.kube', 'config'), place.context);
}

const usualAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

function clusterOfPod(host: string, port: string, folder: string): Cluster {
  const server = new URL(`https://${isIPv6(host) ? `[${host}]` : host}:${port}`);
  const read = (name: string): string => {
    try {
      return readFileSync(join(folder, name), 'utf8').trim();
    } catch (error) {
      throw new ClusterFault(
        0,
        `the service account of this pod cannot be read (${whyNotReached(error)}); set automountServiceAccountToken, or set --kubeconfig`,
      );
    }
  };
  return { server, credentials: () => ({ ca: read('ca.crt'), token: read('token') }) };
}

/** What would sign in by another program or in a way that is insecure, and what to do instead. */
const refusedKeys: Readonly<Record<string, string>> = {
  exec: 'signs in by another program (exec), which is not run here; use a file with a token or a client certificate, or one whose server is that of `kubectl proxy`',
  'auth-provider': 'signs in by an auth-provider, which kubectl has given up too; use a token',
  username: 'signs in by a password, which Kubernetes has given up; use a token',
  'proxy-url': 'goes through a proxy of its own, which is not supported here',
  'insecure-skip-tls-verify': 'does not verify the server; set its certificate-authority instead',
};

function clusterInFile(file: string, wantedContext: string | undefined): Cluster {
  let config: unknown;
  try {
    config = parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new UsageFault(
      `${file} cannot be read (${whyNotReached(error)}); name a kubeconfig by --kubeconfig, or run this in a pod.`,
    );
  }
  const name = wantedContext ?? memberOf(config, 'current-context');
  const context = memberOf(entryOf(config, 'contexts', name, file), 'context');
  const cluster = memberOf(
    entryOf(config, 'clusters', memberOf(context, 'cluster'), file),
    'cluster',
  );
  const user = memberOf(entryOf(config, 'users', memberOf(context, 'user'), file), 'user');
  for (const part of [cluster, user])
    for (const [key, sentence] of Object.entries(refusedKeys))
      if (memberOf(part, key)) throw new UsageFault(`${file}: ${String(name)} ${sentence}.`);
  const server = textIn(cluster, 'server') ?? '';
  if (!URL.canParse(server) || !/^https?:\/\//.test(server))
    throw new UsageFault(`${file}: the server of ${String(name)} is no http or https address.`);
  const read = (part: unknown, key: string): string | undefined => {
    const data = textIn(part, `${key}-data`);
    if (data !== undefined) return Buffer.from(data, 'base64').toString();
    const path = textIn(part, key);
    return path === undefined ? undefined : readIn(file, path);
  };
  const url = new URL(server);
  const tokenFile = textIn(user, 'tokenFile');
  const token = textIn(user, 'token');
  const isHere = /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname);
  if (url.protocol === 'http:' && !isHere && (token ?? tokenFile) !== undefined)
    throw new UsageFault(`${file}: ${server} would read the token in the open; use https.`);
  return {
    server: url,
    serverName: textIn(cluster, 'tls-server-name'),
    credentials: () => ({
      ca: read(cluster, 'certificate-authority'),
      cert: read(user, 'client-certificate'),
      key: read(user, 'client-key'),
      token: tokenFile === undefined ? token : readIn(file, tokenFile),
    }),
  };
}

function textIn(part: unknown, key: string): string | undefined {
  const text = memberOf(part, key);
  return typeof text === 'string' && text !== '' ? text : undefined;
}

/** Paths of a kubeconfig are relative to it. */
function readIn(file: string, path: string): string {
  try {
    return readFileSync(join(path.startsWith('/') ? '' : join(file, '..'), path), 'utf8').trim();
  } catch (error) {
    throw new ClusterFault(
      0,
      `${file} names ${path}, which cannot be read (${whyNotReached(error)})`,
    );
  }
}

function entryOf(config: unknown, list: string, name: unknown, file: string): unknown {
  const all = memberOf(config, list);
  const entries = Array.isArray(all) ? all.filter(isRecord) : [];
  const found = entries.find((entry) => entry.name === name);
  if (found !== undefined) return found;
  const names = entries.map((entry) => String(entry.name));
  throw new UsageFault(
    `${file} has no ${list.replace(/s$/, '')} "${String(name ?? '')}"${names.length === 0 ? '' : `; it has ${listInWords(names)}`}.`,
  );
}

const maxListBytes = 256 * 1024 * 1024;
const listTimeoutMs = 60_000;

/** @throws ClusterFault for anything but a 200 with a JSON object. */
export async function getJson(
  cluster: Cluster,
  path: string,
  signal: AbortSignal,
): Promise<unknown> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(listTimeoutMs)]);
  const answer = await open(cluster, path, limited);
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const part of answer) {
      if (!Buffer.isBuffer(part)) continue;
      bytes += part.length;
      if (bytes > maxListBytes) throw new Error('its answer is larger than any list');
      parts.push(part);
    }
  } catch (error) {
    throw notReached(cluster, error);
  }
  const text = Buffer.concat(parts).toString();
  const body = jsonIn(text);
  if (answer.statusCode !== 200) throw refusalIn(cluster, answer.statusCode ?? 0, body, text);
  if (!isRecord(body))
    throw new ClusterFault(0, `${cluster.server.origin} answers with something that is not JSON`);
  return body;
}

function notReached({ server }: Cluster, error: unknown): ClusterFault {
  return new ClusterFault(0, `${server.origin} cannot be reached (${whyNotReached(error)})`);
}

/** A GET; the answer of any status. @throws ClusterFault when there is none. */
function open(cluster: Cluster, path: string, signal: AbortSignal): Promise<IncomingMessage> {
  const { token, ca, cert, key } = cluster.credentials();
  const { server, serverName } = cluster;
  const address = `${server.href.replace(/\/$/, '')}${path}`;
  const options = {
    headers: {
      accept: 'application/json',
      'user-agent': 'antipode-discover',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    signal,
    agent: false,
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(serverName !== undefined && { servername: serverName }),
  };
  const { request: send } = server.protocol === 'http:' ? http : https;
  return new Promise((resolve, reject) => {
    const request = send(address, options);
    request.on('response', resolve);
    request.on('error', (error) => reject(notReached(cluster, error)));
    request.end();
  });
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A 404 counts only where it is the API that does not know the kind, and no page of something else. */
function refusalIn({ server }: Cluster, status: number, body: unknown, text: string): ClusterFault {
  const message = textIn(body, 'message') ?? text.slice(0, 200).trim();
  const isOfApi = memberOf(body, 'kind') === 'Status' || message === '404 page not found';
  return new ClusterFault(
    isOfApi ? status : 0,
    `${server.origin} answers ${status}${message === '' ? '' : `: ${message}`}`,
  );
}

const maxLineLength = 16 * 1024 * 1024;

/**
 * The lines of a watch, each a JSON value, until it ends; a connection that breaks is an end as any
 * other. @throws ClusterFault when it does not begin, or says what no watch says.
 */
export async function* watchLines(
  cluster: Cluster,
  path: string,
  signal: AbortSignal,
): AsyncGenerator<unknown> {
  const answer = await open(cluster, path, signal);
  answer.setEncoding('utf8');
  const parts = partsUntilBroken(answer);
  let rest = '';
  try {
    for await (const part of parts) {
      rest += part;
      if (rest.length > maxLineLength)
        throw new ClusterFault(0, `${cluster.server.origin} sends an event larger than any object`);
      if (answer.statusCode !== 200) continue;
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const event = jsonIn(line);
        if (event === undefined)
          throw new ClusterFault(0, `${cluster.server.origin} sends events that are not JSON`);
        yield event;
      }
    }
  } finally {
    answer.destroy();
  }
  if (answer.statusCode !== 200)
    throw refusalIn(cluster, answer.statusCode ?? 0, jsonIn(rest), rest);
}

async function* partsUntilBroken(answer: IncomingMessage): AsyncGenerator<string> {
  try {
    for await (const part of answer) yield String(part);
  } catch {
    // The next watch goes on where this one ended.
  }
}
