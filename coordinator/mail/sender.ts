import { codeOf } from '../../shared/base/errors.ts';

/** One mail as it goes out. */
export type MailTemplate = {
  /** The same with every attempt, so that a mailbox that got it twice can tell. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html?: string;
  /** The id of the letter that began the thread to which it belongs. */
  readonly in_reply_to?: string | null;
  readonly headers?: { readonly [name: string]: string };
};

/** Signs what goes out in the name of a domain, whose DNS has the public key at `selector._domainkey` (RFC 6376). */
export type Dkim = { readonly domain: string; readonly selector: string; readonly key: string };

/** The server will never take this mail, whoever asks and whenever. */
export class MailRefused extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'MailRefused';
  }
}

/** What a mail server answered: its three digits; null when nothing did. */
export const mailCodeOf = (error: unknown): number | null => {
  const from = error instanceof MailRefused ? error.cause : error;
  return from instanceof Error && 'responseCode' in from && typeof from.responseCode === 'number' ? from.responseCode : null;
};

/** Sends mail over connections that are kept: for accounts, and for whatever else has something to say by mail. */
export type MailSender = {
  /** Settles when the server has taken it. @throws MailRefused, or what went wrong this time. */
  readonly send: (letter: MailTemplate) => Promise<void>;
  readonly close: () => void;
};

const secondsMs = 1_000;

/** Its settings, where the address itself says nothing else. */
const defaults = {
  pool: 'true',
  connectionTimeout: String(10 * secondsMs),
  greetingTimeout: String(10 * secondsMs),
  socketTimeout: String(30 * secondsMs),
} as const;

const pooled = (url: string, connections: number): string => {
  const address = new URL(url);
  for (const [name, value] of Object.entries({ ...defaults, maxConnections: String(connections) }))
    if (!address.searchParams.has(name)) address.searchParams.set(name, value);
  return address.href;
};

/** A definite no to this recipient or this text; what the server says of us (a wrong password, too much at once) may change. */
const isDefinite = (error: unknown): error is Error =>
  error instanceof Error &&
  ['EENVELOPE', 'EMESSAGE'].includes(codeOf(error)) &&
  (!('responseCode' in error) || (typeof error.responseCode === 'number' && error.responseCode >= 500));

export const createMailSender = (parts: {
  readonly url: string;
  readonly from: string;
  readonly dkim?: Dkim | undefined;
  /** How many at most; one, unless many mails may be in a hurry. */
  readonly connections?: number;
}): MailSender => {
  const { url, from, dkim, connections = 1 } = parts;
  const signing = dkim === undefined ? {} : { dkim: { domainName: dkim.domain, keySelector: dkim.selector, privateKey: dkim.key } };
  const made = async () => {
    // Loaded with the first mail: most starts send none.
    const { createTransport } = await import('nodemailer');
    return createTransport({ url: pooled(url, connections), ...signing });
  };
  let transport: ReturnType<typeof made> | undefined;
  const host = /@([^\s>]+)>?\s*$/.exec(from)?.[1] ?? 'antipode';
  return {
    send: async ({ id, to, subject, text, html, in_reply_to, headers = {} }) => {
      transport ??= made();
      const automatic = { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' };
      const root = in_reply_to == null ? {} : { inReplyTo: `<${in_reply_to}@${host}>`, references: `<${in_reply_to}@${host}>` };
      const mail = {
        from,
        to: { name: '', address: to },
        subject,
        text,
        messageId: `<${id}@${host}>`,
        headers: { ...automatic, ...headers },
      };
      try {
        await (await transport).sendMail({ ...mail, ...root, ...(html === undefined ? {} : { html }) });
      } catch (error) {
        if (isDefinite(error)) throw new MailRefused(error.message, { cause: error });
        throw error;
      }
    },
    close: () => void transport?.then((made) => made.close()),
  };
};
