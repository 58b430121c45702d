import { readFile, writeFile } from 'node:fs/promises';
import { lock, shortestPassphrase, unlock } from '../../shared/base/crypto.ts';
import { UsageFault } from '../../shared/base/env.ts';
import type { Given, HouseCommand, LoneCommand } from './operator-command.ts';
import { required } from './operator-command-parts.ts';

/** What must be kept beside backups: without these keys no secret in one can be opened, and no probe comes back to the bus. */

/** Not in the line itself: other users of the machine would see it. */
const passphraseOf = async (given: Given): Promise<string> => {
  const text = (await readFile(given.get('passphrase-file') ?? '', 'utf8')).trim();
  if (text.length < shortestPassphrase)
    throw new UsageFault(`--passphrase-file: what stands there must have at least ${shortestPassphrase} characters.`);
  return text;
};

const passphraseFile = required('a file that holds the passphrase and nothing else');

const exportKeys: HouseCommand['run'] = async ({ keys }, given) => {
  const file = given.get('file') ?? '';
  const text = Object.entries(keys)
    .map(([name, value]) => `${name}=${value.trim().replaceAll(/\s*\n\s*/g, ' ')}\n`)
    .join('');
  await writeFile(file, await lock(await passphraseOf(given), text), { mode: 0o600, flag: 'wx' });
  return { file, keys: Object.keys(keys) };
};

const importKeys: LoneCommand['alone'] = async (given) => {
  const text = await unlock(await passphraseOf(given), await readFile(given.get('file') ?? '', 'utf8'));
  if (text === undefined)
    throw new UsageFault('--file: it does not open: it lies under another passphrase, was changed, or is no file of "keys export".');
  const to = given.get('to') ?? '';
  await writeFile(to, text, { mode: 0o600, flag: 'wx' });
  const keys = text.split('\n').flatMap((line) => line.split('=', 1)[0] || []);
  return { result: { to, keys, next: `Put these lines into coordinator.env, beside DATABASE_URL and NATS_URL, and delete ${to}.` } };
};

export const commandsOfKeys = [
  {
    words: ['keys', 'export'],
    what: 'Write what must be kept beside backups (SECRET_KEY, the keys of the bus) to one file, under a passphrase',
    flags: { file: required('where to write it; what is there is not written over'), 'passphrase-file': passphraseFile },
    onToday: false,
    run: exportKeys,
  },
  {
    words: ['keys', 'import'],
    what: 'Open a file of "keys export", as settings of a coordinator',
    flags: {
      file: required('the file of "keys export"'),
      to: required('where to write the settings; what is there is not written over'),
      'passphrase-file': passphraseFile,
    },
    alone: importKeys,
  },
] as const satisfies readonly (HouseCommand | LoneCommand)[];
