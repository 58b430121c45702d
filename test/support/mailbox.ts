/** For test files: a real SMTP server that keeps what it takes, and can be told to refuse, or to be away. */
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { eventually } from './eventually.ts';

export type Received = {
  readonly from: string;
  readonly to: readonly string[];
  readonly subject: string;
  /** The plain text, decoded. */
  readonly text: string;
  readonly raw: string;
};

export type Mailbox = {
  readonly url: string;
  readonly received: readonly Received[];
  /** How many connections there were. */
  readonly connections: () => number;
  /** What every recipient is answered from now on; null takes them again. */
  readonly refuse: (answer: { readonly code: number; readonly text: string } | null) => void;
  /** The newest mail to an address; waits for it. */
  readonly newestTo: (address: string, past?: number) => Promise<Received>;
  readonly close: () => Promise<void>;
};

const decoded = (part: string): string => {
  const [head = '', ...body] = part.split('\r\n\r\n');
  const content = body.join('\r\n\r\n');
  if (/content-transfer-encoding: base64/i.test(head)) return Buffer.from(content, 'base64').toString();
  if (!/content-transfer-encoding: quoted-printable/i.test(head)) return content;
  const bytes = content
    .replaceAll('=\r\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
};

const textOf = (raw: string): string => {
  const boundary = /boundary="?([^"\r\n;]+)/.exec(raw)?.[1];
  const parts = boundary === undefined ? [raw] : raw.split(`--${boundary}`);
  return decoded(parts.find((part) => /content-type: text\/plain/i.test(part))?.trimStart() ?? raw);
};

export const openMailbox = async (): Promise<Mailbox> => {
  const received: Received[] = [];
  let refusal: { readonly code: number; readonly text: string } | null = null;
  let connections = 0;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onConnect: (_session, done) => {
      connections += 1;
      done();
    },
    onRcptTo: (_address, _session, done) => done(refusal ? Object.assign(new Error(refusal.text), { responseCode: refusal.code }) : null),
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const raw = Buffer.concat(chunks).toString();
        const { mailFrom, rcptTo } = session.envelope;
        received.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          subject: /^subject: (.*)$/im.exec(raw)?.[1]?.trim() ?? '',
          text: textOf(raw),
          raw,
        });
        done();
      });
    },
  });
  server.on('error', () => undefined); // A client that goes away in the middle is no fault of a mailbox.
  const listening = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', () => listening.resolve());
  await listening.promise;
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    received,
    connections: () => connections,
    refuse: (answer) => {
      refusal = answer;
    },
    newestTo: (address, past = 0) =>
      eventually(async () => {
        const found = received.filter(({ to }) => to.includes(address));
        return found.length > past ? found.at(-1) : undefined;
      }),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
};
