/**
 * What changed, by version. A change brings a file below `changes/`; `notes.ts join` makes these the
 * section of this version in CHANGELOG.md, and `notes.ts` prints that section for the release.
 */
import { existsSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { version } from '../../shared/base/process.ts';
import { projectFolder } from '../node/places.mjs';

/** In the order in which those who upgrade need to know them. */
const kinds = ['Security', 'Changed', 'Added', 'Fixed'] as const;
const longestLines = 12;

type Change = { readonly kind: (typeof kinds)[number]; readonly text: string };

/** A change from its file: its kind, an empty line, and its words. @throws what is wrong with it. */
export function readChange(name: string, file: string): Change {
  const [first, empty, ...lines] = file.trimEnd().split('\n');
  const kind = kinds.find((each) => each === first);
  const text = lines.join('\n');
  const fault = !/^[a-z0-9-]+\.md$/.test(name)
    ? 'is named in lower case with hyphens, and ends in .md'
    : kind === undefined
      ? `begins with one of ${kinds.join(', ')}`
      : empty !== '' || text.trim() === ''
        ? 'has an empty line after its kind, and then says what changed'
        : lines.length > longestLines || /^\s|^#|^-/m.test(text)
          ? `has at most ${longestLines} lines, without lists, titles and indents`
          : undefined;
  if (kind === undefined || fault !== undefined) throw new Error(`changes/${name}: ${fault}`);
  return { kind, text };
}

/** The changelog with a section of this version in front of all others. @throws if it has one. */
function withSection(
  changelog: string,
  version: string,
  files: ReadonlyMap<string, string>,
): string {
  if (sectionOf(changelog, version) !== undefined)
    throw new Error(`CHANGELOG.md has a section of ${version}: raise the version of package.json`);
  const changes = [...files].map(([name, file]) => readChange(name, file));
  if (changes.length === 0) throw new Error('nothing lies below changes/');
  const parts = kinds.flatMap((kind) => {
    const texts = changes.filter((change) => change.kind === kind).map(({ text }) => text);
    const lines = texts.map((text) => `- ${text.replaceAll('\n', '\n  ')}\n`);
    return lines.length === 0 ? [] : [`### ${kind}\n\n${lines.join('')}`];
  });
  const start = changelog.search(/^## /m);
  const [head, rest] =
    start < 0 ? [`${changelog}\n`, ''] : [changelog.slice(0, start), changelog.slice(start)];
  return `${head}## ${version}\n\n${parts.join('\n')}${rest === '' ? '' : `\n${rest}`}`;
}

/** What the changelog says of this version alone, without its title. */
function sectionOf(changelog: string, version: string): string | undefined {
  const [, ...sections] = changelog.split(/^## /m);
  const title = `${version}\n`;
  const found = sections.find((section) => section.startsWith(title));
  return found === undefined ? undefined : `${found.slice(title.length).trim()}\n`;
}

/** The files below `changes/`, in the order of their names. Without any there is no such folder. */
export async function changeFiles(root: string): Promise<ReadonlyMap<string, string>> {
  const folder = join(root, 'changes');
  const names = existsSync(folder) ? (await readdir(folder)).toSorted() : [];
  return new Map(
    await Promise.all(
      names.map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const),
    ),
  );
}

const changelogFile = (root: string): string => join(root, 'deploy/CHANGELOG.md');

/** Makes the files the section of this version, and removes them. */
export async function joinChanges(root: string, version: string): Promise<void> {
  const changelog = await readFile(changelogFile(root), 'utf8');
  const files = await changeFiles(root);
  await writeFile(changelogFile(root), withSection(changelog, version, files));
  await rm(join(root, 'changes'), { recursive: true });
}

/** @throws if there is no such section, or a change is not in it yet. */
export async function notesOf(root: string, version: string): Promise<string> {
  const section = sectionOf(await readFile(changelogFile(root), 'utf8'), version);
  if (section === undefined) throw new Error(`CHANGELOG.md has no section of ${version}`);
  const left = [...(await changeFiles(root)).keys()];
  if (left.length > 0) throw new Error(`not in CHANGELOG.md yet: ${left.join(', ')}`);
  return section;
}

if (import.meta.main) {
  if (process.argv[2] === 'join') await joinChanges(projectFolder, version);
  else process.stdout.write(await notesOf(projectFolder, version));
}
