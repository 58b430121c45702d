/** A browser for tests: one that is named, the package's own, or the machine's. */
import { execFile } from 'node:child_process';
import { createReadStream, createWriteStream } from 'node:fs';
import { access, chmod, constants, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createBrotliDecompress } from 'node:zlib';
import { homeOf, openCache } from '../../deploy/local/home.ts';
import { projectFolder } from '../../deploy/node/places.mjs';

const run = promisify(execFile);

export type BrowserBinary = {
  readonly file: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Of the version that this project names: it draws the same everywhere. */
  readonly isPinned: boolean;
};

const isThere = (file: string): Promise<boolean> =>
  access(file, constants.X_OK).then(
    () => true,
    () => false,
  );

/** The version stands in the name of the folder that it is unpacked into: another one is unpacked anew. */
const packaged = { folder: join(projectFolder, 'node_modules/@sparticuz/chromium/bin'), version: '153.0.0' };

// Theirs names folders of the machines that it was made for, and all text would be invisible.
const fontsConf = (fonts: string, cache: string): string =>
  `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>${fonts}</dir><cachedir>${cache}</cachedir></fontconfig>\n`;

const unpacked = (name: string, file: string): Promise<void> =>
  pipeline(createReadStream(join(packaged.folder, name)), createBrotliDecompress(), createWriteStream(file));

/** Unpacks it once; two runs that do so at once disturb each other in nothing. */
const unpack = async (folder: string): Promise<void> => {
  const partial = `${folder}.${process.pid}`;
  await rm(partial, { recursive: true, force: true });
  await mkdir(partial, { recursive: true });
  await unpacked('chromium.br', join(partial, 'chromium'));
  await chmod(join(partial, 'chromium'), 0o755);
  for (const name of ['al2023', 'fonts']) {
    const archive = join(partial, `${name}.tar`);
    await unpacked(`${name}.tar.br`, archive);
    await run('tar', ['-xf', archive, '-C', partial, '--no-same-owner']);
    await rm(archive);
  }
  await writeFile(join(partial, 'fonts.conf'), fontsConf(join(folder, 'fonts'), join(folder, 'font-cache')));
  // Whoever was faster has the same in it.
  await rename(partial, folder).catch(() => rm(partial, { recursive: true, force: true }));
};

const fromPackage = async (env: NodeJS.ProcessEnv): Promise<BrowserBinary | undefined> => {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  const folder = join(openCache(env, homeOf(env)), `chromium-${packaged.version}`);
  const file = join(folder, 'chromium');
  if (!(await isThere(file))) await unpack(folder);
  return { file, environment: { LD_LIBRARY_PATH: join(folder, 'lib'), FONTCONFIG_FILE: join(folder, 'fonts.conf') }, isPinned: true };
};

const names = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const macs = ['/Applications/Google Chrome.app/Contents/MacOS/Google Chrome', '/Applications/Chromium.app/Contents/MacOS/Chromium'];

const onMachine = async (path: string): Promise<BrowserBinary | undefined> => {
  for (const file of [...path.split(delimiter).flatMap((folder) => names.map((name) => join(folder, name))), ...macs])
    if (await isThere(file)) return { file, environment: {}, isPinned: false };
  return undefined;
};

/** `CHROMIUM_PATH`, the package's, the machine's; undefined where there is none. */
export const findBrowser = async (env: NodeJS.ProcessEnv): Promise<BrowserBinary | undefined> => {
  const named = env.CHROMIUM_PATH;
  if (named) {
    if (await isThere(named)) return { file: named, environment: {}, isPinned: false };
    throw new Error(`CHROMIUM_PATH is ${named}, which is no program`);
  }
  return (await fromPackage(env)) ?? onMachine(env.PATH ?? '');
};
