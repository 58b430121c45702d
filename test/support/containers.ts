import { type ChildProcess, spawn } from 'node:child_process';
import {
  access,
  chmod,
  copyFile,
  cp,
  mkdir,
  mkdtemp,
  readFile,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeRoot } from '../../deploy/image/make.ts';
import { obtainNats } from '../../deploy/image/whole.ts';
import { openCache, openHome } from '../../deploy/local/home.ts';
import { preparePostgresBinaries } from '../../deploy/local/postgres.ts';
import { unpackDebianPackage } from '../../deploy/node/debian-package.mjs';
import { eventually } from './eventually.ts';
import { debianProgram, runProgram, type Said } from './processes.ts';

/**
 * For test files: podman with runc as a user without rights, in mount and process namespaces of its
 * own. Nothing of the machine is changed: Debian's packages lie over /usr for it alone, the user
 * stands in an /etc of its own, and whatever it began ends with it. Only root can make that.
 */

const packages = [
  'podman',
  'conmon',
  'runc',
  'uidmap',
  'golang-github-containers-common',
  'golang-github-containers-image',
  'libgpgme11',
  'libsubid4',
  'slirp4netns',
  'libslirp0',
  'libassuan0',
  'libgpg-error0',
  // Networks of several containers, with names.
  'netavark',
  'aardvark-dns',
  'iptables',
  'libip4tc2',
  'libip6tc2',
  'libxtables12',
  'libnftnl11',
  'libmnl0',
  'libnfnetlink0',
  'libnetfilter-conntrack3',
];

/** Nobody else's, on any machine; its containers' users are the 65,536 from here on. */
export const engineUser = 64_999;
const firstOfContainers = 500_000;

/** What the engine sees of the folder that it has to itself. */
export const shared = '/mnt';

/** It lies below /run, as podman's networks take for granted. */
const runtime = `/run/user/${engineUser}`;

/** Becomes the first process of the namespaces; ends with the one that began it. */
const setUp = `
set -e
packages=$1 folder=$2
mount --make-rprivate /
mount --bind "$folder" ${shared}
mkdir -p ${shared}/home ${shared}/etc-upper ${shared}/etc-work ${shared}/tmp
if [ -n "$packages" ]; then
  mkdir -p ${shared}/usr/sbin
  ln -s iptables-nft ${shared}/usr/sbin/iptables # What installing it would make.
  ln -s ip6tables-nft ${shared}/usr/sbin/ip6tables
  mount -t overlay overlay -o "lowerdir=${shared}/usr:$packages/usr:/usr" /usr
  lower="$packages/etc:/etc"
else
  lower=/etc
fi
mount -t overlay overlay -o "lowerdir=$lower,upperdir=${shared}/etc-upper,workdir=${shared}/etc-work" /etc
echo 'engine:x:${engineUser}:${engineUser}::${shared}/home:/nologin' >>/etc/passwd
echo 'engine:${firstOfContainers}:65536' >/etc/subuid
echo 'engine:${firstOfContainers}:65536' >/etc/subgid
mount -t tmpfs tmpfs /run
mkdir -p ${runtime}
mknod ${shared}/tun c 10 200 # Everybody's elsewhere; containers' networks begin with one.
chmod 666 ${shared}/tun
mount --bind ${shared}/tun /dev/net/tun
chown ${engineUser}:${engineUser} ${shared}/home ${runtime} ${shared}/tmp
mount --make-rshared /
echo ready
exec sleep infinity
`;

/** Where it listens to those who speak docker's language. */
const socket = `unix://${runtime}/podman.sock`;

const asUser = [
  'setpriv',
  '--reuid',
  String(engineUser),
  '--regid',
  String(engineUser),
  '--clear-groups',
  'env',
  '-i',
  '-C',
  `${shared}/home`,
  `HOME=${shared}/home`,
  'USER=engine',
  `XDG_RUNTIME_DIR=${runtime}`,
  `TMPDIR=${shared}/tmp`,
  'PATH=/usr/sbin:/usr/bin:/sbin:/bin',
  `DOCKER_HOST=${socket}`,
];
const podman = [
  'podman',
  '--runtime',
  'runc',
  '--cgroup-manager',
  'cgroupfs',
  '--storage-driver',
  'vfs',
  '--events-backend',
  'none',
];

export type Engine = {
  /** The same folder as the machine sees it. */
  readonly folder: string;
  /**
   * A line of any program as the engine's user, in a network namespace of its own or the machine's.
   */
  readonly enter: (command: readonly string[], netns?: string) => readonly [string, ...string[]];
  /** One of the engine itself. */
  readonly line: (args: readonly string[], netns?: string) => readonly [string, ...string[]];
  /**
   * One that goes on listening to those who speak docker's language, as programs that are entered
   * find it.
   */
  readonly listening: (netns: string) => readonly [string, ...string[]];
  /** Who is asked for names. */
  readonly nameServer: (address: string) => Promise<void>;
  readonly run: (...args: readonly string[]) => Promise<Said>;
  readonly close: () => Promise<void>;
};

const skipped = (why: string): undefined => {
  process.stderr.write(`SKIPPED: images are not run: ${why}\n`);
  return undefined;
};

/**
 * Undefined, said loudly with the reason, where this machine has no engine and cannot get one.
 * `folder` is made, below a place where programs may run.
 */
export const startEngine = async (place: string): Promise<Engine | undefined> => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    return skipped('only root on Linux can make the engine a place of its own');
  const found = await debianProgram('podman', packages);
  if (!found) return undefined; // Said there.
  await mkdir(place, { recursive: true });
  const folder = await mkdtemp(join(place, 'engine-'));
  await chmod(folder, 0o755);
  const script = join(folder, 'set-up.sh');
  await writeFile(script, setUp);
  const ofPackages = found.file.startsWith('/usr/') ? '' : dirname(dirname(dirname(found.file)));
  const namespaces = [
    'unshare',
    '--mount',
    '--pid',
    '--fork',
    '--kill-child',
    '--mount-proc',
  ] as const;
  const holder: ChildProcess = spawn(
    'setpriv',
    ['--pdeathsig', 'KILL', ...namespaces, 'bash', script, ofPackages, folder],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let said = '';
  for (const stream of [holder.stdout, holder.stderr])
    stream?.on('data', (data: Buffer) => (said += data.toString()));
  const ended = new Promise<void>((resolve) => holder.once('exit', () => resolve()));
  const close = async (): Promise<void> => {
    holder.kill('SIGKILL');
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await Promise.race([
      eventually(() => said.includes('ready\n')),
      ended.then(() => Promise.reject(new Error(said))),
    ]);
    const first = (
      await readFile(`/proc/${holder.pid}/task/${holder.pid}/children`, 'utf8')
    ).trim();
    const enter: Engine['enter'] = (command, netns) => [
      ...(['nsenter', `--mount=/proc/${first}/ns/mnt`, `--pid=/proc/${first}/ns/pid`] as const),
      ...(netns === undefined ? [] : [`--net=/run/netns/${netns}`]),
      '--',
      ...asUser,
      ...command,
    ];
    const line: Engine['line'] = (args, netns) => enter([...podman, ...args], netns);
    const listening: Engine['listening'] = (netns) =>
      line(['system', 'service', '--time', '0', socket], netns);
    const nameServer: Engine['nameServer'] = async (address) => {
      const write = `echo 'nameserver ${address}' >/etc/resolv.conf`;
      const said = await runProgram([
        'nsenter',
        `--mount=/proc/${first}/ns/mnt`,
        '--',
        'bash',
        '-c',
        write,
      ]);
      if (said.code !== 0) throw new Error(said.err);
    };
    const run: Engine['run'] = (...args) => runProgram(line(args));
    const info = await run(
      'info',
      '--format',
      '{{.Host.Security.Rootless}} {{.Host.OCIRuntime.Name}}',
    );
    if (info.out.trim() !== 'true runc') throw new Error(`podman says: ${info.err}${info.out}`);
    return { folder, enter, line, listening, nameServer, run, close };
  } catch (error) {
    await close();
    return skipped(error instanceof Error ? error.message : String(error));
  }
};

/**
 * For test files: docker compose, from the machine, the cache, or Debian's stable suite: the
 * machine's own may have one too old for today's files.
 */

const plugin = 'docker/cli-plugins/docker-compose';
const places = ['/usr/libexec', '/usr/lib', '/usr/local/libexec', '/usr/local/lib'].map((place) =>
  join(place, plugin),
);

/** Version 2 or newer: what `docker compose` is. */
const isOne = async (file: string): Promise<boolean> => {
  const isThere = await access(file).then(
    () => true,
    () => false,
  );
  if (!isThere) return false;
  const said = await runProgram([file, 'version', '--short']).catch(() => ({ code: 1, out: '' })); // One that does not run is none.
  return said.code === 0 && Number(said.out.replace(/^v/, '').split('.')[0]) >= 2;
};

/** Undefined, said loudly, where it cannot be had. */
export const composeProgram = async (): Promise<string | undefined> => {
  const cache = openCache(process.env, openHome(process.env));
  const kept = join(cache, 'docker-compose');
  for (const file of [...places, kept]) if (await isOne(file)) return file;
  await mkdir(cache, { recursive: true });
  const scratch = await mkdtemp(join(cache, 'fetching-'));
  try {
    const fetched = join(scratch, 'docker-compose');
    await copyFile(
      join(
        await unpackDebianPackage(scratch, 'docker-compose', 'stable first'),
        'usr/libexec',
        plugin,
      ),
      fetched,
    );
    await chmod(fetched, 0o755);
    if (!(await isOne(fetched))) throw new Error('what Debian has does not run here');
    await rename(fetched, kept);
    return kept;
  } catch (error) {
    process.stderr.write(
      `SKIPPED: no docker compose is on this machine, and none could be obtained: ${String(error)}\n`,
    );
    return undefined;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
};

/**
 * For test files: images that stand for those of a registry that is out of reach, made of the
 * binaries that tests have anyway.
 */

/** The machine's libraries that a program loads; what lies below `own` it has brought itself. */
const copyLibraries = async (program: string, root: string, own = '/none'): Promise<void> => {
  const { out } = await runProgram(['ldd', program]); // One without libraries says so, and names none.
  for (const [, library = ''] of out.matchAll(/(?:=> )?(\/\S+) \(0x/g)) {
    if (library.startsWith(own)) continue;
    await mkdir(join(root, dirname(library)), { recursive: true });
    await cp(library, join(root, library), { dereference: true });
  }
};

const pack = async (root: string, folder: string, recipe: string): Promise<void> => {
  await mkdir(folder, { recursive: true });
  const said = await runProgram([
    'tar',
    '--numeric-owner',
    '--owner=0',
    '--group=0',
    '-cf',
    join(folder, 'root.tar'),
    '-C',
    root,
    '.',
  ]);
  if (said.code !== 0) throw new Error(said.err);
  await writeFile(join(folder, 'Dockerfile'), `FROM scratch\nADD root.tar /\n${recipe}`);
};

/** As `nats` of Docker's library: nothing but the server, of a version without known holes. */
export const makeNatsImage = async (folder: string): Promise<void> => {
  const root = await mkdtemp(join(dirname(folder), 'nats-'));
  const scratch = await mkdtemp(join(dirname(folder), 'nats-'));
  try {
    await chmod(root, 0o755);
    const file = await obtainNats(process.arch === 'arm64' ? 'arm64' : 'x64', scratch);
    await cp(file, join(root, 'nats-server'));
    await copyLibraries(file, root);
    await mkdir(join(root, 'data'));
    await pack(root, folder, 'ENTRYPOINT ["/nats-server"]\nCMD ["--config", "nats-server.conf"]\n');
  } finally {
    for (const used of [root, scratch]) await rm(used, { recursive: true });
  }
};

/**
 * What of `postgres` the compose file takes for granted: its user, password and database by the
 * environment, data below /var/lib/postgresql, pg_isready.
 */
const entrance = `
import { execFileSync, spawn } from 'node:child_process';
import { appendFileSync, chownSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
const { POSTGRES_USER: user, POSTGRES_PASSWORD: password, POSTGRES_DB: database } = process.env;
const data = '/var/lib/postgresql/18/docker';
const as = { uid: 999, gid: 999, cwd: '/', env: {} };
if (!existsSync(data + '/done')) {
  mkdirSync(data, { recursive: true });
  for (const folder of ['/var/lib/postgresql', '/var/lib/postgresql/18', data]) chownSync(folder, 999, 999);
  writeFileSync('/tmp/password', password);
  chownSync('/tmp/password', 999, 999);
  const flags = ['-U', user, '-A', 'scram-sha-256', '--pwfile=/tmp/password', '-E', 'UTF8', '--locale=C', '--no-sync'];
  execFileSync('/postgres/bin/initdb', ['-D', data, ...flags], { ...as, stdio: 'inherit' });
  execFileSync('/postgres/bin/postgres', ['--single', '-D', data, 'postgres'], { ...as, input: 'CREATE DATABASE ' + database + ';\\n' });
  appendFileSync(data + '/pg_hba.conf', 'host all all all scram-sha-256\\n');
  writeFileSync(data + '/done', '');
}
const server = spawn('/postgres/bin/postgres', ['-D', data, '-c', 'listen_addresses=*', '-c', 'unix_socket_directories=/tmp'], { ...as, stdio: 'inherit' });
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => server.kill('SIGINT'));
server.on('exit', (code) => process.exit(code ?? 1));
`;
const isReady = `#!/node
require('node:net').connect(5432, '127.0.0.1').on('connect', () => process.exit(0)).on('error', () => process.exit(2));
`;

export const makePostgresImage = async (folder: string): Promise<void> => {
  const root = await mkdtemp(join(dirname(folder), 'postgres-'));
  try {
    await makeRoot('probe', root);
    const cache = openCache(process.env, openHome(process.env));
    const native = await preparePostgresBinaries(undefined, [cache]);
    await cp(native, join(root, 'postgres'), { recursive: true, verbatimSymlinks: true });
    for (const folder of ['bin', 'usr/bin', 'var/lib/postgresql'])
      await mkdir(join(root, folder), { recursive: true });
    // initdb asks its neighbours for their version with a shell.
    await cp('/bin/sh', join(root, 'bin/sh'), { dereference: true });
    await copyLibraries(join(native, 'bin/postgres'), root, native);
    await copyLibraries('/bin/sh', root);
    await writeFile(
      join(root, 'etc/passwd'),
      'root:x:0:0::/:/bin/sh\npostgres:x:999:999::/var/lib/postgresql:/bin/sh\n',
    );
    await writeFile(join(root, 'entrance.mjs'), entrance);
    await writeFile(join(root, 'usr/bin/pg_isready'), isReady, { mode: 0o755 });
    await pack(
      root,
      folder,
      'ENV PATH=/usr/bin:/bin\nVOLUME /var/lib/postgresql\nSTOPSIGNAL SIGINT\nENTRYPOINT ["/node", "/entrance.mjs"]\n',
    );
  } finally {
    await rm(root, { recursive: true });
  }
};
