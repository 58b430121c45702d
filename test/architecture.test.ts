import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

/** Who may import whom, by room and by role, held by reading every import of every file. */

const root = resolve(import.meta.dirname, '..');
const ours = ['shared', 'coordinator', 'probe', 'deploy', 'test'];

/**
 * Rooms of the two sides and what is shared: who may import whom, besides itself. The longest room
 * that a file lies in counts.
 */
const rooms: Readonly<Record<string, readonly string[]>> = {
  'shared/base': [],
  'shared/checks': ['shared/base'],
  'shared/actor': ['shared/base'],
  'shared/bus': ['shared/base', 'shared/checks'],
  'shared/api': ['shared/base', 'shared/checks'],
  'shared/assistants': ['shared/api', 'shared/base'],
  'shared/imports': ['shared/api', 'shared/checks', 'shared/base'],
  'shared/client': ['shared/api', 'shared/assistants', 'shared/imports', 'shared/base'],
  'probe/checks': ['shared/checks', 'shared/base'],
  'probe/disk': ['shared/bus', 'shared/base'],
  'probe/presence': [
    'probe/checks',
    'probe/disk',
    'shared/actor',
    'shared/bus',
    'shared/checks',
    'shared/base',
  ],
  'probe/spool': [
    'probe/disk',
    'probe/presence',
    'shared/actor',
    'shared/bus',
    'shared/checks',
    'shared/base',
  ],
  'probe/schedule': [
    'probe/checks',
    'probe/disk',
    'probe/presence',
    'shared/bus',
    'shared/checks',
    'shared/base',
  ],
  'probe/joining': [
    'probe/checks',
    'probe/disk',
    'probe/presence',
    'shared/bus',
    'shared/checks',
    'shared/base',
  ],
  'probe/pings': [
    'probe/disk',
    'probe/presence',
    'shared/actor',
    'shared/bus',
    'shared/checks',
    'shared/base',
  ],
  coordinator: ['shared'],
};

/**
 * Rooms of the coordinator that no subject owns, and what of the coordinator they may import,
 * besides themselves. Types may be named anywhere: a kit is handed what it works on. The few values
 * named by file are the debts that remain.
 */
const kits: Readonly<Record<string, readonly string[]>> = {
  'coordinator/core': [],
  'coordinator/database': [],
  'coordinator/secrets': ['coordinator/database'],
  'coordinator/outbound': [],
  'coordinator/gate': ['coordinator/database', 'coordinator/secrets'],
  'coordinator/web': ['coordinator/gate'],
  'coordinator/api': [
    'coordinator/gate',
    'coordinator/monitors/contract.ts',
    'coordinator/notifications/kinds/index.ts',
  ],
  'coordinator/engine': [
    'coordinator/core',
    'coordinator/database',
    'coordinator/gate/cursors.ts',
    'coordinator/health',
    'coordinator/incidents/writes.ts',
    'coordinator/monitors/dependency-queries.ts',
    'coordinator/causes/writes.ts',
    'coordinator/warnings/writes.ts',
    'coordinator/notifications/release.ts',
    'coordinator/assignments',
    'coordinator/probes',
    'coordinator/results',
  ],
  'coordinator/deliveries': ['coordinator/database'],
  'coordinator/results': ['coordinator/database', 'coordinator/probes/places.ts'],
};

/** Pure rooms: no clock, no chance, no input or output, no waiting. */
const pureRooms = [
  'shared/checks',
  'shared/imports',
  'coordinator/core',
  'coordinator/notifications/kinds',
];

/** The files in them that ask others: what to reach is handed in. */
const reaching = new Set(['shared/imports/download.ts']);

/** Models of subjects that are pure as well. */
const pureFiles = new Set([
  'coordinator/causes/shares.ts',
  'coordinator/deliveries/model.ts',
  'coordinator/groups/model.ts',
  'coordinator/maintenance/recurrence.ts',
  'coordinator/maintenance/zones.ts',
  'coordinator/maintenance/window.ts',
  'coordinator/maintenance/words.ts',
  'coordinator/monitors/dependencies.ts',
  'coordinator/monitors/locations.ts',
  'coordinator/monitors/model.ts',
  'coordinator/monitors/status.ts',
  'coordinator/notifications/hours.ts',
  'coordinator/notifications/policy.ts',
  'coordinator/notifications/story.ts',
  'coordinator/objectives/burn.ts',
  'coordinator/organisations/model.ts',
  'coordinator/gate/caller.ts',
  'coordinator/gate/plans.ts',
  'coordinator/providers/group-roles.ts',
  'coordinator/registrations/model.ts',
  'coordinator/results/check.ts',
  'coordinator/results/chunk.ts',
  'coordinator/results/hours.ts',
  'coordinator/results/packed-batch.ts',
  'coordinator/results/sketch.ts',
  'coordinator/results/summary.ts',
  'coordinator/results/varints.ts',
  'coordinator/status-pages/model.ts',
  'coordinator/status-pages/public/snapshot.ts',
]);

/** Files that are longer, each with the reason why it is one subject all the same. */
const longFiles: Readonly<Record<string, string>> = {
  'coordinator/notifications/compose.ts': 'a round reads, decides and writes the same steps',
};

const maxLines = 640;
/** Subjects that import each other, such as monitors and their incidents. */
const maxPairs = 20;

const filesBelow = (folder: string): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory())
      return entry.name === 'node_modules' || entry.name === 'generated' ? [] : filesBelow(path);
    return /\.(ts|mjs)$/.test(entry.name) ? [path] : [];
  });

const files = ours.flatMap(filesBelow);
const source = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));

const importsOf = (file: string): string[] =>
  [
    ...(source.get(file) ?? '').matchAll(/(?:from\s+|import\s*\(\s*|^\s*import\s+)'(\.[^']+)'/gm),
  ].map(([, path]) => relative(root, resolve(root, dirname(file), path ?? '')));

/** What a file imports besides types. */
const valuesOf = (file: string): string[] =>
  [
    ...(source.get(file) ?? '').matchAll(
      /(?:^(?:import|export)\s+(?!type\b)[^;']*?from\s+|import\s*\(\s*|^import\s+)'(\.[^']+)'/gm,
    ),
  ].map(([, path]) => relative(root, resolve(root, dirname(file), path ?? '')));

/** A file without its comments. */
const code = (file: string): string =>
  (source.get(file) ?? '').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');

const isInside = (file: string, room: string): boolean =>
  file === room || file.startsWith(`${room}/`);

const longest = (file: string, among: Readonly<Record<string, unknown>>): string | undefined =>
  Object.keys(among)
    .filter((room) => file.startsWith(`${room}/`))
    .toSorted((a, b) => b.length - a.length)[0];

const registries = ['coordinator/operations.ts', 'coordinator/pages.ts'];
const operationFiles = new Set(
  importsOf('coordinator/operations.ts').filter((file) => /^coordinator\/[^/]+\//.test(file)),
);

type Floor = 'model' | 'contract' | 'queries' | 'operations' | 'pages' | 'chapter';

/** The role of a file of a subject, by its name: what it may import follows from it. */
const floorOf = (file: string): Floor | undefined => {
  if (!/^coordinator\/[^/]+\//.test(file) || longest(file, kits) !== undefined) return undefined;
  if (/\/pages\//.test(file) || /(^|-)pages?\.ts$/.test(basename(file))) return 'pages';
  if (/(^|-)queries\.ts$|^writes\.ts$/.test(basename(file))) return 'queries';
  if (basename(file) === 'contract.ts') return 'contract';
  if (operationFiles.has(file) && isHandlers(file)) return 'operations';
  return pureFiles.has(file) || pureRooms.some((room) => isInside(file, room))
    ? 'model'
    : 'chapter';
};

/** `gate` is imported by the registry too, and does nothing itself. */
const isHandlers = (file: string): boolean =>
  !isInside(file, 'coordinator/gate') && basename(file) !== 'contract.ts';

const breachesOf = (
  judge: (file: string, target: string) => boolean,
  importsHere = importsOf,
): string[] =>
  files
    .filter((file) => isInside(file, 'coordinator'))
    .flatMap((file) =>
      importsHere(file)
        .filter((target) => source.has(target) && judge(file, target))
        .map((target) => `${file} imports ${target}`),
    );

describe('the tree', () => {
  test('imports only through the allowed doors between rooms', () => {
    const breaches: string[] = [];
    for (const file of files) {
      if (isInside(file, 'deploy') || isInside(file, 'test')) continue;
      const room = longest(file, rooms);
      const allowed = room ? [room, ...(rooms[room] ?? [])] : [file.split('/')[0] ?? '', 'shared'];
      for (const target of importsOf(file)) {
        // The one thing at the top that code reads is the manifest, for its version.
        const isManifest = file === 'shared/base/process.ts' && target === 'package.json';
        if (!isManifest && !allowed.some((door) => isInside(target, door)))
          breaches.push(`${file} imports ${target}`);
      }
    }
    expect(breaches).toEqual([]);
  });

  test('gives kits what they work on: they know no subject but by a type, or by a debt that is named here', () => {
    const used = new Set<string>();
    const breaches = breachesOf((file, target) => {
      const kit = longest(file, kits);
      if (kit === undefined || isInside(target, kit) || !isInside(target, 'coordinator'))
        return false;
      const door = kits[kit]?.find((each) => isInside(target, each));
      if (door !== undefined) used.add(`${kit} ${door}`);
      return door === undefined;
    }, valuesOf);
    expect(breaches).toEqual([]);
    const doors = Object.entries(kits).flatMap(([kit, list]) =>
      list.map((door) => `${kit} ${door}`),
    );
    expect(doors.filter((door) => !used.has(door))).toEqual([]);
  });

  test('joins few subjects both ways, and the gate and the kit of the pages with none, types included', () => {
    const folderOf = (file: string): string | undefined =>
      file.match(/^coordinator\/([^/]+)\//)?.[1];
    const arrows = new Set(
      files.flatMap((file) =>
        importsOf(file).flatMap((target) => {
          const [from, to] = [folderOf(file), folderOf(target)];
          return from === undefined || to === undefined || from === to ? [] : [`${from} ${to}`];
        }),
      ),
    );
    const isMutual = (arrow: string): boolean => {
      const [from = '', to = ''] = arrow.split(' ');
      return from < to && arrows.has(`${to} ${from}`);
    };
    expect([...arrows].filter(isMutual).length).toBeLessThanOrEqual(maxPairs);
    const reached = (kit: string): string[] =>
      [...arrows].filter((arrow) => arrow.startsWith(`${kit} `)).toSorted();
    expect(reached('gate')).toEqual(['gate database', 'gate outbound', 'gate secrets']);
    expect(reached('web')).toEqual(['web database', 'web gate']);
  });

  test('keeps floors: models know models, queries no operations, operations none of another subject, pages no queries', () => {
    const subjectOf = (file: string): string => file.split('/').slice(0, 2).join('/');
    const breaches = breachesOf((file, target) => {
      const [from, to] = [floorOf(file), floorOf(target)];
      if (from === undefined) return false;
      if (from === 'model' && !isInside(file, 'coordinator/notifications/kinds'))
        return (
          !pureFiles.has(target) &&
          !isInside(target, 'coordinator/core') &&
          !isInside(target, 'shared')
        );
      if (from === 'contract') return to === 'queries' || to === 'operations' || to === 'pages';
      if (from === 'queries')
        return (
          to === 'operations' ||
          to === 'pages' ||
          to === 'contract' ||
          isInside(target, 'coordinator/web')
        );
      if (from === 'pages')
        return to === 'queries' || to === 'operations' || isInside(target, 'coordinator/database');
      if (from === 'operations')
        return (
          to === 'pages' ||
          (isInside(target, 'coordinator/web') && basename(target) !== 'contract.ts') ||
          (to === 'operations' && subjectOf(file) !== subjectOf(target))
        );
      return to === 'operations' || to === 'pages';
    });
    expect(breaches).toEqual([]);
  });

  test('imports operations and pages only from the files that build a side', () => {
    const importers = breachesOf((file, target) => {
      const isTop = /^coordinator\/[a-z-]+\.ts$/.test(file);
      return !isTop && registries.slice(0, 2).includes(target);
    });
    expect(importers).toEqual([]);
  });

  test('keeps the core out of the oracles that judge it: types alone, and the sum that they hold their own against', () => {
    const importsCode = (file: string): string[] =>
      [
        ...(source.get(file) ?? '').matchAll(
          /^(?:import|export) (?!type )[^;']*from '(\.[^']+)'/gm,
        ),
      ].map(([, path]) => relative(root, resolve(root, dirname(file), path ?? '')));
    const oracles = files.filter((file) =>
      /^test\/simulation\/[a-z-]*oracle[a-z-]*\.ts$/.test(file),
    );
    const reached = new Set(oracles);
    for (const file of reached)
      for (const target of importsCode(file)) if (isInside(target, 'test')) reached.add(target);
    const foreign = [...reached].flatMap((file) =>
      importsCode(file).filter((target) => !isInside(target, 'test')),
    );
    expect(oracles.length).toBeGreaterThan(5);
    expect(foreign).toEqual(['coordinator/core/uptime.ts']);
  });

  test('imports an app or a main only from main and the starters', () => {
    const breaches = files
      .filter((file) => !isInside(file, 'test') && !isInside(file, 'deploy'))
      .flatMap((file) =>
        importsOf(file)
          .filter(
            (target) =>
              /^(coordinator|probe)\/(app|main)\.ts$/.test(target) &&
              !/^(coordinator|probe)\/[a-z-]+\.ts$/.test(file),
          )
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
        .filter(
          (target) =>
            target.endsWith('.ts') &&
            !target.includes('/generated/') &&
            !existsSync(join(root, target)),
        )
        .map((target) => `${file} imports ${target}`),
    );
    expect(missing).toEqual([]);
  });

  test(`has no file over ${maxLines} lines without a reason, and no reason without need`, () => {
    const long = files.filter((file) => (source.get(file) ?? '').split('\n').length - 1 > maxLines);
    expect(long.toSorted()).toEqual(Object.keys(longFiles).toSorted());
  });

  test('keeps clock, chance, input, output and waiting out of the pure rooms', () => {
    const impure =
      /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\bperformance\.now\(|\bsetTimeout\(|\bawait\b|\bPromise\b|\bprocess\.env\b|'node:(fs|net|http|https|tls|dns|child_process)/;
    const pure = files.filter(
      (file) =>
        pureFiles.has(file) ||
        (pureRooms.some((room) => isInside(file, room)) && !reaching.has(file)),
    );
    expect([...pureFiles].filter((file) => !pure.includes(file))).toEqual([]);
    const breaches = pure.filter((file) => impure.test(code(file)));
    expect(breaches).toEqual([]);
  });

  test('services import node:http, which takes 10 MiB, only when they need it', () => {
    const breaches = files.filter(
      (file) =>
        !isInside(file, 'test') &&
        !isInside(file, 'shared/client') &&
        /^import (?!type )[^;]*'node:http'/m.test(source.get(file) ?? ''),
    );
    expect(breaches).toEqual([]);
  });

  test('the coordinator reaches addresses of others through one connector alone', () => {
    const calls =
      /\bfetch\(|\b(?:http|https|net|tls)\.(?:request|get|connect|createConnection)\(|'undici'|\bpingHeartbeat\(/;
    const callers = files.filter(
      (file) =>
        isInside(file, 'coordinator') && !file.includes('/assets/') && calls.test(code(file)),
    );
    // `backups/nightly.ts`: the operator's own heartbeat, pinged by a command of the operator's.
    expect(callers).toEqual([
      'coordinator/backups/nightly.ts',
      'coordinator/notifications/transport.ts',
      'coordinator/outbound/connection.ts',
      'coordinator/outbound/documents.ts',
    ]);
  });

  test('reads and writes checks in one room: others ask it, but for these', () => {
    const reasons: Readonly<Record<string, string>> = {
      'coordinator/backups/write.ts': 'a backup has all tables',
    };
    const naming = files.filter(
      (file) =>
        isInside(file, 'coordinator') &&
        !isInside(file, 'coordinator/results') &&
        /\b(?:from|join|into|update|table)\s+(?:chunks|journal)\b/i.test(code(file)),
    );
    expect(naming.toSorted()).toEqual(Object.keys(reasons).toSorted());
  });

  test('has no file or folder of leftovers: no utils, helpers, lib, common or misc', () => {
    expect(
      files.filter((file) => /(^|\/)(utils?|helpers?|lib|common|misc)(\/|\.ts$)/.test(file)),
    ).toEqual([]);
  });

  test('names files in kebab-case, and never by the word of their folder', () => {
    expect(files.filter((file) => !/^[a-z0-9/.-]+$/.test(file))).toEqual([]);
    const singular = (word: string): string => word.replace(/ies$/, 'y').replace(/s$/, '');
    const repeats = files.filter((file) =>
      basename(file).startsWith(singular(basename(dirname(file)))),
    );
    expect(repeats).toEqual([]);
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
    const readers = files.filter(
      (file) => !isInside(file, 'test') && /\bprocess\.env\b/.test(source.get(file) ?? ''),
    );
    const allowed =
      /^(coordinator|probe)\/main\.ts$|^probe\/program\.ts$|^deploy\/|^shared\/client\/[a-z-]+\.ts$/;
    expect(readers.filter((file) => !allowed.test(file))).toEqual([]);
  });

  test('holds at its top only what belongs there', () => {
    const allowed = new Set([
      'package.json',
      'package-lock.json',
      'tsconfig.json',
      'biome.json',
      'vitest.config.ts',
      'README.md',
      'SECURITY.md',
      'LICENSE',
      '.npmrc',
      '.git-blame-ignore-revs',
      '.gitignore',
      '.editorconfig',
      '.git',
      'changes',
      'docs',
      '.github',
      '.ci',
      'node_modules',
      '.antipode',
      '.cache',
      ...ours,
    ]);
    expect(readdirSync(root).filter((entry) => !allowed.has(entry))).toEqual([]);
  });
});
