/**
 * For test files: podman with runc as a user without rights, in mount and process namespaces of its own. Nothing of the machine is changed: Debian's
 * packages lie over /usr for it alone, the user stands in an /etc of its own, and whatever it began ends with it. Only root can make that.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { debianProgram } from './debian.ts';
import { eventually } from './eventually.ts';
import { runProgram, type Said } from './programs.ts';

const packages = [
  ...['podman', 'conmon', 'runc', 'uidmap', 'golang-github-containers-common', 'golang-github-containers-image'],
  ...['libgpgme11', 'libsubid4', 'slirp4netns', 'libslirp0', 'libassuan0', 'libgpg-error0'],
  // Networks of several containers, with names.
  ...['netavark', 'aardvark-dns', 'iptables', 'libip4tc2', 'libip6tc2', 'libxtables12', 'libnftnl11', 'libmnl0', 'libnfnetlink0'],
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
  ...['setpriv', '--reuid', String(engineUser), '--regid', String(engineUser), '--clear-groups'],
  ...['env', '-i', '-C', `${shared}/home`, `HOME=${shared}/home`, 'USER=engine', `XDG_RUNTIME_DIR=${runtime}`, `TMPDIR=${shared}/tmp`],
  ...['PATH=/usr/sbin:/usr/bin:/sbin:/bin', `DOCKER_HOST=${socket}`],
];
const podman = ['podman', '--runtime', 'runc', '--cgroup-manager', 'cgroupfs', '--storage-driver', 'vfs', '--events-backend', 'none'];

export type Engine = {
  /** The same folder as the machine sees it. */
  readonly folder: string;
  /** A line of any program as the engine's user, in a network namespace of its own or the machine's. */
  readonly enter: (command: readonly string[], netns?: string) => readonly [string, ...string[]];
  /** One of the engine itself. */
  readonly line: (args: readonly string[], netns?: string) => readonly [string, ...string[]];
  /** One that goes on listening to those who speak docker's language, as programs that are entered find it. */
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

/** Undefined, said loudly with the reason, where this machine has no engine and cannot get one. `folder` is made, below a place where programs may run. */
export const startEngine = async (place: string): Promise<Engine | undefined> => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return skipped('only root on Linux can make the engine a place of its own');
  const found = await debianProgram('podman', packages);
  if (!found) return undefined; // Said there.
  await mkdir(place, { recursive: true });
  const folder = await mkdtemp(join(place, 'engine-'));
  await chmod(folder, 0o755);
  const script = join(folder, 'set-up.sh');
  await writeFile(script, setUp);
  const ofPackages = found.file.startsWith('/usr/') ? '' : dirname(dirname(dirname(found.file)));
  const namespaces = ['unshare', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'] as const;
  const holder: ChildProcess = spawn('setpriv', ['--pdeathsig', 'KILL', ...namespaces, 'bash', script, ofPackages, folder], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [holder.stdout, holder.stderr]) stream?.on('data', (data: Buffer) => (said += data.toString()));
  const ended = new Promise<void>((resolve) => holder.once('exit', () => resolve()));
  const close = async (): Promise<void> => {
    holder.kill('SIGKILL');
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await Promise.race([eventually(() => said.includes('ready\n')), ended.then(() => Promise.reject(new Error(said)))]);
    const first = (await readFile(`/proc/${holder.pid}/task/${holder.pid}/children`, 'utf8')).trim();
    const enter: Engine['enter'] = (command, netns) => [
      ...(['nsenter', `--mount=/proc/${first}/ns/mnt`, `--pid=/proc/${first}/ns/pid`] as const),
      ...(netns === undefined ? [] : [`--net=/run/netns/${netns}`]),
      ...['--', ...asUser, ...command],
    ];
    const line: Engine['line'] = (args, netns) => enter([...podman, ...args], netns);
    const listening: Engine['listening'] = (netns) => line(['system', 'service', '--time', '0', socket], netns);
    const nameServer: Engine['nameServer'] = async (address) => {
      const write = `echo 'nameserver ${address}' >/etc/resolv.conf`;
      const said = await runProgram(['nsenter', `--mount=/proc/${first}/ns/mnt`, '--', 'bash', '-c', write]);
      if (said.code !== 0) throw new Error(said.err);
    };
    const run: Engine['run'] = (...args) => runProgram(line(args));
    const info = await run('info', '--format', '{{.Host.Security.Rootless}} {{.Host.OCIRuntime.Name}}');
    if (info.out.trim() !== 'true runc') throw new Error(`podman says: ${info.err}${info.out}`);
    return { folder, enter, line, listening, nameServer, run, close };
  } catch (error) {
    await close();
    return skipped(error instanceof Error ? error.message : String(error));
  }
};
