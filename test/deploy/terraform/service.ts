import { execFileSync } from 'node:child_process';
import { createNetwork, type Network } from '../../support/network.ts';
import { things } from './things.ts';
import {
  buildProvider,
  createWorkspace,
  lacking,
  type Resources,
  type Workspace,
} from './workspace.ts';

/** A whole service with a workspace that applies to it, and the API as someone else uses it. */

/** Said once where the provider cannot be tried. */
export const missing = lacking();
if (missing !== undefined)
  process.stderr.write(`SKIPPED: the Terraform provider was not tried: ${missing}\n`);

export type Service = {
  readonly network: Network;
  readonly url: string;
  readonly workspace: Workspace;
  readonly first: Resources;
  readonly second: Resources;
  /** A call by hand; what is answered. */
  readonly call: (method: string, path: string, body?: object) => Promise<unknown>;
  /** All objects of a list, each as it is answered by itself where it can be. */
  readonly all: (path: string) => Promise<readonly Answer[]>;
  readonly close: () => Promise<void>;
};

export type Answer = { readonly id: string } & Readonly<Record<string, unknown>>;

export const lists = [
  'groups',
  'monitors',
  'channels',
  'maintenance',
  'status-pages',
  'probes/invitations',
  'ping-keys',
] as const;

export const startService = async (): Promise<Service> => {
  const toolchain = buildProvider();
  installPing();
  const network = await createNetwork();
  const { owner } = network.house;
  await network.sql`update users set email_verified_at = now() where id = ${owner.user}`;
  const { url } = await network.startCoordinatorProcess({ RATE_LIMIT_PER_MINUTE: '100000' });
  await network.addProbe('Europe');
  await network.addProbe('Asia');
  const workspace = await createWorkspace(toolchain, { url, token: owner.readWrite });
  const call: Service['call'] = async (method, path, body) => {
    const response = await fetch(`${url}/api/v1/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${owner.readWrite}`,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? null : JSON.parse(text);
  };
  return {
    network,
    url,
    workspace,
    ...things(owner.email),
    call,
    all: async (path) => {
      const { items }: { readonly items: readonly Answer[] } = Object(
        await call('GET', `${path}?limit=200`),
      );
      if (path !== 'status-pages') return items;
      return Promise.all(items.map(async ({ id }) => Object(await call('GET', `${path}/${id}`))));
    },
    close: async () => {
      workspace.remove();
      await network.close();
      toolchain.remove();
    },
  };
};

/**
 * Without it no probe could check what is pinged, and the service refuses such a monitor. Probes look
 * for it where the system has its programs, and nowhere else.
 */
function installPing(): void {
  if (process.getuid?.() !== 0) return;
  execFileSync('apt-get', ['install', '--yes', '--quiet', 'iputils-ping'], { stdio: 'ignore' });
}
