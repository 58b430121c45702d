import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { access, chmod, copyFile, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readIfThere, replaceFile } from '../disk/files.ts';
import {
  exits,
  identityIn,
  JoinFault,
  type Room,
  type Say,
  settingIn,
  withSettings,
} from './join.ts';

/**
 * The systemd unit of a probe: a user that exists only while it runs, one writable folder, and the
 * identity passed by systemd.
 */

export type UnitPaths = {
  readonly node: string;
  readonly program: string;
  readonly identity: string;
  readonly environment: string;
};

/**
 * No MemoryDenyWriteExecute: V8 compiles. RestrictAddressFamilies allows just these: checks use
 * IPv4 and IPv6, and a socket claims the folder.
 */
export function unitText({ node, program, identity, environment }: UnitPaths): string {
  return `[Unit]
Description=Antipode probe
Documentation=file://${program}
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=${node} ${program} run
# Such as PROBE_ALLOW_CIDRS=10.0.0.0/8: what checks may reach here besides public addresses.
EnvironmentFile=-${environment}
Environment=PROBE_DATA_DIR=%S/antipode-probe
Environment=PROBE_IDENTITY_FILE=%d/identity
LoadCredential=identity:${identity}
StateDirectory=antipode-probe
StateDirectoryMode=0700
DynamicUser=yes
Restart=on-failure
RestartPreventExitStatus=22
RestartSec=5
TimeoutStopSec=30
UMask=0077
LimitNOFILE=65536
CapabilityBoundingSet=
AmbientCapabilities=
NoNewPrivileges=yes
LockPersonality=yes
PrivateDevices=yes
PrivateTmp=yes
PrivateUsers=yes
ProcSubset=pid
ProtectClock=yes
ProtectControlGroups=yes
ProtectHome=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProtectSystem=strict
RemoveIPC=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
`;
}

/** Where systemd's probe keeps its files. */
const etcFolder = '/etc/antipode-probe';
const programPath = '/usr/local/lib/antipode-probe/antipode-probe.mjs';
/** The folder in which systemd makes the service's folder; any machine has it. */
const stateFolder = '/var/lib';
const unitPath = '/etc/systemd/system/antipode-probe.service';

/** The user that systemd makes for the service cannot read a home folder. */
export function refuseHome(node: string): void {
  if (/^\/(?:home|root)\//.test(node))
    throw new JoinFault(
      exits.misused,
      `${node} is in a home directory, which a service cannot read: install Node system-wide, and join with that`,
    );
}

const environmentPath = `${etcFolder}/environment`;
const keptFolder = join(stateFolder, 'antipode-probe');

/** The folders that the unit will use. `root`: a folder to write below, for images being built. */
export async function spaceOfUnit(root = ''): Promise<Omit<Room, 'spoolMb'>> {
  const below = belowRoot(root);
  await mkdir(below(stateFolder), { recursive: true });
  return { folder: below(etcFolder), results: below(stateFolder), kept: below(keptFolder) };
}

function belowRoot(root: string) {
  return (path: string): string => join(root === '' ? '/' : root, path);
}

/**
 * The folders of an installed service; undefined where none is installed. `spoolMb`: the default
 * for a probe without a setting.
 */
export async function spaceOfService(spoolMb: number, root = ''): Promise<Room | undefined> {
  const below = belowRoot(root);
  // Anyone can see the folder's name, but not its content.
  if (!existsSync(below(etcFolder))) return undefined;
  const kept = below(keptFolder);
  // We may not read it; reading the identity reports that.
  const text = await readIfThere(below(environmentPath)).catch(() => undefined);
  const told = Number(settingIn(text ?? '', 'PROBE_SPOOL_MB')) || spoolMb;
  return {
    folder: below(etcFolder),
    results: existsSync(kept) ? kept : below(stateFolder),
    kept,
    spoolMb: told,
  };
}

/** Checks before the token is spent whether --install can succeed. */
export function refuseWithoutRoot(): void {
  if (process.getuid?.() !== 0)
    throw new JoinFault(
      exits.misused,
      '--install writes to /etc: run it as root, or leave it out and run the probe yourself',
    );
  refuseHome(process.execPath);
}

/** A running service has its old identity, settings and program: it must be restarted. */
const starting = ['daemon-reload', 'enable antipode-probe', 'restart antipode-probe'];

/**
 * Writes the unit and starts it where systemd runs. A service gets nothing of the joining shell's
 * environment, so its settings go to its file. `root`: a folder to write below, for images being
 * built.
 */
export async function install(
  say: Say,
  settings: Readonly<Record<string, string>>,
  root = '',
): Promise<void> {
  const below = belowRoot(root);
  const names = Object.keys(settings);
  if (names.length > 0) {
    const path = below(environmentPath);
    await replaceFile(path, withSettings(await readIfThere(path), settings), { durable: true });
    say(`Taken from this shell into ${path}: ${names.join(', ')}`);
  }
  await mkdir(below(dirname(programPath)), { recursive: true });
  await copyFile(process.argv[1] ?? '', below(programPath));
  await chmod(below(programPath), 0o755);
  await mkdir(below(dirname(unitPath)), { recursive: true });
  const unit = unitText({
    node: process.execPath,
    program: programPath,
    identity: identityIn(etcFolder),
    environment: environmentPath,
  });
  await writeFile(below(unitPath), unit);
  say(`Written: ${below(unitPath)}, ${below(programPath)}`);
  const isSystemd =
    root === '' &&
    (await access('/run/systemd/system').then(
      () => true,
      () => false,
    ));
  if (isSystemd && starting.every(runs)) say('It runs: systemctl status antipode-probe');
  else say(`Start it: ${starting.map((words) => `systemctl ${words}`).join(' && ')}`);
}

function runs(words: string): boolean {
  return spawnSync('systemctl', words.split(' '), { stdio: 'inherit' }).status === 0;
}
