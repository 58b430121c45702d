/**
 * LICENSES.txt: the packages of npm of which the programs are made, each with its licence, as it
 * lies in the package and in the images.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { version } from '../../shared/base/process.ts';
import { projectFolder } from '../node/places.mjs';

/** All let others pass on what contains them, if their text goes with it. */
export const allowedKinds: readonly string[] = [
  ...['0BSD', 'Apache-2.0', 'BSD-3-Clause', 'ISC', 'MIT', 'MIT-0', 'OFL-1.1', 'Unlicense'],
];

/** A part, such as "zod 4.6.7 (MIT)", and the texts that have to go with it. */
export type Part = { readonly title: string; readonly texts: readonly string[] };

export async function npmLicences(): Promise<string> {
  return licenceText(
    `The packages of npm of which Antipode ${version} is made. Its own licence is in LICENSE.`,
    await npmParts(),
  );
}

/** @throws if a package has no text, or one is under a licence of another kind. */
export async function npmParts(): Promise<readonly Part[]> {
  return Promise.all((await lockedPackages()).map(partOf));
}

/** Each text once, below all parts that it is the licence of; what reads alike stands together, and packs small. */
export function licenceText(head: string, parts: readonly Part[]): string {
  const owners = new Map<string, string[]>();
  for (const { title, texts } of parts)
    for (const text of texts.map(trimmed)) {
      const titles = owners.get(text) ?? [];
      if (!titles.includes(title)) titles.push(title);
      owners.set(text, titles);
    }
  const line = '-'.repeat(80);
  const byTerms = [...owners].toSorted(([one], [other]) =>
    termsOf(one) < termsOf(other) ? -1 : 1,
  );
  const sections = byTerms.map(([text, titles]) => `${titles.join('\n')}\n\n${text}\n`);
  return [`${head}\n`, ...sections].join(`\n${line}\n`);
}

/** Without title and copyright, which differ. */
function termsOf(text: string): string {
  const lines = text.split('\n').filter((line) => !/copyright|licen[cs]e\b|^\s*$/i.test(line));
  return lines.join('\n');
}

const lockShape = z.object({
  packages: z.record(
    z.string(),
    z.looseObject({
      version: z.string().optional(),
      license: z.string().optional(),
      integrity: z.string().optional(),
      dev: z.boolean().optional(),
      /** Programs for one kind of machine, which are in no bundle. */
      os: z.unknown().optional(),
      link: z.boolean().optional(),
    }),
  ),
});

/** A package that is in a bundle, or may be, by its place in the checkout. */
export type LockedPackage = {
  readonly place: string;
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly integrity: string;
};

/** As the lockfile has them. */
export async function lockedPackages(): Promise<readonly LockedPackage[]> {
  const lock = lockShape.parse(JSON.parse(await readIn('package-lock.json')));
  const folder = 'node_modules/';
  return Object.entries(lock.packages).flatMap(([place, { dev, os, link, ...entry }]) => {
    const { version = '', license = 'no licence', integrity = '' } = entry;
    if (!place.startsWith(folder) || dev || os !== undefined || link) return [];
    const name = place.slice(place.lastIndexOf(folder) + folder.length);
    return [{ place, name, version, license, integrity }];
  });
}

async function partOf({ place, name, version, license }: LockedPackage): Promise<Part> {
  const title = `${name} ${version} (${license})`;
  if (!allowedKinds.includes(license))
    throw new Error(`${title}: may that be passed on? See deploy/release/licences.ts`);
  const files = (await readdir(join(projectFolder, place), { withFileTypes: true })).filter(
    (file) => file.isFile() && /^(?:licen[cs]e|copying|notice)/i.test(file.name),
  );
  const texts = await Promise.all(files.map((file) => readIn(place, file.name)));
  if (texts.length > 0) return { title, texts };
  if (license !== 'MIT') throw new Error(`${title} brings no licence with it`);
  const { author = `the authors of ${name}` } = z
    .object({ author: z.string().optional() })
    .parse(JSON.parse(await readIn(place, 'package.json')));
  return { title, texts: [`Copyright (c) ${author}\n\n${await termsOfMit()}`] };
}

/** Ours, without our title and copyright: some packages only name it. */
async function termsOfMit(): Promise<string> {
  const text = await readIn('LICENSE');
  return text.slice(text.indexOf('Permission is hereby granted'));
}

function readIn(...place: readonly string[]): Promise<string> {
  return readFile(join(projectFolder, ...place), 'utf8');
}

function trimmed(text: string): string {
  return text
    .replace(/^\uFEFF/, '')
    .replaceAll(/[ \t\r]+$/gm, '')
    .trim();
}
