import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { insertProbe } from '../../../coordinator/probes/queries.ts';
import { projectFolder } from '../../../deploy/node/places.mjs';
import type { Continent } from '../../../shared/base/continents.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { kinds } from '../../../shared/checks/kinds.ts';
import {
  createHome,
  type Local,
  removeHome,
  type Service,
  startService,
  stopService,
} from '../../deploy/service.ts';
import { openServed, type Served } from '../../support/api.ts';
import { portOf } from '../../support/connections.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';
import { runProgram } from '../../support/processes.ts';
import { hasBinaries } from '../../support/services.ts';
import { commandsOf, typedElsewhere, typedPages } from './commands.ts';

/**
 * The commands of the documentation, typed as they stand there. Only names that stand for the
 * reader's own are replaced: addresses, keys and folders.
 */

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'antipode-typed-'));
  await mkdir(join(folder, '.local/bin'), { recursive: true });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A plan with something to do says so. */
const codeOf = (command: string, page: string): number =>
  command.startsWith('antipode plan') && page === 'moving-in' ? 2 : 0;

const isHere = (command: string): boolean =>
  !typedElsewhere.some(([pattern]) => pattern.test(command));

/** `stdin`: what is typed when a command asks. */
const type = async (
  page: string,
  command: string,
  env: Readonly<Record<string, string>>,
  stdin = '',
): Promise<string> => {
  const script = `cd '${command.startsWith('np') ? projectFolder : folder}'\n${
    // It asks, as it does at a terminal.
    command.startsWith('antipode apply')
      ? `script --quiet --return --command '${command}' /dev/null`
      : command
  }`;
  const said = await runProgram(['bash', '-eo', 'pipefail', '-c', script], {
    env: { HOME: folder, NO_COLOR: '1', ...env },
    input: stdin,
  });
  expect(said.code, `${page}: ${command}\n${said.out}${said.err}`).toBe(codeOf(command, page));
  return said.out;
};

/** The monitor that other pages speak of. */
const shop = (env: Readonly<Record<string, string>>): Promise<string> =>
  type('first-monitor', commandsOf('first-monitor')[0] ?? '', env);

describe('where the API is enough', () => {
  let served: Served;
  let house: TestOrganisation;
  let env: Readonly<Record<string, string>>;

  beforeAll(async () => {
    served = await openServed();
    const program = join(folder, 'bin/antipode');
    await mkdir(join(folder, 'bin'));
    await writeFile(
      program,
      `#!/bin/sh\nexec '${process.execPath}' '${served.files['antipode.mjs']}' "$@"\n`,
    );
    await chmod(program, 0o755);
  });
  afterAll(() => served.close());

  /** What the page takes as done, by the pages before it. */
  const before: Readonly<Record<string, () => Promise<unknown>>> = {
    'status-pages': () => shop(env),
    // Some types are made by probes that can check them alone.
    'monitor-types': async () => {
      await served.api.sql.begin((sql) =>
        insertProbe(sql, newId(), {
          name: 'Frankfurt',
          continent: 'Europe',
          organisation: null,
          key: newId(),
        }),
      );
      await served.api.sql`update probes set kinds = ${[...kinds]}`;
    },
    'moving-in': async () => {
      const database = new DatabaseSync(join(folder, 'kuma.db'));
      database.exec(`create table monitor (id integer, name text, active integer, type text, url text, interval integer);
        insert into monitor values (1, 'Shop', 1, 'http', 'https://shop.example/', 60)`);
      database.close();
      await rm(join(folder, 'antipode.yaml'), { force: true });
    },
  };

  test.each(typedPages.api)('"%s" can be typed', async (page) => {
    house = await createTestOrganisation(served.api.sql, { plan: 'business' });
    await served.api.sql`update users set email_verified_at = now()`;
    env = {
      PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
      ANTIPODE_URL: served.url,
      ANTIPODE_TOKEN: house.admin.readWrite,
    };
    await before[page]?.();
    for (const command of commandsOf(page).filter(isHere)) {
      if (command.startsWith('antipode places update')) await join2();
      await type(page, command, env, command.startsWith('antipode apply') ? 'y\n' : '');
    }
  });

  /** The hosts of both invitations have typed their lines, the second first. */
  const join2 = async (): Promise<void> => {
    const rows = await served.api.sql<{ name: string; continent: Continent; place: string }[]>`
      select name, continent, place_id as place from probe_invitations
      where organisation_id = ${house.organisation} order by key`;
    expect(rows.map(({ name }) => name)).toEqual(['Office 1', 'Office 2']);
    for (const row of rows.toReversed())
      await served.api.sql.begin((sql) =>
        insertProbe(sql, newId(), { ...row, organisation: house.organisation, key: newId() }),
      );
    await served.api.sql`update probes set kinds = ${['https']}`;
  };
});

describe.runIf(hasBinaries())('where a service runs', () => {
  let home: string;
  let service: Service;
  let local: Local;
  let reader: Server;
  let own: string;

  beforeAll(async () => {
    home = await createHome();
    service = startService(home, undefined, { ALERT_ALLOW_CIDRS: '127.0.0.1' });
    local = await service.ready;
    // The reader's shop, and the program that gets events.
    reader = createServer((request, answer) => {
      let body = '';
      request.on('data', (part) => {
        body += String(part);
      });
      request.on('end', () => answer.end(request.method === 'POST' ? challengeIn(body) : 'up'));
    });
    const port = await portOf(reader);
    own = `http://127.0.0.1:${port}`;
    await writeFile(join(folder, 'passphrase'), 'five words that nobody guesses\n');
    await writeFile(join(folder, 'backup-all'), '#!/bin/sh\necho done\n');
    await chmod(join(folder, 'backup-all'), 0o755);
  }, 150_000);
  afterAll(async () => {
    reader.close();
    await stopService(service);
    await removeHome(home);
  });

  const challengeIn = (body: string): string =>
    z.object({ data: z.object({ challenge: z.string() }) }).safeParse(JSON.parse(body)).data?.data
      .challenge ?? '';

  const call = (method: string, path: string): Promise<Response> =>
    fetch(`${local.base_url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${local.api_token}` },
    });
  const monitors = async () =>
    z
      .object({ items: z.array(z.object({ id: z.string(), name: z.string() })) })
      .parse(await (await call('GET', '/monitors')).json()).items;

  /** The reader's own, in place of the names that stand for it. */
  const asRead = async (command: string): Promise<string> => {
    const replaced: readonly (readonly [RegExp | string, string])[] = [
      ['/usr/local/bin/backup --all', join(folder, 'backup-all')],
      ['https://antipode.example', local.base_url],
      ['https://shop.example', own],
      ['https://hooks.example.com', own],
      ['https://ntfy.sh', own],
      [/(?<=--(?:folder|file|passphrase-file) |npx antipode backup )(?=\w)/g, `${folder}/`],
    ];
    const text = replaced.reduce((text, [name, its]) => text.replaceAll(name, its), command);
    return text.includes('/beat/KEY') ? text.replace(/\S+\/beat\/KEY/, await beat()) : text;
  };
  const beat = async (): Promise<string> => {
    const [job] = (await monitors()).filter(({ name }) => name === 'Backup');
    const said = await type(
      'heartbeats',
      `npm run --silent operator -- monitor beat-address --id ${job?.id} --json`,
      environment(),
    );
    const [address = ''] = /http\S+\/beat\/[^"\s]+/.exec(said) ?? [];
    return address;
  };
  const environment = () => ({
    PATH: `${join(folder, '.local/bin')}:${process.env.PATH}`,
    ANTIPODE_HOME: home,
    ANTIPODE_URL: local.base_url,
    ANTIPODE_TOKEN: local.api_token,
  });

  test('the client can be installed', async () => {
    for (const command of commandsOf('command-line').slice(0, 3))
      await type('command-line', await asRead(command), environment());
  });

  test.each(typedPages.service)('"%s" can be typed', { timeout: 120_000 }, async (page) => {
    for (const { id } of await monitors()) await call('DELETE', `/monitors/${id}`);
    if (page === 'alerts') await shop(environment());
    for (const command of commandsOf(page).filter(isHere)) {
      if (command.includes(' bus init '))
        await rm(join(folder, 'bus'), { recursive: true, force: true });
      await type(page, await asRead(command), environment(), `${local.api_token}\n`);
    }
  });
});
