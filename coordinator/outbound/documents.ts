import { Resolver } from 'node:dns/promises';
import type { Agent } from 'undici';
import { version } from '../../shared/base/process.ts';
import {
  type ConnectionDependencies,
  createConnector,
  createLookup,
  createOwnPlaces,
  type Lookup,
} from './connection.ts';

/** Another party's document as answered: of a client that identifies itself by an address. */
type ReadDocument = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
};

type DocumentRequest = {
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Ends it earlier than its time limit does. */
  readonly signal?: AbortSignal | undefined;
};

export type DocumentReader = {
  /**
   * Over TLS, without following redirects. @throws when there is none, it is too large, or its
   * address is forbidden.
   */
  readonly read: (url: string, more?: DocumentRequest) => Promise<ReadDocument>;
  readonly close: () => Promise<void>;
};

const limitMs = 5_000;
/** Most documents are at most a page of text. */
const usualMaxBytes = 64 * 1_024;
const atOnce = 10;

type Dependencies = {
  readonly allow?: readonly string[];
  readonly lookup?: Lookup;
  readonly ownPlaces?: ConnectionDependencies['ownPlaces'];
  readonly maxBytes?: number;
  /** Which kinds of documents are wanted. */
  readonly accept?: string;
};

export function createDocumentReader({
  allow = [],
  lookup = createLookup(),
  ownPlaces = createOwnPlaces(),
  maxBytes = usualMaxBytes,
  accept = 'application/json',
}: Dependencies = {}): DocumentReader {
  const agentMade = async (): Promise<Agent> => {
    const undici = await import('undici');
    const connect = createConnector(undici.buildConnector, { allow, lookup, ownPlaces });
    return new undici.Agent({
      connect,
      pipelining: 0,
      connections: atOnce,
      maxHeaderSize: 16 * 1_024,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  };
  let agent: Promise<Agent> | undefined;
  return {
    read: async (text, { method = 'GET', headers: own = {}, body = null, signal } = {}) => {
      const url = new URL(text);
      if (url.protocol !== 'https:') throw new Error('a document is read over TLS alone');
      agent ??= agentMade();
      const answer = await (await agent).request({
        method,
        body,
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        signal: AbortSignal.any([AbortSignal.timeout(limitMs), ...(signal ? [signal] : [])]),
        headers: {
          'user-agent': `Antipode/${version}`,
          accept,
          'accept-encoding': 'identity',
          ...own,
        },
      });
      const chunks: Buffer[] = [];
      let length = 0;
      for await (const chunk of answer.body) {
        const bytes = Buffer.from(chunk);
        length += bytes.length;
        if (length > maxBytes) throw new Error(`the document is larger than ${maxBytes} bytes`);
        chunks.push(bytes);
      }
      const headers = Object.entries(answer.headers).flatMap(([name, value]) =>
        value === undefined
          ? []
          : [[name.toLowerCase(), Array.isArray(value) ? value.join(', ') : value] as const],
      );
      return {
        status: answer.statusCode,
        headers: Object.fromEntries(headers),
        body: Buffer.concat(chunks),
      };
    },
    close: async () => (await agent?.catch(() => undefined))?.destroy(),
  };
}

/**
 * The texts of a name's TXT records as DNS has them now; none when there are none or no server
 * answers.
 */
export type TextRecords = (name: string) => Promise<readonly string[]>;

/** For callers that ask no DNS. */
export const noTextRecords: TextRecords = async () => [];

/** Two tries of three seconds: a user waits for the answer. */
const usual = { timeout: 3_000, tries: 2 };

/**
 * Uses Node's own resolver, which caches nothing, with these servers or, when none are given, the
 * machine's.
 */
export function createTextRecords(servers: readonly string[], patience = usual): TextRecords {
  return async (name) => {
    const resolver = new Resolver(patience);
    if (servers.length > 0) resolver.setServers([...servers]);
    // No record and no answer mean the same to the waiting user: it is not there yet.
    const records = await resolver.resolveTxt(name).catch((): string[][] => []);
    return records.map((parts) => parts.join(''));
  };
}
