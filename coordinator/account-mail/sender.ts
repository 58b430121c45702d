import { codeOf } from '../../shared/base/errors.ts';

/** One outgoing mail. */
export type MailTemplate = {
  /** The same for every attempt, so that a mailbox can recognise a duplicate. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html?: string;
  /** The id of the mail that began its thread. */
  readonly in_reply_to?: string | null;
  readonly headers?: { readonly [name: string]: string };
};

/**
 * Signs mails in the name of a domain, whose DNS has the public key at `selector._domainkey` (RFC
 * 6376).
 */
type Dkim = { readonly domain: string; readonly selector: string; readonly key: string };

/** The server will never accept this mail, from anyone at any time. */
export class MailRefused extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'MailRefused';
  }
}

/** The three digits of a mail server's answer; null without an answer. */
export function mailCodeOf(error: unknown): number | null {
  const from = error instanceof MailRefused ? error.cause : error;
  return from instanceof Error && 'responseCode' in from && typeof from.responseCode === 'number'
    ? from.responseCode
    : null;
}

/** Sends mail over persistent connections, for accounts and all other mails. */
export type MailSender = {
  /**
   * Resolves when the server has accepted it. @throws MailRefused, or the error of this attempt.
   */
  readonly send: (letter: MailTemplate) => Promise<void>;
  readonly close: () => void;
};

const secondsMs = 1_000;

export function createMailSender(parts: {
  readonly url: string;
  readonly from: string;
  readonly dkim?: Dkim | undefined;
  /** The maximum; one, unless many mails may be urgent. */
  readonly connections?: number;
}): MailSender {
  const { url, from, dkim, connections = 1 } = parts;
  const signing =
    dkim === undefined
      ? {}
      : { dkim: { domainName: dkim.domain, keySelector: dkim.selector, privateKey: dkim.key } };
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
      const root =
        in_reply_to == null
          ? {}
          : { inReplyTo: `<${in_reply_to}@${host}>`, references: `<${in_reply_to}@${host}>` };
      const mail = {
        from,
        to: { name: '', address: to },
        subject,
        text,
        messageId: `<${id}@${host}>`,
        headers: { ...automatic, ...headers },
      };
      try {
        await (await transport).sendMail({
          ...mail,
          ...root,
          ...(html === undefined ? {} : { html }),
        });
      } catch (error) {
        if (isDefinite(error)) throw new MailRefused(error.message, { cause: error });
        throw error;
      }
    },
    close: () => void transport?.then((made) => made.close()),
  };
}

/** Defaults, where the address sets nothing else. */
const defaults = {
  pool: 'true',
  connectionTimeout: String(10 * secondsMs),
  greetingTimeout: String(10 * secondsMs),
  socketTimeout: String(30 * secondsMs),
} as const;

function pooled(url: string, connections: number): string {
  const address = new URL(url);
  for (const [name, value] of Object.entries({ ...defaults, maxConnections: String(connections) }))
    if (!address.searchParams.has(name)) address.searchParams.set(name, value);
  return address.href;
}

/**
 * A final refusal of this recipient or this text; refusals of us (a wrong password, too much at
 * once) may change.
 */
function isDefinite(error: unknown): error is Error {
  return (
    error instanceof Error &&
    ['EENVELOPE', 'EMESSAGE'].includes(codeOf(error)) &&
    (!('responseCode' in error) ||
      (typeof error.responseCode === 'number' && error.responseCode >= 500))
  );
}
