/**
 * For test files: a real API of Kubernetes without any node, and helm, each built from its Go module.
 */
import { execFile, spawnSync } from 'node:child_process';
import { createHash, generateKeyPairSync, randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { z } from 'zod';
import { openCache, openHome } from '../../deploy/local/home.ts';
import { mint, mintAuthority } from './certificates.ts';
import { type ChildProgram, startChildProgram } from './processes.ts';

const run = promisify(execFile);
const modules = resolve(import.meta.dirname, '../deploy/kubernetes');

const hasGo = spawnSync('go', ['version']).status === 0;

/** Undefined, said loudly, where there is no Go. The first build takes minutes. */
const goProgram = async (
  module: string,
  path: string,
  name: string,
): Promise<string | undefined> => {
  if (!hasGo) {
    process.stderr.write(`SKIPPED: ${name} is built from its Go module, and go is not here\n`);
    return undefined;
  }
  const folder = join(modules, module);
  const sums = createHash('sha256')
    .update(readFileSync(join(folder, 'go.sum')))
    .digest('hex');
  const cache = join(openCache(process.env, openHome(process.env)), `go-${sums.slice(0, 16)}`);
  const file = join(cache, name);
  if (existsSync(file)) return file;
  await mkdir(cache, { recursive: true });
  const partial = `${file}.${process.pid}`;
  await run(
    'nice',
    ['go', 'build', '-p', '2', '-mod=readonly', '-ldflags', '-s -w', '-o', partial, path],
    { cwd: folder, env: { ...process.env, CGO_ENABLED: '0' }, maxBuffer: 64 * 1024 * 1024 },
  );
  await rename(partial, file);
  return file;
};

export const helmProgram = (): Promise<string | undefined> =>
  goProgram('helm', 'helm.sh/helm/v3/cmd/helm', 'helm');

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });

export type KubernetesApi = {
  readonly url: string;
  /** A call as one who may everything; a body that is sent is JSON or, with a type, as it is. */
  readonly call: (
    method: string,
    path: string,
    body?: unknown,
    type?: string,
  ) => Promise<{ readonly status: number; readonly body: unknown }>;
  /** A kubeconfig of the user `discover`, who may nothing without a role. */
  readonly kubeconfig: string;
  /** Ends the API server at once, and begins it again with what etcd has. */
  readonly restart: () => Promise<void>;
  /** Forgets all history, and restarts the server: no watch can go on where it was. */
  readonly compact: () => Promise<void>;
  readonly close: () => Promise<void>;
};

/** Undefined, said loudly, where it cannot be built. */
export const createKubernetesApi = async (): Promise<KubernetesApi | undefined> => {
  const etcd = await goProgram('api-server', 'go.etcd.io/etcd/server/v3', 'etcd');
  const server = await goProgram(
    'api-server',
    'k8s.io/kubernetes/cmd/kube-apiserver',
    'kube-apiserver',
  );
  if (etcd === undefined || server === undefined) return undefined;
  const folder = await mkdtemp(join(tmpdir(), 'antipode-kubernetes-'));
  const write = async (name: string, text: string): Promise<string> => {
    const file = join(folder, name);
    await writeFile(file, text, { mode: 0o600 });
    return file;
  };
  const [clients, peers, port] = [await freePort(), await freePort(), await freePort()];
  const database = await startChildProgram(
    [
      etcd,
      `--data-dir=${join(folder, 'etcd')}`,
      `--listen-client-urls=http://127.0.0.1:${clients}`,
      `--advertise-client-urls=http://127.0.0.1:${clients}`,
      `--listen-peer-urls=http://127.0.0.1:${peers}`,
    ],
    {},
    (output) => output.includes('ready to serve client requests'),
  );
  const authority = mintAuthority('kubernetes');
  const certificate = mint({ names: ['127.0.0.1', 'localhost'], issuer: authority });
  const accounts = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const accountKey = await write('accounts.pem', accounts.privateKey);
  const [admin, reader] = [randomUUID(), randomUUID()];
  const url = `https://127.0.0.1:${port}`;
  const call: KubernetesApi['call'] = (method, path, body, type) =>
    callOf(`${url}${path}`, { method, ca: authority.certificate, token: admin, body, type });
  const command: readonly [string, ...string[]] = [
    server,
    `--etcd-servers=http://127.0.0.1:${clients}`,
    `--secure-port=${port}`,
    '--bind-address=127.0.0.1',
    `--tls-cert-file=${await write('server.pem', certificate.chain)}`,
    `--tls-private-key-file=${await write('server.key', certificate.key)}`,
    `--service-account-issuer=${url}`,
    `--service-account-key-file=${accountKey}`,
    `--service-account-signing-key-file=${accountKey}`,
    '--service-cluster-ip-range=10.96.0.0/16',
    '--authorization-mode=RBAC',
    `--token-auth-file=${await write('tokens.csv', `${admin},admin,1,system:masters\n${reader},discover,2\n`)}`,
    // No controller makes accounts here.
    '--disable-admission-plugins=ServiceAccount',
  ];
  const start = () =>
    startChildProgram(command, {}, () =>
      call('GET', '/readyz').then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
  let running = await start();
  const kubeconfig = await write(
    'kubeconfig',
    stringify({
      'current-context': 'test',
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'discover' } }],
      clusters: [
        {
          name: 'test',
          cluster: {
            server: url,
            'certificate-authority-data': Buffer.from(authority.certificate).toString('base64'),
          },
        },
      ],
      users: [{ name: 'discover', user: { token: reader } }],
    }),
  );
  const end = async (program: ChildProgram): Promise<void> => {
    program.signal('SIGKILL');
    await program.exited;
  };
  const restart = async (): Promise<void> => {
    await end(running);
    running = await start();
  };
  return {
    url,
    call,
    kubeconfig,
    restart,
    compact: async () => {
      const post = async (path: string, body: object): Promise<unknown> => {
        const answer = await fetch(`http://127.0.0.1:${clients}/v3/${path}`, {
          method: 'POST',
          body: JSON.stringify(body),
        });
        return answer.json();
      };
      const { header } = z
        .object({ header: z.object({ revision: z.string() }) })
        .parse(await post('maintenance/status', {}));
      await end(running);
      await post('kv/compaction', { revision: header.revision, physical: true });
      running = await start();
    },
    close: async () => {
      await end(running);
      await end(database);
      await rm(folder, { recursive: true, force: true });
    },
  };
};

type KubernetesCall = {
  readonly method: string;
  readonly ca: string;
  readonly token: string;
  readonly body: unknown;
  readonly type: string | undefined;
};

const callOf = (
  url: string,
  { method, ca, token, body, type = 'application/json' }: KubernetesCall,
): ReturnType<KubernetesApi['call']> =>
  new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': type };
    const asked = request(url, { method, ca, headers, agent: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (part: string) => (text += part));
      answer.on('error', reject);
      answer.on('end', () => {
        const isJson = answer.headers['content-type']?.includes('json') === true;
        resolve({ status: answer.statusCode ?? 0, body: isJson ? JSON.parse(text) : text });
      });
    });
    asked.on('error', reject);
    asked.end(body === undefined || typeof body === 'string' ? body : JSON.stringify(body));
  });

/** The definition of HTTPRoute, from the module of the Gateway API. */
export const httpRouteDefinition = async (): Promise<string> => {
  const { stdout } = await run('go', [
    'mod',
    'download',
    '-json',
    'sigs.k8s.io/gateway-api@v1.6.3',
  ]);
  const { Dir } = z.object({ Dir: z.string() }).parse(JSON.parse(stdout));
  return readFileSync(
    join(Dir, 'config/crd/standard/gateway.networking.k8s.io_httproutes.yaml'),
    'utf8',
  );
};
