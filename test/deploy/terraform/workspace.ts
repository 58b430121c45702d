import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openCache, openHome } from '../../../deploy/local/home.ts';
import { runProgram, type Said } from '../../support/processes.ts';

/** OpenTofu and the provider, both compiled here, and folders in which they work. */

const release = 'v1.12.6';
const source = 'github.com/opentofu/opentofu';
const cache = openCache(process.env, openHome(process.env));
const tofu = join(cache, `opentofu-${release}`);
export const provider = join(import.meta.dirname, '../../../deploy/terraform');

export const go = (folder: string, ...given: readonly string[]): string =>
  execFileSync('nice', ['go', ...given], {
    cwd: folder,
    encoding: 'utf8',
    // Nothing outside may change what is compiled.
    env: { ...process.env, GOFLAGS: '-mod=readonly', GOWORK: 'off', CGO_ENABLED: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });

/** Why the provider cannot be tried; undefined where it can. */
export const lacking = (): string | undefined => {
  try {
    execFileSync('go', ['version']);
    return undefined;
  } catch {
    return 'Go is not here';
  }
};

/** In its own module, whose sums Go compares with what it fetched. */
const obtainTofu = (): void => {
  if (existsSync(tofu)) return;
  process.stderr.write(`OpenTofu ${release} is compiled, which takes some minutes\n`);
  const fetched: unknown = JSON.parse(
    go(cache, 'mod', 'download', '-json', `${source}@${release}`),
  );
  const folder = String(Object(fetched).Dir);
  const partial = `${tofu}.${process.pid}`;
  go(folder, 'build', '-p', '2', '-ldflags', '-s -w', '-o', partial, './cmd/tofu');
  renameSync(partial, tofu);
};

type Toolchain = { readonly settings: string; readonly remove: () => void };

/** The provider as a mirror has it, from which OpenTofu installs it as it would from a registry. */
export const buildProvider = (): Toolchain => {
  obtainTofu();
  const folder = mkdtempSync(join(tmpdir(), 'antipode-provider-'));
  const [system = '', machine = ''] = go(provider, 'env', 'GOOS', 'GOARCH').trim().split('\n');
  const place = join(
    folder,
    'mirror/antipode.example/antipode/antipode/1.0.0',
    `${system}_${machine}`,
  );
  mkdirSync(place, { recursive: true });
  const file = join(place, 'terraform-provider-antipode_v1.0.0');
  go(provider, 'build', '-p', '2', '-trimpath', '-o', file, '.');
  const settings = join(folder, 'settings.tfrc');
  writeFileSync(
    settings,
    `disable_checkpoint = true
provider_installation {
  filesystem_mirror { path = ${JSON.stringify(join(folder, 'mirror'))} }
}
`,
  );
  return { settings, remove: () => rmSync(folder, { recursive: true }) };
};

/** Resources by their kind and name, as a configuration in JSON has them. */
export type Resources = Readonly<Record<string, Readonly<Record<string, object>>>>;

export type Workspace = {
  readonly settings: string;
  readonly write: (resources: Resources, more?: object) => void;
  /** A configuration in words, as people write it. */
  readonly writeWords: (text: string) => void;
  readonly tofu: (...given: readonly string[]) => Promise<Said>;
  /** Fails with what OpenTofu says. */
  readonly apply: (...given: readonly string[]) => Promise<string>;
  /** Each address with what a plan would do to it; empty where nothing is to be done. */
  readonly plan: (...given: readonly string[]) => Promise<Readonly<Record<string, string>>>;
  /** Manages nothing any more; what there is stays. */
  readonly forget: () => Promise<void>;
  /** Of the state: the attributes of a resource by its address. */
  readonly stateOf: (address: string) => Promise<Readonly<Record<string, unknown>>>;
  readonly remove: () => void;
};

const requirements = {
  required_providers: { antipode: { source: 'antipode.example/antipode/antipode' } },
};

export const createWorkspace = async (
  { settings }: Toolchain,
  { url, token }: { readonly url: string; readonly token: string },
): Promise<Workspace> => {
  const folder = mkdtempSync(join(tmpdir(), 'antipode-terraform-'));
  const run = (...given: readonly string[]): Promise<Said> =>
    runProgram([tofu, `-chdir=${folder}`, ...given], {
      env: {
        PATH: process.env.PATH ?? '',
        HOME: folder,
        TF_CLI_CONFIG_FILE: settings,
        TF_IN_AUTOMATION: '1',
        ANTIPODE_URL: url,
        ANTIPODE_TOKEN: token,
        TF_VAR_checkout_token: 'a-token-of-the-checkout',
      },
    });
  const must = async (...given: readonly string[]): Promise<string> => {
    const { code, out, err } = await run(...given);
    if (code !== 0) throw new Error(`tofu ${given.join(' ')}: ${(err || out).slice(-4_000)}`);
    return out;
  };
  const [inWords, inJson] = [join(folder, 'main.tf'), join(folder, 'main.tf.json')];
  const write = (resources: Resources, more: object = {}): void => {
    rmSync(inWords, { force: true });
    writeFileSync(
      inJson,
      JSON.stringify(
        {
          terraform: requirements,
          provider: { antipode: {} },
          ...(Object.keys(resources).length > 0 && { resource: resources }),
          ...more,
        },
        null,
        1,
      ),
    );
  };
  write({});
  await must('init', '-no-color');
  return {
    settings,
    write,
    writeWords: (text) => {
      rmSync(inJson, { force: true });
      writeFileSync(inWords, text);
    },
    tofu: run,
    apply: (...given) => must('apply', '-auto-approve', '-no-color', ...given),
    plan: async (...given) => {
      const file = join(folder, 'plan');
      await must('plan', '-no-color', '-out', file, ...given);
      const shown: unknown = JSON.parse(await must('show', '-json', file));
      return changesOf(shown);
    },
    forget: async () => {
      const known = (await must('state', 'list')).trim().split('\n');
      await must('state', 'rm', ...known);
    },
    stateOf: async (address) => {
      await Promise.resolve();
      const state: unknown = JSON.parse(readFileSync(join(folder, 'terraform.tfstate'), 'utf8'));
      return attributesOf(state, address);
    },
    remove: () => rmSync(folder, { recursive: true }),
  };
};

type Change = {
  readonly address: string;
  readonly change: { readonly actions: readonly string[]; readonly importing?: unknown };
};

const changesOf = (shown: unknown): Readonly<Record<string, string>> => {
  const changes: readonly Change[] = Object(shown).resource_changes ?? [];
  return Object.fromEntries(
    changes
      .map(({ address, change }) => [address, change.actions.join('/')] as const)
      .filter(([, actions]) => actions !== 'no-op'),
  );
};

type Kept = {
  readonly type: string;
  readonly name: string;
  readonly instances: readonly { readonly attributes: Readonly<Record<string, unknown>> }[];
};

const attributesOf = (state: unknown, address: string): Readonly<Record<string, unknown>> => {
  const resources: readonly Kept[] = Object(state).resources ?? [];
  const found = resources.find(({ type, name }) => `${type}.${name}` === address)?.instances[0];
  if (!found) throw new Error(`the state has no ${address}`);
  return found.attributes;
};
