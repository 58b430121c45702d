/** The systemd unit of a probe: a user that exists only while it runs, one folder that it may write to, the identity handed over by systemd. */

export type UnitPaths = { readonly node: string; readonly program: string; readonly identity: string; readonly environment: string };

/** No MemoryDenyWriteExecute: V8 compiles. No RestrictAddressFamilies beyond these: checks speak IPv4, IPv6, and the folder is claimed by a socket. */
export const unitText = ({ node, program, identity, environment }: UnitPaths): string => `[Unit]
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
