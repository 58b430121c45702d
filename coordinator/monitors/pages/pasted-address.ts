/** What somebody pasted as the address of a monitor, as its kind takes it. */
export function targetOfPasted(kind: string, text: string): string {
  const pasted = text.trim();
  if (kind === 'heartbeat' || pasted === '') return pasted;
  const [, scheme = '', rest = ''] = /^(?:([a-z][a-z0-9+.-]*):\/\/)?(.*)$/is.exec(pasted) ?? [];
  const known = scheme.toLowerCase();
  switch (kind) {
    case 'https':
      return scheme === '' && isNamed(rest) ? `https://${rest}` : pasted;
    case 'websocket':
    case 'grpc':
      return withSchemeOf(kind, known, rest) ?? pasted;
    case 'tcp':
    case 'tls': {
      const place = authorityOf(rest);
      const port = ports[known] ?? (kind === 'tls' ? 443 : undefined);
      return hasPort(place) || port === undefined ? place : `${place}:${port}`;
    }
    case 'domain':
      return hostOf(rest).replace(/^www\./i, '');
    default:
      return hostOf(rest);
  }
}

const schemes = {
  websocket: { '': 'wss', http: 'ws', https: 'wss' },
  grpc: { '': 'grpcs', http: 'grpc', https: 'grpcs' },
} as const;

const ports: Readonly<Record<string, number>> = { http: 80, ws: 80, https: 443, wss: 443 };

function withSchemeOf(
  kind: keyof typeof schemes,
  scheme: string,
  rest: string,
): string | undefined {
  if (scheme === '' && !isNamed(rest)) return undefined;
  const better = new Map<string, string>(Object.entries(schemes[kind])).get(scheme);
  return better === undefined ? undefined : `${better}://${rest}`;
}

/** A host with a dot, whatever follows it. */
function isNamed(text: string): boolean {
  return /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)+(?:[:/?#]|$)/i.test(text);
}

/** Without user, path, query and fragment. */
function authorityOf(text: string): string {
  return text.replace(/[/?#].*$/s, '').replace(/^.*@/s, '');
}

function hasPort(place: string): boolean {
  return /^(?:[^:]+|\[.*\]):\d+$/.test(place);
}

/** An IPv6 address has colons of its own, in brackets where a port may follow. */
function hostOf(text: string): string {
  const place = authorityOf(text);
  return (hasPort(place) ? place.slice(0, place.lastIndexOf(':')) : place).replace(
    /^\[(.*)\]$/,
    '$1',
  );
}
