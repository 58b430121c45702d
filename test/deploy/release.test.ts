import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { leftOut } from '../../deploy/bundle/coordinator.ts';
import { release } from '../../deploy/local/nats.ts';
import { projectFolder } from '../../deploy/node/places.mjs';
import { filesOf, natsBinaries, postgresBinaries } from '../../deploy/release/binaries.ts';
import { allowedKinds, licenceText, npmLicences } from '../../deploy/release/licences.ts';
import { changeFiles, joinChanges, notesOf, readChange } from '../../deploy/release/notes.ts';
import { billOfMaterials } from '../../deploy/release/parts.ts';
import { version } from '../../shared/base/process.ts';

/** What a release says of itself, from the files that its changes brought. */

describe('the notes of a version', () => {
  const before = '# Changes\n\nThe newest first.\n\n## 1.1.0\n\n- A ping.\n\n## 1.1.0-rc\n\nOld.\n';

  async function checkout(changes: Readonly<Record<string, string>>): Promise<string> {
    const root = await mkdtemp(join(tmpdir(), 'antipode-notes-'));
    await mkdir(join(root, 'deploy'));
    await mkdir(join(root, 'changes'));
    await writeFile(join(root, 'deploy/CHANGELOG.md'), before);
    for (const [name, text] of Object.entries(changes))
      await writeFile(join(root, 'changes', name), text);
    return root;
  }

  test('are its changes, joined by kind and name, and those of no other version', async ({
    onTestFinished,
  }) => {
    const root = await checkout({
      'z-names.md': 'Added\n\nNames may be\nlong.\n',
      'a-slow-start.md': 'Fixed\n\nA start is quick.\n',
      'b-tokens.md': 'Security\n\nTokens end.\n',
      'c-colours.md': 'Added\n\nColours.\n',
    });
    onTestFinished(() => rm(root, { recursive: true }));
    await expect(notesOf(root, '1.1.0')).rejects.toThrow(/not in CHANGELOG.md yet: a-slow-start/);
    await joinChanges(root, '1.2.0');
    const section =
      '### Security\n\n- Tokens end.\n\n### Added\n\n- Colours.\n- Names may be\n  long.\n\n### Fixed\n\n- A start is quick.\n';
    const [head, rest] = before.split(/(?=## 1\.1\.0\n)/);
    expect(await readFile(join(root, 'deploy/CHANGELOG.md'), 'utf8')).toBe(
      `${head}## 1.2.0\n\n${section}\n${rest}`,
    );
    expect(existsSync(join(root, 'changes'))).toBe(false);
    expect(await notesOf(root, '1.2.0')).toBe(section);
    expect(await notesOf(root, '1.1.0')).toBe('- A ping.\n');
    expect(await notesOf(root, '1.1.0-rc')).toBe('Old.\n');
    await expect(notesOf(root, '1.1')).rejects.toThrow(/no section of 1\.1/);
    await expect(joinChanges(root, '1.3.0')).rejects.toThrow(/nothing lies below/);
    await expect(joinChanges(root, '1.2.0')).rejects.toThrow(/raise the version/);
  });

  test('are there for the version that this is, or its changes have the form', async () => {
    const files = await changeFiles(projectFolder);
    for (const [name, text] of files) expect(readChange(name, text).text).not.toBe('');
    if (files.size === 0) expect(await notesOf(projectFolder, version)).toContain('- ');
  });

  test.each([
    ['Names.md', 'Added\n\nNames.\n', 'lower case'],
    ['names.md', 'Feature\n\nNames.\n', 'begins with one of'],
    ['names.md', 'Added\nNames.\n', 'empty line'],
    ['names.md', 'Added\n\n', 'empty line'],
    ['names.md', 'Added\n\n## Names\n', 'without lists, titles'],
    ['names.md', `Added\n\n${'Names.\n'.repeat(13)}`, 'at most 12 lines'],
  ])('a change in %s that begins %j is refused: %s', (name, text, fault) => {
    expect(() => readChange(name, text)).toThrow(`changes/${name}: `);
    expect(() => readChange(name, text)).toThrow(fault);
  });
});

describe('the licences and the parts', () => {
  test('name each package that is bundled, in its version, under a licence that may be passed on', async () => {
    const { metafile } = await build({
      absWorkingDir: projectFolder,
      entryPoints: [
        'coordinator/main.ts',
        'probe/program.ts',
        'shared/client/antipode.ts',
        'shared/client/antipode-mcp.ts',
      ],
      external: [...leftOut, 'bufferutil', 'utf-8-validate'],
      outdir: 'none',
      bundle: true,
      platform: 'node',
      format: 'esm',
      logLevel: 'silent',
      metafile: true,
      write: false,
    });
    const folders = new Set(
      Object.keys(metafile.inputs).flatMap(
        (file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? [],
      ),
    );
    expect(folders.size).toBeGreaterThan(80);
    const { components } = JSON.parse(await billOfMaterials());
    const lines = new Set((await npmLicences()).split('\n'));
    const manifest = z.object({ name: z.string(), version: z.string(), license: z.string() });
    for (const folder of [
      ...folders,
      'node_modules/idiomorph',
      'node_modules/@fontsource-variable/inter',
    ]) {
      const { name, version, license } = manifest.parse(
        JSON.parse(await readFile(join(projectFolder, folder, 'package.json'), 'utf8')),
      );
      expect(lines).toContain(`${name} ${version} (${license})`);
      expect(allowedKinds).toContain(license);
      expect(components).toContainEqual({
        type: 'library',
        name,
        version,
        purl: `pkg:npm/${encodeURIComponent(name).replace('%2F', '/')}@${version}`,
        licenses: [{ license: { id: license } }],
        hashes: [{ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) }],
      });
    }
  });

  test('have each text once, below all that it is of, and alike ones together', () => {
    const part = (title: string, ...texts: string[]) => ({ title, texts });
    const parts = [
      part('a 1', 'One\r\ntext \n'),
      part('b 2', 'Other', 'Notice'),
      part('c 3', 'One\ntext'),
    ];
    const line = `\n${'-'.repeat(80)}\n`;
    expect(licenceText('Head', parts)).toBe(
      `Head\n${line}b 2\n\nNotice\n${line}a 1\nc 3\n\nOne\ntext\n${line}b 2\n\nOther\n`,
    );
  });
});

describe('the programs and libraries in an image', () => {
  async function filesWith(files: Readonly<Record<string, string>>): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'antipode-binaries-'));
    for (const part of ['bin', 'lib']) await mkdir(join(folder, part));
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
    return folder;
  }

  test('are listed with the version that they say and their licence', async ({
    onTestFinished,
  }) => {
    const folder = await filesWith({
      'bin/postgres': '\0PostgreSQL 18.4 on x86_64\0',
      'lib/libxml2.so.2': '\x0120904\0\0\0',
      'lib/libicuuc.so.60.2': '',
      'lib/libz.so.1': ' deflate 1.2.11 Copyright 1995-2017',
      'bin/nats-server':
        'Go buildinf:\x08\x02go1.26.8\nmod\tgithub.com/nats-io/nats-server/v2\t(devel)\ndep\tgolang.org/x/sys\tv0.44.0\th1:a=\ndep\tgolang.org/x/sys\tv0.44.0\th1:a=\n',
    });
    onTestFinished(() => rm(folder, { recursive: true }));
    const found = [
      ...(await postgresBinaries(folder)),
      ...(await natsBinaries(join(folder, 'bin/nats-server'))),
    ];
    const nats = `github.com/nats-io/nats-server/v2 v${release.version}`;
    expect(found.map(({ name, version }) => `${name} ${version}`)).toEqual([
      ...['postgresql 18.4', 'icu 60.2', 'libxml2 2.9.4', 'zlib 1.2.11'],
      ...['go 1.26.8', nats, 'golang.org/x/sys v0.44.0'],
    ]);
    const files = await filesOf(found);
    expect(files.get('LICENSES.txt')).toContain(`\ngo 1.26.8 (BSD-3-Clause)\ngolang.org/x/sys`);
    expect(files.get('LICENSES.txt')).toContain('Jean-loup Gailly');
    expect(files.get('LICENSES.txt')).toContain('\nzod ');
    expect(files.get('sbom.cdx.json')).toContain('pkg:golang/golang.org/x/sys@v0.44.0');
  });

  test('are refused where nobody knows whose they are', async ({ onTestFinished }) => {
    const folder = await filesWith({
      'lib/libother.so.1': '',
      'bin/nats-server': 'Go buildinf:go1.26.8\ndep\texample.com/other\tv1.0.0\n',
    });
    onTestFinished(() => rm(folder, { recursive: true }));
    await expect(postgresBinaries(folder)).rejects.toThrow('libother.so.1: whose is that?');
    await expect(natsBinaries(join(folder, 'bin/nats-server'))).rejects.toThrow(
      'example.com/other: under which licence is that?',
    );
  });
});
