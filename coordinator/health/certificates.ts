import { once } from 'node:events';
import { connect as dial, type Socket } from 'node:net';
import { connect as shakeHands, type TLSSocket } from 'node:tls';
import type { Log } from '../../shared/base/log.ts';

/**
 * A certificate of the installation itself: `web` is what people and probes reach, `bus` its
 * servers.
 */
export type OwnPlace = {
  readonly of: 'web' | 'bus';
  readonly host: string;
  readonly port: number;
};

export type SeenCertificate = {
  readonly of: OwnPlace['of'];
  readonly server: string;
  readonly endsAt: number;
};

export type Certificates = {
  /** The last known certificates; reads them again in the background when they are old. */
  readonly seen: () => readonly SeenCertificate[];
  readonly close: () => Promise<void>;
};

const httpsPort = 443;
const natsPort = 4222;

type Addresses = {
  readonly baseUrl: string | undefined;
  readonly bus: string;
  /** A certificate authority is configured for it, so it uses TLS whatever its scheme. */
  readonly hasAuthority: boolean;
};

/** The places to check: only those whose settings use TLS. */
export function ownPlaces({ baseUrl, bus, hasAuthority }: Addresses): readonly OwnPlace[] {
  const placeOf = (of: OwnPlace['of'], { hostname, port }: URL, usual: number): OwnPlace => ({
    of,
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? usual : Number(port),
  });
  const web = URL.parse(baseUrl ?? '');
  const servers = bus.split(',').map((server) => server.trim());
  const isSafe = hasAuthority || servers.some((server) => server.startsWith('tls://'));
  return [
    ...(web?.protocol === 'https:' ? [placeOf('web', web, httpsPort)] : []),
    ...servers.flatMap((server) => {
      const url = isSafe ? URL.parse(server) : null;
      return url === null ? [] : [placeOf('bus', url, natsPort)];
    }),
  ];
}

const againMs = 600_000;

type CertificatesDependencies = {
  readonly places: readonly OwnPlace[];
  readonly log: Pick<Log, 'warn'>;
  readonly elapsed?: () => number;
};

export function createCertificates({
  places,
  log,
  elapsed = () => performance.now(),
}: CertificatesDependencies): Certificates {
  let seen: readonly SeenCertificate[] = [];
  let lookAt = Number.NEGATIVE_INFINITY;
  let looking: Promise<void> = Promise.resolve();
  const look = async (): Promise<void> => {
    const all = places.map(async (place): Promise<SeenCertificate[]> => {
      const server = `${place.host}:${place.port}`;
      try {
        return [{ of: place.of, server, endsAt: await endOf(place) }];
      } catch (error) {
        log.warn({ err: error, server }, 'could not read a certificate of this installation');
        // It does not change when it expires because no server answers now.
        return seen.filter((one) => one.server === server && one.of === place.of);
      }
    });
    seen = (await Promise.all(all)).flat();
  };
  return {
    seen: () => {
      if (elapsed() >= lookAt) {
        lookAt = elapsed() + againMs;
        looking = look();
      }
      return seen;
    },
    close: () => looking,
  };
}

const dialMs = 5_000;

/**
 * Nothing is sent, so the certificate need not be trusted: an expired one has a date all the same.
 */
async function endOf({ host, port }: OwnPlace): Promise<number> {
  const signal = AbortSignal.timeout(dialMs);
  let socket: Socket | TLSSocket = dial({ host, port });
  try {
    await once(socket, 'connect', { signal });
    const plain = socket;
    const secured = shakeHands({
      socket: plain,
      rejectUnauthorized: false,
      ...(/[a-z]/i.test(host) ? { servername: host } : {}),
    });
    socket = secured;
    await once(secured, 'secureConnect', { signal });
    const shown = secured.getPeerX509Certificate();
    if (shown === undefined) throw new Error('no certificate was shown');
    return shown.validToDate.getTime();
  } finally {
    socket.destroy();
  }
}
