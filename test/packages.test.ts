import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';

/** Which packages there are, held by reading every import of every file. */

const root = resolve(import.meta.dirname, '..');

const files = ['shared', 'coordinator', 'probe', 'deploy', 'test'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ts|mjs)$/.test(file) && !/(^|\/)(node_modules|generated)\//.test(file))
    .map((file) => `${folder}/${file}`),
);
const source = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));

/** The npm packages that a file imports. */
const packagesOf = (file: string): string[] =>
  [
    ...(source.get(file) ?? '').matchAll(
      /(?:^(?:import|export)\s(?:[^';]*?\sfrom\s)?|\bimport\()'((?:@[a-z-]+\/)?[a-z][a-z0-9.-]*)['/]/gm,
    ),
  ].map(([, name]) => name ?? '');

/** Packages that style sheets take files from, or say that a file beside them is made of. */
const packagesOfStyles = readdirSync(join(root, 'coordinator/web/assets'), {
  recursive: true,
  encoding: 'utf8',
})
  .filter((file) => file.endsWith('.css'))
  .flatMap((file) => [
    ...readFileSync(join(root, 'coordinator/web/assets', file), 'utf8').matchAll(
      /(?:url\(['"]|\bof (?=@))((?:@[a-z-]+\/)?[a-z][a-z0-9.-]*)[/ ]/g,
    ),
  ])
  .map(([, name]) => name ?? '');

const manifestShape = z.object({
  dependencies: z.record(z.string(), z.string()),
  devDependencies: z.record(z.string(), z.string()),
});

test('lists the packages that it uses, and no others', () => {
  const read = (file: string): unknown => JSON.parse(readFileSync(join(root, file), 'utf8'));
  const { dependencies, devDependencies } = manifestShape.parse(read('package.json'));
  const testFiles = files.filter((file) => file.startsWith('test/'));
  const shipped = new Set([
    ...files.filter((file) => !file.startsWith('test/')).flatMap(packagesOf),
    ...packagesOfStyles,
  ]);
  const forTests = new Set(testFiles.flatMap(packagesOf));
  expect([...shipped].toSorted()).toEqual(Object.keys(dependencies).toSorted());
  expect(
    [...forTests].filter((name) => !(name in dependencies || name in devDependencies)),
  ).toEqual([]);
  // What is run as a program is named by its path; types serve the package that they are of.
  const isUsed = (name: string) =>
    ['typescript', '@biomejs/biome', '@types/node'].includes(name) ||
    forTests.has(name) ||
    shipped.has(name.replace('@types/', '')) ||
    forTests.has(name.replace('@types/', '')) ||
    testFiles.some((file) => source.get(file)?.includes(`node_modules/${name}/`));
  expect(Object.keys(devDependencies).filter((name) => !isUsed(name))).toEqual([]);
  // What only CI needs is installed apart, each program for the test that calls it by its path.
  const tools = Object.keys(
    z
      .object({ dependencies: manifestShape.shape.dependencies })
      .parse(read('test/tools/package.json')).dependencies,
  );
  const callsTool = (name: string) =>
    testFiles.some((file) => source.get(file)?.includes(`judgingTool('${name}/`));
  expect(
    tools.filter((name) => name in dependencies || name in devDependencies || !callsTool(name)),
  ).toEqual([]);
});
