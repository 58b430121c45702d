/** For test files: images that stand for those of a registry that is out of reach, made of the binaries that tests have anyway. */
import { chmod, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeRoot } from '../../deploy/image/make.ts';
import { openCache, openHome } from '../../deploy/local/home.ts';
import { obtainNatsServer } from '../../deploy/local/nats.ts';
import { preparePostgresBinaries } from '../../deploy/local/postgres.ts';
import { runProgram } from './programs.ts';

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
  const said = await runProgram(['tar', '--numeric-owner', '--owner=0', '--group=0', '-cf', join(folder, 'root.tar'), '-C', root, '.']);
  if (said.code !== 0) throw new Error(said.err);
  await writeFile(join(folder, 'Dockerfile'), `FROM scratch\nADD root.tar /\n${recipe}`);
};

/** As `nats` of Docker's library: nothing but the server. */
export const makeNatsImage = async (folder: string): Promise<void> => {
  const { file } = await obtainNatsServer(openCache(process.env, openHome(process.env)), process.env.PATH ?? '', () => undefined);
  const root = await mkdtemp(join(dirname(folder), 'nats-'));
  try {
    await chmod(root, 0o755);
    await cp(file, join(root, 'nats-server'), { dereference: true });
    await copyLibraries(file, root);
    await mkdir(join(root, 'data'));
    await pack(root, folder, 'ENTRYPOINT ["/nats-server"]\nCMD ["--config", "nats-server.conf"]\n');
  } finally {
    await rm(root, { recursive: true });
  }
};

/** What of `postgres` the compose file takes for granted: its user, password and database by the environment, data below /var/lib/postgresql, pg_isready. */
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
    for (const folder of ['bin', 'usr/bin', 'var/lib/postgresql']) await mkdir(join(root, folder), { recursive: true });
    // initdb asks its neighbours for their version with a shell.
    await cp('/bin/sh', join(root, 'bin/sh'), { dereference: true });
    await copyLibraries(join(native, 'bin/postgres'), root, native);
    await copyLibraries('/bin/sh', root);
    await writeFile(join(root, 'etc/passwd'), 'root:x:0:0::/:/bin/sh\npostgres:x:999:999::/var/lib/postgresql:/bin/sh\n');
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
