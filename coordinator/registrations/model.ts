import { getDomain } from 'tldts';
import { z } from 'zod';
import { isRecord } from '../../shared/base/json.ts';
import type { KnownRegistration } from '../../shared/checks/domain/registration.ts';
import shipped from './registries.json' with { type: 'json' };

/**
 * Which registries can be asked, and how their answers are read. IANA publishes the list of RDAP
 * servers (RFC 9224); this version ships with one, and the coordinators refresh it.
 */
export type Registries = {
  readonly publication: string;
  /** The base address of the server by top-level or longer domain. */
  readonly servers: ReadonlyMap<string, string>;
};

const published = z.object({
  publication: z.iso.datetime({ offset: true }),
  services: z.array(z.tuple([z.array(z.string().max(255)), z.array(z.string().max(500))])).min(1),
});

/** The list as IANA publishes it; undefined when it is something else. */
export function registriesFrom(list: unknown): Registries | undefined {
  const read = published.safeParse(list);
  if (!read.success) return undefined;
  const { publication, services } = read.data;
  const servers = new Map<string, string>();
  for (const [domains, addresses] of services) {
    // Nothing is asked in the clear, where anybody on the way could change the answer.
    const server = addresses.find((address) => URL.parse(address)?.protocol === 'https:');
    if (server === undefined) continue;
    for (const domain of domains)
      servers.set(domain.toLowerCase(), server.endsWith('/') ? server : `${server}/`);
  }
  return { publication, servers };
}

/** The newer of the shipped list and one that was read later. */
export function newestRegistries(read: Registries | undefined): Registries {
  const own = ownRegistries();
  return read !== undefined && Date.parse(read.publication) > Date.parse(own.publication)
    ? read
    : own;
}

let shippedRegistries: Registries | undefined;

/** Read when the first domain is judged: most commands and many installations need none. */
function ownRegistries(): Registries {
  shippedRegistries ??= registriesFrom(shipped);
  if (shippedRegistries === undefined) throw new Error('registries.json is no list of registries');
  return shippedRegistries;
}

/** The server of the registry of a domain: that of its longest suffix in the list. */
export function serverOf({ servers }: Registries, domain: string): string | undefined {
  const labels = domain.split('.');
  for (let first = 1; first < labels.length; first += 1) {
    const server = servers.get(labels.slice(first).join('.'));
    if (server !== undefined) return server;
  }
  return undefined;
}

/** Why this domain cannot be watched: a whole sentence; undefined when it can. */
export function domainFault(registries: Registries, domain: string): string | undefined {
  const registered = getDomain(domain, { allowPrivateDomains: false });
  if (registered === null) return `${domain} is a public suffix, not a domain`;
  if (registered !== domain)
    return `registries know ${registered}, not ${domain}; use ${registered}`;
  if (serverOf(registries, domain) !== undefined) return undefined;
  const ending = domain.slice(domain.lastIndexOf('.') + 1);
  return `.${ending} domains publish no expiry date (no RDAP)`;
}

const rdapDomain = z.object({
  objectClassName: z.literal('domain'),
  ldhName: z.string().optional(),
  status: z.array(z.string()).catch([]).default([]),
  events: z
    .array(z.object({ eventAction: z.string(), eventDate: z.string() }))
    .catch([])
    .default([]),
  entities: z.array(z.unknown()).catch([]).default([]),
});

/**
 * What an RDAP server's answer says of a domain; undefined when it says nothing of it. Lengths are
 * bounded, because it is text of a stranger.
 */
export function registrationFrom(
  answer: { readonly status: number; readonly body: unknown },
  { domain, server, asked_at }: { domain: string; server: string; asked_at: number },
): KnownRegistration | undefined {
  const host = new URL(server).host.slice(0, 255);
  // A page that was not found is no answer of a registry; its own refusal says so in its body.
  if (answer.status === 404)
    return isRecord(answer.body) && answer.body.errorCode === 404
      ? { is: 'unregistered', server: host, asked_at }
      : undefined;
  if (answer.status !== 200) return undefined;
  const read = rdapDomain.safeParse(answer.body);
  if (!read.success) return undefined;
  const { ldhName, status, events, entities } = read.data;
  if (ldhName !== undefined && ldhName.replace(/\.$/, '').toLowerCase() !== domain)
    return undefined;
  const ends = events
    .filter(({ eventAction }) => eventAction === 'expiration')
    .map(({ eventDate }) => Date.parse(eventDate))
    .filter((time) => Number.isSafeInteger(time));
  return {
    is: 'registered',
    ends_at: ends.length === 0 ? null : Math.max(...ends),
    statuses: status.slice(0, 50).map((one) => plain(one, 100).toLowerCase()),
    registrar: registrarIn(entities),
    server: host,
    asked_at,
  };
}

/** The name in the card (RFC 7095) of the entity whose role is registrar. */
function registrarIn(entities: readonly unknown[]): string | null {
  for (const entity of entities) {
    if (!isRecord(entity) || !Array.isArray(entity.roles)) continue;
    if (!entity.roles.includes('registrar') || !Array.isArray(entity.vcardArray)) continue;
    const [, properties] = entity.vcardArray;
    if (!Array.isArray(properties)) continue;
    const name = properties.find((one) => Array.isArray(one) && one[0] === 'fn')?.[3];
    if (typeof name === 'string' && name.trim() !== '') return plain(name.trim(), 200);
  }
  return null;
}

function plain(text: string, length: number): string {
  return text.replaceAll(/\p{C}/gu, ' ').slice(0, length).toWellFormed();
}
