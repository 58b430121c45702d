import { version } from '../shared/base/version.ts';
import { runProbe } from './main.ts';

/** `antipode-probe.mjs`, the probe as one file: what its first word asks for. Which Node it takes is said before anything of this is read (see downloads). */

const help = `antipode-probe ${version}: checks from where this machine stands.

  node antipode-probe.mjs run    check, as PROBE_CREDENTIALS and PROBE_DATA_DIR in the environment say

  --version, --help
`;

/** A line that asks for nothing that there is. */
const misused = 2;

const begin = async (): Promise<void> => {
  const [word = '--help'] = process.argv.slice(2);
  if (word === '--version') process.stdout.write(`${version}\n`);
  else if (word === '--help' || word === '-h' || word === 'help') process.stdout.write(help);
  else if (word === 'run') await runProbe();
  else {
    process.stderr.write(`There is no "${word}".\n\n${help}`);
    process.exitCode = misused;
  }
};

void begin();
