import { spawnSync } from 'node:child_process';
import { access, chmod, copyFile, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { exits, JoinFault } from './enrol.ts';
import { identityIn, type Say } from './join.ts';
import { unitText } from './unit.ts';

/** Where a probe that systemd runs has its things. */
const etcFolder = '/etc/antipode-probe';
const programPath = '/usr/local/lib/antipode-probe/antipode-probe.mjs';
/** Below it systemd makes the folder of the service; as good as there on any machine. */
const stateFolder = '/var/lib';
const unitPath = '/etc/systemd/system/antipode-probe.service';

/** A user that the system makes for the service sees no home. */
export const refuseHome = (node: string): void => {
  if (/^\/(?:home|root)\//.test(node))
    throw new JoinFault(
      exits.misused,
      `${node} lies in somebody's home, where a service sees nothing: install Node for the whole machine, and join with that`,
    );
};

/** What the unit will see of the disk. `root`: a folder to write below, for images that are being made. */
export const roomOfUnit = async (root = ''): Promise<{ readonly folder: string; readonly results: string }> => {
  const below = (path: string): string => join(root === '' ? '/' : root, path);
  await mkdir(below(stateFolder), { recursive: true });
  return { folder: below(etcFolder), results: below(stateFolder) };
};

/** Before the token is spent: whether --install can come to anything. */
export const refuseWithoutRoot = (): void => {
  if (process.getuid?.() !== 0)
    throw new JoinFault(exits.misused, '--install writes to /etc: run it as root, or leave it out and run the probe yourself');
  refuseHome(process.execPath);
};

const runs = (...args: readonly string[]): boolean => spawnSync('systemctl', args, { stdio: 'inherit' }).status === 0;

/** Writes the unit and starts it where systemd runs. `root`: a folder to write below, for images that are being made. */
export const install = async (say: Say, root = ''): Promise<void> => {
  const below = (path: string): string => join(root === '' ? '/' : root, path);
  await mkdir(below(dirname(programPath)), { recursive: true });
  await copyFile(process.argv[1] ?? '', below(programPath));
  await chmod(below(programPath), 0o755);
  await mkdir(below(dirname(unitPath)), { recursive: true });
  const unit = unitText({
    ...{ node: process.execPath, program: programPath, identity: identityIn(etcFolder), environment: `${etcFolder}/environment` },
  });
  await writeFile(below(unitPath), unit);
  say(`Written: ${below(unitPath)}, ${below(programPath)}`);
  const isSystemd =
    root === '' &&
    (await access('/run/systemd/system').then(
      () => true,
      () => false,
    ));
  if (isSystemd && runs('daemon-reload') && runs('enable', '--now', 'antipode-probe')) say('It runs: systemctl status antipode-probe');
  else say('Start it: systemctl daemon-reload && systemctl enable --now antipode-probe');
};
