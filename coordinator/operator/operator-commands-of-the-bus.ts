import { lstat, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { UsageFault } from '../../shared/base/env.ts';
import { codeOf } from '../../shared/base/errors.ts';
import { newSetupKeys, type SetupFile, type SetupKeys, setUpBus, setupKeysIn } from '../../shared/bus/setup.ts';
import type { Given, LoneCommand } from './operator-command.ts';
import { required } from './operator-command-parts.ts';

/** The commands that make a bus. They need no house: there is none yet. */

const list = (text: string | undefined): readonly string[] => (text ?? '').split(',').flatMap((one) => one.trim() || []);

const hostAndPort = /^(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

const addressesOf = (given: Given, count: number): readonly string[] => {
  const addresses = list(given.get('url'));
  for (const address of addresses)
    if (!address.startsWith('tls://') || !hostAndPort.test(address.slice('tls://'.length)))
      throw new UsageFault(`--url: "${address}" must be such as tls://bus.example.org:443; a bus in the open has TLS.`);
  if (addresses.length !== count)
    throw new UsageFault(
      `--url names ${addresses.length} of ${count} machines; name each, with commas, such as tls://bus-1.example.org:443,tls://bus-2…`,
    );
  return addresses.map((address) => (/:\d+$/.test(address) ? address : `${address}:443`));
};

const routesOf = (given: Given, addresses: readonly string[]): readonly string[] => {
  const named = list(given.get('routes'));
  if (named.length === 0) return addresses.map((address) => address.replace('tls://', '').replace(/:\d+$/, ':6222'));
  const wrong = named.find((route) => !hostAndPort.test(route));
  if (wrong !== undefined) throw new UsageFault(`--routes: "${wrong}" must be such as 10.0.0.1:6222.`);
  if (named.length !== addresses.length)
    throw new UsageFault(`--routes names ${named.length} machines and --url ${addresses.length}; name each in both.`);
  return named.map((route) => (/:\d+$/.test(route) ? route : `${route}:6222`));
};

/** Keys that were lost under a newer bus's could not be had again: what is there is never written over. */
const write = async (folder: string, files: readonly SetupFile[]): Promise<void> => {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const { file } of files) {
    const isThere = await lstat(join(folder, file)).then(
      () => true,
      (error: unknown) => {
        if (codeOf(error) === 'ENOENT') return false;
        throw error;
      },
    );
    if (isThere) throw new UsageFault(`--folder: ${join(folder, file)} is there already; this makes a new bus, so name an empty folder.`);
  }
  for (const { file, text } of files) await writeFile(join(folder, file), text, { mode: 0o600, flag: 'wx' });
};

/** Each behind its name, as it is: to be cut apart at these lines. */
const asOne = (files: readonly SetupFile[]): string => files.map(({ file, text }) => `# ======== ${file}\n${text}`).join('\n');

const keysIn = async (file: string): Promise<SetupKeys> => {
  const settings = parseEnv(await readFile(file, 'utf8'));
  try {
    return setupKeysIn(settings);
  } catch (error) {
    throw new UsageFault(`--keys: ${file} does not hold the keys of a bus. ${error instanceof Error ? error.message : String(error)}`);
  }
};

const init: LoneCommand['alone'] = async (given) => {
  const nodes = given.get('nodes') ?? '1';
  if (nodes !== '1' && nodes !== '3') throw new UsageFault('--nodes must be 1 or 3: two machines decide nothing when one is gone.');
  const addresses = addressesOf(given, Number(nodes));
  const data = given.get('data') ?? '/var/lib/nats';
  const plan = {
    ...{ addresses, data, routes: routesOf(given, addresses), listen: given.get('listen') ?? '0.0.0.0' },
    certificate: given.get('certificate') ?? '/etc/nats/certificate.pem',
    key: given.get('key') ?? '/etc/nats/key.pem',
  };
  const kept = given.get('keys');
  const files = setUpBus(plan, kept === undefined ? newSetupKeys(Date.now()) : await keysIn(kept));
  const folder = given.get('folder');
  if (folder === undefined) return { result: { files }, text: () => asOne(files) };
  await write(folder, files);
  const next = 'Bring each nats-N.conf to its machine, fill in coordinator.env, and keep a copy of that where the machines are not.';
  return { result: { folder, files: files.map(({ file }) => file), next } };
};

export const commandsOfTheBus: readonly LoneCommand[] = [
  {
    words: ['bus', 'init'],
    what: "Make a bus of your own: nats-server's configuration for each of its machines, and the coordinators' settings",
    flags: {
      url: required('where coordinators and probes reach each machine, such as tls://bus.example.org:443'),
      nodes: { what: 'how many machines: 1 (default) or 3' },
      routes: { what: 'where three machines reach one another, such as 10.0.0.1,10.0.0.2,10.0.0.3; default the hosts of --url' },
      listen: { what: 'the address that each takes clients on; default 0.0.0.0' },
      data: { what: 'the folder of its data; default /var/lib/nats' },
      certificate: { what: 'its certificate; default /etc/nats/certificate.pem' },
      key: { what: "the certificate's key; default /etc/nats/key.pem" },
      keys: { what: 'make no new bus, but write this one down again: its coordinator.env, or what "keys import" gave back' },
      folder: { what: 'write the files here, for nobody else to read; default print them' },
    },
    alone: init,
  },
];
