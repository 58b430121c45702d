import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

/** The walls of the house, held by reading every import of every file, types included. */

const root = resolve(import.meta.dirname, '..');
const ours = ['shared', 'coordinator', 'probe', 'deploy', 'test'];

/** What every room of a side with long-lived state may import. */
const coordinatorGround = ['coordinator/store', 'coordinator/domain', 'shared/actor', 'shared/bus', 'shared/checks', 'shared/base'];
const faceGround = ['coordinator/operations', 'coordinator/access', 'shared/api', 'shared/base'];
const probeGround = ['shared/actor', 'shared/bus', 'shared/checks', 'shared/base'];

/** Who may import whom, besides itself. The longest room that a file lies in counts. */
const walls: Readonly<Record<string, readonly string[]>> = {
  'shared/base': [],
  'shared/checks': ['shared/base'],
  'shared/actor': ['shared/base'],
  'shared/bus': ['shared/base', 'shared/checks'],
  'shared/api': ['shared/base', 'shared/checks'],
  // What both forms of assistants share: which operations are tools, and how answers are told.
  'shared/assistants': ['shared/api', 'shared/base'],
  'shared/client': ['shared/api', 'shared/assistants', 'shared/base'],
  'coordinator/domain': ['shared/base', 'shared/checks'],
  'coordinator/store': ['coordinator/domain', 'shared/base', 'shared/checks'],
  'coordinator/access': ['coordinator/store', 'coordinator/domain', 'shared/base'],
  'coordinator/outgoing': ['shared/base'], // The one way to hosts of others.
  'coordinator/operations': [
    ...['coordinator/access', 'coordinator/outgoing', 'coordinator/store', 'coordinator/domain'],
    ...['shared/api', 'shared/checks', 'shared/base'],
  ],
  'coordinator/house': [...coordinatorGround],
  // Writes the mails of accounts, and sends whatever else goes out by mail.
  'coordinator/mail': ['coordinator/access', 'coordinator/store', 'coordinator/domain', 'shared/actor', 'shared/base'],
  'coordinator/alerts': [...coordinatorGround, 'coordinator/house', 'coordinator/mail', 'coordinator/outgoing'],
  'coordinator/alerts/kinds': ['coordinator/alerts/alert-told.ts', 'shared/base'],
  'coordinator/probes': [...coordinatorGround, 'coordinator/house'],
  'coordinator/metrics': [...coordinatorGround, 'coordinator/house', 'coordinator/probes'],
  'coordinator/partition': [...coordinatorGround, 'coordinator/house', 'coordinator/probes', 'coordinator/alerts'],
  'coordinator/pings': [...coordinatorGround, 'coordinator/house', 'coordinator/probes', 'coordinator/partition'],
  // What the world reads, from memory.
  'coordinator/publishing': [
    'coordinator/access',
    'coordinator/outgoing',
    'coordinator/store',
    'coordinator/domain',
    'shared/actor',
    'shared/base',
  ],
  'coordinator/faces': [...faceGround, 'coordinator/publishing/publishing-own-record.ts'],
  // Its page shows each operation as a command as well, and the numbers of each plan; its document what each kind of channel takes.
  'coordinator/faces/rest': [
    ...['coordinator/domain/plan-limits.ts', 'coordinator/alerts/alert-channel-kinds.ts', 'coordinator/alerts/kinds/channel-kind.ts'],
    ...['shared/client/commands.ts', 'shared/client/help.ts', ...faceGround],
  ],
  // Strangers see nothing of the account's pages: no operation, no session; only how HTML is made, and what reads a cookie and an origin.
  'coordinator/faces/status': [
    ...['coordinator/faces/web/web-html.ts', 'coordinator/faces/web/web-cookies.ts', 'coordinator/faces/web/web-same-origin.ts'],
    ...['coordinator/publishing', 'coordinator/domain/public-page.ts', 'coordinator/domain/status-page.ts', 'shared/base'],
  ],
  // Assistants get from REST only how a body is bounded and how a failure is answered, and from signing in what a challenge says.
  'coordinator/faces/assistant': [
    ...['coordinator/faces/rest/rest-body.ts', 'coordinator/faces/rest/rest-errors.ts', 'coordinator/faces/rest/rest-server-options.ts'],
    ...['coordinator/faces/oauth/oauth-resource.ts', 'shared/assistants', ...faceGround],
  ],
  'coordinator/backups': ['coordinator/store', 'shared/base'],
  // A bus is made before there is a house.
  'coordinator/operator': ['coordinator/operations', 'coordinator/access', 'shared/bus/setup.ts', 'shared/api', 'shared/base'],
  'probe/checks': ['shared/checks', 'shared/base'],
  'probe/disk': [...probeGround],
  'probe/presence': [...probeGround, 'probe/disk'],
  'probe/spool': [...probeGround, 'probe/disk', 'probe/presence'],
  'probe/schedule': [...probeGround, 'probe/checks', 'probe/disk', 'probe/presence'],
  'probe/joining': [...probeGround, 'probe/disk', 'probe/checks', 'probe/presence'],
  'probe/pings': [...probeGround, 'probe/disk', 'probe/presence'],
};

/** What stands directly in a side's folder builds that whole side, and nobody imports it. */
const sides: Readonly<Record<string, readonly string[]>> = {
  coordinator: ['coordinator', 'shared'],
  probe: ['probe', 'shared'],
};

/** Pure rooms: no clock, no chance, no input or output, no waiting. */
const pureRooms = ['shared/checks', 'coordinator/domain', 'coordinator/alerts/kinds'];

/** Files over 600 lines, each with the reason why it is one subject all the same. */
const longFiles: Readonly<Record<string, string>> = {};

const mostLines = 600;

const filesBelow = (folder: string): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === 'node_modules' || entry.name === 'generated' ? [] : filesBelow(path);
    return /\.(ts|mjs)$/.test(entry.name) ? [path] : [];
  });

const files = ours.flatMap(filesBelow);
const source = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));

const importsOf = (file: string): string[] =>
  [...(source.get(file) ?? '').matchAll(/(?:from\s+|import\s*\(\s*|^\s*import\s+)'(\.[^']+)'/gm)].map(([, path]) =>
    relative(root, resolve(root, dirname(file), path ?? '')),
  );

const roomOf = (file: string): string | undefined =>
  Object.keys(walls)
    .filter((room) => file.startsWith(`${room}/`))
    .toSorted((a, b) => b.length - a.length)[0];

/** A file without its comments. */
const code = (file: string): string => (source.get(file) ?? '').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');

const isInside = (file: string, room: string): boolean => file === room || file.startsWith(`${room}/`);

describe('the house', () => {
  test('has the rooms that the walls name, and no room without walls', () => {
    const strangers = files.filter(
      (file) => !roomOf(file) && !isInside(file, 'deploy') && !isInside(file, 'test') && !/^(coordinator|probe)\/[a-z-]+\.ts$/.test(file),
    );
    expect(strangers).toEqual([]);
  });

  test('imports only through the doors that architecture.md draws', () => {
    const breaches: string[] = [];
    for (const file of files) {
      if (isInside(file, 'deploy') || isInside(file, 'test')) continue;
      const room = roomOf(file);
      const allowed = room ? [room, ...(walls[room] ?? [])] : (sides[file.split('/')[0] ?? ''] ?? []);
      for (const target of importsOf(file)) {
        // The one thing at the top that code reads is the manifest, for its version.
        const isManifest = file === 'shared/base/process.ts' && target === 'package.json';
        if (!isManifest && !allowed.some((door) => isInside(target, door))) breaches.push(`${file} imports ${target}`);
      }
    }
    expect(breaches).toEqual([]);
  });

  test('keeps the core out of the oracles that judge it: types alone, and the sum that they hold their own against', () => {
    const importsCode = (file: string): string[] =>
      [...(source.get(file) ?? '').matchAll(/^(?:import|export) (?!type )[^;']*from '(\.[^']+)'/gm)].map(([, path]) =>
        relative(root, resolve(root, dirname(file), path ?? '')),
      );
    const oracles = files.filter((file) => /^test\/simulation\/[a-z-]*oracle[a-z-]*\.ts$/.test(file));
    const reached = new Set(oracles);
    for (const file of reached) for (const target of importsCode(file)) if (isInside(target, 'test')) reached.add(target);
    const foreign = [...reached].flatMap((file) => importsCode(file).filter((target) => !isInside(target, 'test')));
    expect(oracles.length).toBeGreaterThan(5);
    expect(foreign).toEqual(['coordinator/domain/uptime.ts']);
  });

  test('lets nobody but main and the starters import an app or a main', () => {
    const breaches = files
      .filter((file) => !isInside(file, 'test') && !isInside(file, 'deploy'))
      .flatMap((file) =>
        importsOf(file)
          .filter((target) => /^(coordinator|probe)\/(app|main)\.ts$/.test(target) && !/^(coordinator|probe)\/[a-z-]+\.ts$/.test(file))
          .map((target) => `${file} imports ${target}`),
      );
    expect(breaches).toEqual([]);
  });

  test('keeps one operation from importing another', () => {
    const handlers = new Set(
      ['operation-handlers.ts', 'operation-handlers-of-the-operator.ts']
        .flatMap((table) => importsOf(`coordinator/operations/${table}`))
        .filter((file) => /^coordinator\/operations\/[^/]+\//.test(file)),
    );
    const breaches = [...handlers].flatMap((file) =>
      importsOf(file)
        .filter((target) => handlers.has(target) && target !== file)
        .map((target) => `${file} imports ${target}`),
    );
    expect(breaches).toEqual([]);
  });

  test('has no circles, types included', () => {
    const state = new Map<string, 'open' | 'done'>();
    const circles: string[] = [];
    const visit = (file: string, path: readonly string[]): void => {
      if (state.get(file) === 'done') return;
      if (state.get(file) === 'open') {
        circles.push([...path.slice(path.indexOf(file)), file].join(' → '));
        return;
      }
      state.set(file, 'open');
      for (const target of importsOf(file)) if (source.has(target)) visit(target, [...path, file]);
      state.set(file, 'done');
    };
    for (const file of files) visit(file, []);
    expect(circles).toEqual([]);
  });

  test('imports files that exist', () => {
    const missing = files.flatMap((file) =>
      importsOf(file)
        .filter((target) => target.endsWith('.ts') && !target.includes('/generated/') && !existsSync(join(root, target)))
        .map((target) => `${file} imports ${target}`),
    );
    expect(missing).toEqual([]);
  });

  test(`has no file over ${mostLines} lines without a reason, and no reason without need`, () => {
    const long = files.filter((file) => (source.get(file) ?? '').split('\n').length - 1 > mostLines);
    expect(long.toSorted()).toEqual(Object.keys(longFiles).toSorted());
  });

  test('keeps clock, chance, input, output and waiting out of the pure rooms', () => {
    const impure =
      /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\bperformance\.now\(|\bsetTimeout\(|\bawait\b|\bPromise\b|\bprocess\.env\b|'node:(fs|net|http|https|tls|dns|child_process)/;
    const breaches = files.filter((file) => pureRooms.some((room) => isInside(file, room))).filter((file) => impure.test(code(file)));
    expect(breaches).toEqual([]);
  });

  test('never imports node:http, whose namespace loads the whole of undici in every process; process.getBuiltinModule gives the same', () => {
    const breaches = files.filter((file) => !isInside(file, 'test') && /^import (?!type )[^;]*'node:http'/m.test(source.get(file) ?? ''));
    expect(breaches).toEqual([]);
  });

  test('the coordinator reaches addresses of others through one connector alone', () => {
    const calls =
      /\bfetch\(|\b(?:http|https|net|tls)\.(?:request|get|connect|createConnection)\(|'undici'|getBuiltinModule\('node:(?:https|net|tls)'\)|\btellHeartbeat\(/;
    const callers = files.filter((file) => isInside(file, 'coordinator') && !file.includes('/assets/') && calls.test(code(file)));
    const names = callers.map((file) => file.split('/').at(-1));
    // `backup-heartbeat.ts`: the operator's own heartbeat, told by a command of the operator's.
    expect(names).toEqual(['alert-sender.ts', 'backup-heartbeat.ts', 'outgoing-client-documents.ts', 'outgoing-connection.ts']);
  });

  test('has no attic', () => {
    expect(files.filter((file) => /(^|\/)(utils?|helpers?|lib|common|misc)(\/|\.ts$)/.test(file))).toEqual([]);
  });

  test('hides no doubt about a type', () => {
    const doubt = /(\bas|\w:|<|,) any\b\s*[;,)\]}>.=[|&]|<any\b|as unknown as/;
    const silenced = /@ts-(ignore|nocheck)\b/;
    // A test of types may expect an error; the compiler complains when there is none.
    const hides = (file: string) =>
      doubt.test(code(file)) ||
      silenced.test(source.get(file) ?? '') ||
      (!isInside(file, 'test') && (source.get(file) ?? '').includes('@ts-expect-error'));
    expect(files.filter((file) => file !== 'test/architecture.test.ts' && hides(file))).toEqual([]);
  });

  test('reads the environment in no place but the roots', () => {
    const readers = files.filter((file) => !isInside(file, 'test') && /\bprocess\.env\b/.test(source.get(file) ?? ''));
    const allowed = /^(coordinator|probe)\/main\.ts$|^probe\/program\.ts$|^deploy\/|^shared\/client\/[a-z-]+\.ts$/;
    expect(readers.filter((file) => !allowed.test(file))).toEqual([]);
  });

  test('holds at its top only what belongs there', () => {
    const allowed = new Set([
      ...['package.json', 'package-lock.json', 'tsconfig.json', 'biome.json', 'vitest.config.ts', 'README.md', 'SECURITY.md', 'LICENSE'],
      ...['.npmrc', '.gitignore', '.editorconfig', '.git', '.github', '.ci', 'node_modules', '.antipode', '.cache', ...ours],
    ]);
    expect(readdirSync(root).filter((entry) => !allowed.has(entry))).toEqual([]);
  });
});
