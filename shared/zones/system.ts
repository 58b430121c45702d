import { mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { codeOf } from '../base/errors.ts';
import { type Zones, zoneResource } from './icu.ts';
import { readZoneFile, type ZoneFile } from './tzif.ts';

/** The time zones that this machine has, beside those that come with Node. */

/** Where systems keep the time zone database. */
const folder = '/usr/share/zoneinfo';
const mostRead = 100;

/** Their version; null where there are none, or they do not say which. */
export async function systemZoneVersion(of = folder): Promise<string | null> {
  const file = await open(join(of, 'tzdata.zi')).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (file === undefined) return null;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(mostRead), 0, mostRead, 0);
    return (
      /^# version (\d{4}[a-z]{1,2})\b/.exec(buffer.toString('latin1', 0, bytesRead))?.[1] ?? null
    );
  } finally {
    await file.close();
  }
}

type Environment = { [name: string]: string | undefined };

const setting = 'ICU_TIMEZONE_FILES_DIR';
const prefix = join(tmpdir(), 'antipode-zones-');

/**
 * Restarts this process with the zones of the machine where they are newer than Node's, which reads
 * its own when it starts. What follows runs with the newest. @throws when those of the machine
 * cannot be used; those of Node go on.
 */
export async function useSystemZones(
  env: Environment,
  ofNode = process.versions.tz ?? '',
): Promise<void> {
  const given = env[setting];
  if (given?.startsWith(prefix)) {
    // Node keeps what it has read.
    new Intl.DateTimeFormat('en', { timeZone: 'Europe/Berlin' }).format(0);
    await rm(given, { recursive: true, force: true });
    delete env[setting];
    return;
  }
  if (given !== undefined || process.execve === undefined) return;
  const version = await systemZoneVersion();
  if (version === null || version <= ofNode) return;
  const made = await mkdtemp(prefix);
  await writeSystemZones(version, made).catch(async (error: unknown) => {
    await rm(made, { recursive: true });
    throw error;
  });
  const words = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  process.execve(process.execPath, words, { ...env, [setting]: made });
}

/** Writes what Node reads with that setting. @throws when it would know fewer zones than now. */
export async function writeSystemZones(version: string, to: string): Promise<void> {
  const zones = await systemZones(version);
  const lost = Intl.supportedValuesOf('timeZone').filter((name) => !zones.files.has(name));
  if (lost.length > 0)
    throw new Error(`the machine's time zones of ${version} lack ${lost.slice(0, 5).join(', ')}`);
  await writeFile(join(to, 'zoneinfo64.res'), zoneResource(zones));
}

async function systemZones(version: string): Promise<Zones> {
  const files = new Map<string, ZoneFile>();
  for (const name of await readdir(folder, { recursive: true })) {
    // The same again in other forms, and names of this machine alone.
    if (/^(?:posix|right)\b|^(?:posixrules|localtime|Factory)$/.test(name)) continue;
    const bytes = await readFile(join(folder, name)).catch((error: unknown) => {
      if (codeOf(error) === 'EISDIR') return undefined;
      throw error;
    });
    if (bytes?.toString('latin1', 0, 4) === 'TZif') files.set(name, readZoneFile(bytes));
  }
  const countries = new Map<string, string>();
  for (const line of (await readFile(join(folder, 'zone.tab'), 'utf8')).split('\n')) {
    const [country = '', , name] = line.split('\t');
    if (name !== undefined && !country.startsWith('#')) countries.set(name, country);
  }
  // Other names of zones, which a system may have left out.
  const source = await readFile(join(folder, 'tzdata.zi'), 'utf8');
  for (const [, target = '', name = ''] of source.matchAll(/^L (\S+) (\S+)$/gm)) {
    const file = files.get(target);
    if (file !== undefined && !files.has(name)) files.set(name, file);
    const country = countries.get(target) ?? countries.get(name);
    if (country !== undefined) {
      if (!countries.has(name)) countries.set(name, country);
      if (!countries.has(target)) countries.set(target, country);
    }
  }
  return { version, files, countries };
}
