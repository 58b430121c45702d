import { Resolver } from 'node:dns/promises';
import type { Agent } from 'undici';
import { version } from '../../shared/base/process.ts';
import { createConnector, createLookup, type Lookup } from './connection.ts';

/** A document of somebody else's, as it was answered: of a client of ours who says who they are by an address. */
export type ReadDocument = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
};

export type DocumentReader = {
  /** Over TLS, without following where it leads. @throws when there is none, it is too large, or it lies where nothing is sent. */
  readonly read: (url: string) => Promise<ReadDocument>;
  readonly close: () => Promise<void>;
};

const limitMs = 5_000;
/** Such documents are a page of text at most. */
const maxBytes = 64 * 1_024;
const atOnce = 10;

type Dependencies = { readonly allow?: readonly string[]; readonly lookup?: Lookup };

export const createDocumentReader = ({ allow = [], lookup = createLookup() }: Dependencies = {}): DocumentReader => {
  const agentMade = async (): Promise<Agent> => {
    const undici = await import('undici');
    const connect = createConnector(undici.buildConnector, { allow, lookup });
    return new undici.Agent({ connect, pipelining: 0, connections: atOnce, maxHeaderSize: 16 * 1_024, headersTimeout: 0, bodyTimeout: 0 });
  };
  let agent: Promise<Agent> | undefined;
  return {
    read: async (text) => {
      const url = new URL(text);
      if (url.protocol !== 'https:') throw new Error('a document is read over TLS alone');
      agent ??= agentMade();
      const answer = await (await agent).request({
        ...{ method: 'GET', origin: url.origin, path: `${url.pathname}${url.search}`, signal: AbortSignal.timeout(limitMs) },
        headers: { 'user-agent': `Antipode/${version}`, accept: 'application/json', 'accept-encoding': 'identity' },
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
        value === undefined ? [] : [[name.toLowerCase(), Array.isArray(value) ? value.join(', ') : value] as const],
      );
      return { status: answer.statusCode, headers: Object.fromEntries(headers), body: Buffer.concat(chunks) };
    },
    close: async () => (await agent?.catch(() => undefined))?.destroy(),
  };
};

/** The texts of the TXT records of a name, as they stand in DNS now; none when there are none, or nobody answers. */
export type TextRecords = (name: string) => Promise<readonly string[]>;

/** For what asks no DNS. */
export const noTextRecords: TextRecords = async () => [];

/** Two tries of three seconds: whoever pressed the button waits for it. */
const usual = { timeout: 3_000, tries: 2 };

/** Asked by Node's own resolver, which keeps nothing; of these servers, or without any of those of the machine. */
export const createTextRecords =
  (servers: readonly string[], patience = usual): TextRecords =>
  async (name) => {
    const resolver = new Resolver(patience);
    if (servers.length > 0) resolver.setServers([...servers]);
    // No record and no answer are the same to whoever waits for one: it is not there yet.
    const records = await resolver.resolveTxt(name).catch((): string[][] => []);
    return records.map((parts) => parts.join(''));
  };
