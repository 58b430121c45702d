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
];

/** Nobody else's, on any machine; its containers' users are the 65,536 from here on. */
const [user, firstOfContainers] = [64_999, 500_000];

/** What the engine sees of the folder that it has to itself. */
export const shared = '/mnt';

/** Becomes the first process of the namespaces; ends with the one that began it. */
const setUp = `
set -e
packages=$1 folder=$2
mount --make-rprivate /
mount --bind "$folder" ${shared}
mkdir -p ${shared}/home ${shared}/run ${shared}/etc-upper ${shared}/etc-work ${shared}/tmp
if [ -n "$packages" ]; then
  mount -t overlay overlay -o "lowerdir=$packages/usr:/usr" /usr
  lower="$packages/etc:/etc"
else
  lower=/etc
fi
mount -t overlay overlay -o "lowerdir=$lower,upperdir=${shared}/etc-upper,workdir=${shared}/etc-work" /etc
echo 'engine:x:${user}:${user}::${shared}/home:/nologin' >>/etc/passwd
echo 'engine:${firstOfContainers}:65536' >/etc/subuid
echo 'engine:${firstOfContainers}:65536' >/etc/subgid
chown ${user}:${user} ${shared}/home ${shared}/run ${shared}/tmp
mount --make-rshared /
echo ready
exec sleep infinity
`;

const asUser = [
  ...['setpriv', '--reuid', String(user), '--regid', String(user), '--clear-groups'],
  ...['env', '-i', '-C', `${shared}/home`, `HOME=${shared}/home`, 'USER=engine', `XDG_RUNTIME_DIR=${shared}/run`, `TMPDIR=${shared}/tmp`],
  'PATH=/usr/sbin:/usr/bin:/sbin:/bin',
  ...['podman', '--runtime', 'runc', '--cgroup-manager', 'cgroupfs', '--storage-driver', 'vfs', '--events-backend', 'none'],
];

export type Engine = {
  /** The same folder as the machine sees it. */
  readonly folder: string;
  /** A line that speaks to the engine, in a network namespace of its own or the machine's. */
  readonly line: (args: readonly string[], netns?: string) => readonly [string, ...string[]];
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
  const podman = await debianProgram('podman', packages);
  if (!podman) return undefined; // Said there.
  await mkdir(place, { recursive: true });
  const folder = await mkdtemp(join(place, 'engine-'));
  await chmod(folder, 0o755);
  const script = join(folder, 'set-up.sh');
  await writeFile(script, setUp);
  const ofPackages = podman.file.startsWith('/usr/') ? '' : dirname(dirname(dirname(podman.file)));
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
    const line: Engine['line'] = (args, netns) => [
      ...(['nsenter', `--mount=/proc/${first}/ns/mnt`, `--pid=/proc/${first}/ns/pid`] as const),
      ...(netns === undefined ? [] : [`--net=/run/netns/${netns}`]),
      ...['--', ...asUser, ...args],
    ];
    const run: Engine['run'] = (...args) => runProgram(line(args));
    const info = await run('info', '--format', '{{.Host.Security.Rootless}} {{.Host.OCIRuntime.Name}}');
    if (info.out.trim() !== 'true runc') throw new Error(`podman says: ${info.err}${info.out}`);
    return { folder, line, run, close };
  } catch (error) {
    await close();
    return skipped(error instanceof Error ? error.message : String(error));
  }
};
