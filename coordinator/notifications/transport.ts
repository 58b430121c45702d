import {
  createCipheriv,
  createECDH,
  createPrivateKey,
  type ECDH,
  hkdfSync,
  randomBytes,
  sign,
} from 'node:crypto';
import type { LimitFunction } from 'p-limit';
import pLimit from 'p-limit';
import type { Agent, Dispatcher } from 'undici';
import { codeOf } from '../../shared/base/errors.ts';
import { version } from '../../shared/base/process.ts';
import type { Clock } from '../../shared/base/time.ts';
import { MailRefused, type MailSender, mailCodeOf } from '../account-mail/sender.ts';
import {
  BlockedAddress,
  type ConnectionDependencies,
  createConnector,
  createLookup,
  createOwnPlaces,
  type Lookup,
  UnknownName,
} from '../outbound/connection.ts';
import type {
  Outgoing,
  OutgoingMail,
  OutgoingPush,
  OutgoingRequest,
  SendFailure,
  SendOutcome,
} from './kinds/types.ts';

/**
 * Our identity at the push services of browsers. It must be the same for all coordinators and never
 * change, or no browser receives our messages any more.
 */
export type VapidKeys = {
  /** An https: or mailto: address at which a push service reaches the operator. */
  readonly subject: string;
  /** P-256, base64url: the public key uncompressed (65 bytes), the private one 32 bytes. */
  readonly public_key: string;
  readonly private_key: string;
};

export type SenderDependencies = {
  readonly clock: Clock;
  /** Non-public address ranges that this host allows (ALERT_ALLOW_CIDRS); none by default. */
  readonly allow: readonly string[];
  /** Undefined where mail is not set up. */
  readonly mail: MailSender | undefined;
  /** Undefined where no browser is notified. */
  readonly vapid: (() => Promise<VapidKeys>) | undefined;
  /** From the call to the whole answer, including the wait for others to the same host. */
  readonly limitMs?: number;
  /** The most at once to one host. */
  readonly toOneHost?: number;
  readonly lookup?: Lookup;
  readonly ownPlaces?: ConnectionDependencies['ownPlaces'] | undefined;
};

/**
 * Sends what a kind made. It is the only way that notifications leave for addresses of others. It
 * never rejects: a failure is an answer.
 */
export type Sender = {
  readonly send: (outgoing: Outgoing) => Promise<SendOutcome>;
  readonly close: () => Promise<void>;
};

const usualLimitMs = 10_000;

/**
 * The most at once to one host: the host is not flooded, and when it is slow, it holds up no
 * others.
 */
export const atOnceToOneHost = 10;
/** As many as the connections that a mail server may have for them (`createMailSender`). */
export const mailsAtOnce = 5;

export function createSender({
  clock,
  allow,
  mail,
  vapid,
  limitMs = usualLimitMs,
  toOneHost = atOnceToOneHost,
  lookup = createLookup(),
  ownPlaces = createOwnPlaces(),
}: SenderDependencies): Sender {
  const agentMade = async (): Promise<Agent> => {
    const undici = await load();
    // One connection each: none is reused, and each is judged.
    return new undici.Agent({
      connect: createConnector(undici.buildConnector, { allow, lookup, ownPlaces }),
      pipelining: 0,
      connections: toOneHost,
      maxHeaderSize: 16 * 1_024,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  };
  let agent: ReturnType<typeof agentMade> | undefined;
  const limits = new Map<string, LimitFunction>();

  const limited = async <Done>(host: string, work: () => Promise<Done>): Promise<Done> => {
    const limit = limits.get(host) ?? pLimit(toOneHost);
    limits.set(host, limit);
    try {
      return await limit(work);
    } finally {
      if (limit.activeCount === 0 && limit.pendingCount === 0) limits.delete(host);
    }
  };

  type Raw = {
    readonly method: 'POST' | 'PUT';
    readonly url: URL;
    readonly headers: { [name: string]: string };
    readonly body: string | Buffer;
  };

  const request = async ({ method, url, headers, body }: Raw): Promise<SendOutcome> => {
    const signal = AbortSignal.timeout(limitMs);
    return limited(url.host, async () => {
      try {
        if (signal.aborted) return failed('timeout');
        agent ??= agentMade();
        const answer = await (await agent).request({
          method,
          body,
          signal,
          origin: url.origin,
          path: `${url.pathname}${url.search}`,
          headers: {
            'user-agent': `Antipode/${version}`,
            'accept-encoding': 'identity',
            ...headers,
          },
        });
        return {
          is: 'answer',
          status: answer.statusCode,
          headers: plainHeaders(answer.headers),
          body: await readBody(answer.body),
        };
      } catch (error) {
        return failed(classOf(error, signal.aborted));
      }
    });
  };

  const readUrl = (text: string): URL | undefined => {
    const url = URL.parse(text);
    return url !== null &&
      /^https?:$/.test(url.protocol) &&
      url.username === '' &&
      url.password === ''
      ? url
      : undefined;
  };

  const sendRequest = async ({
    method,
    url: text,
    headers,
    body,
    afterwards,
  }: OutgoingRequest): Promise<SendOutcome> => {
    const url = readUrl(text);
    if (url === undefined) return failed('bad_address');
    const answer = await request({ method, url, headers, body });
    if (
      afterwards !== undefined &&
      answer.is === 'answer' &&
      answer.status >= 200 &&
      answer.status < 300
    )
      await sendRequest(afterwards);
    return answer;
  };

  const mailing = pLimit(mailsAtOnce);

  const sendMail = async ({ by: _, ...letter }: OutgoingMail): Promise<SendOutcome> => {
    if (mail === undefined) return failed('mail_not_set_up');
    const signal = AbortSignal.timeout(limitMs);
    return mailing(async () => {
      // A message that waited too long for a slow server did not leave, and is tried again. Once
      // the mailer has it, it cannot be cancelled.
      if (signal.aborted) return failed('timeout');
      try {
        await mail.send(letter);
        return { is: 'mail', code: 250, definite: true };
      } catch (error) {
        return { is: 'mail', code: mailCodeOf(error), definite: error instanceof MailRefused };
      }
    });
  };

  const sendPush = async ({
    endpoint,
    p256dh,
    auth,
    payload,
    topic,
    urgency,
    ttl_s,
  }: OutgoingPush): Promise<SendOutcome> => {
    if (vapid === undefined) return failed('push_not_set_up');
    const url = readUrl(endpoint);
    if (url === undefined) return failed('bad_address');
    let body: Buffer;
    try {
      const own = createECDH('prime256v1');
      own.generateKeys();
      body = encryptPush(payload, { p256dh, auth }, { salt: randomBytes(16), own });
    } catch {
      return failed('bad_address'); // The browser's key is invalid; no retry makes it valid.
    }
    const headers = {
      'content-type': 'application/octet-stream',
      'content-encoding': 'aes128gcm',
      ttl: String(ttl_s),
      urgency,
      topic,
      authorization: vapidAuthorization(await vapid(), endpoint, clock.now()),
    };
    return request({ method: 'POST', url, headers, body });
  };

  return {
    send: async (outgoing) => {
      if (outgoing.by === 'mail') return sendMail(outgoing);
      return outgoing.by === 'push' ? sendPush(outgoing) : sendRequest(outgoing);
    },
    close: async () => (await agent)?.destroy(),
  };
}

function load() {
  return import('undici');
}

function failed(failure: SendFailure): SendOutcome {
  return { is: 'failure', failure };
}

function plainHeaders(headers: Dispatcher.ResponseData['headers']): { [name: string]: string } {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined
        ? []
        : [[name.toLowerCase(), Array.isArray(value) ? value.join(', ') : value]],
    ),
  );
}

const maxBody = 64 * 1_024;

/** What arrived of a body in time, at most 64 KB. A known status counts, however its body ends. */
async function readBody(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of body) {
      const bytes = Buffer.from(chunk);
      chunks.push(bytes.subarray(0, maxBody - length));
      length += bytes.length;
      if (length >= maxBody) break;
    }
  } catch {
    // Broken off or timed out: what arrived is all there is.
  } finally {
    body.destroy();
  }
  return Buffer.concat(chunks).toString();
}

const tlsCodes =
  /^(?:ERR_(?:TLS|SSL|OSSL)_|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|INVALID_CA|HOSTNAME_MISMATCH|EPROTO$)/;
const connectCodes =
  /^(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|EADDRNOTAVAIL|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/;

function classOf(error: unknown, isOver: boolean): SendFailure {
  if (error instanceof BlockedAddress) return 'blocked_address';
  if (error instanceof UnknownName) return 'dns_failed';
  if (isOver) return 'timeout';
  const code = codeOf(error);
  if (tlsCodes.test(code)) return 'tls_invalid';
  if (connectCodes.test(code)) return 'connect_failed';
  if (code === 'ERR_INVALID_URL' || code === 'UND_ERR_INVALID_ARG') return 'bad_address';
  return 'broken_off';
}

/**
 * Web Push: a message that only the browser can read (RFC 8291, aes128gcm of RFC 8188), and a
 * signature of the sender (VAPID, RFC 8292). Some sixty lines over node:crypto; the library for it
 * was last maintained in 2024.
 *
 * New for every message. It is a parameter so that tests can make the same message twice (and
 * compare it with the RFC's own).
 */
type PushRandomness = { readonly salt: Buffer; readonly own: ECDH };

/**
 * One record: the whole message and its end mark. @throws when the browser's key is no point of the
 * curve.
 */
export function encryptPush(
  payload: string,
  browser: { readonly p256dh: string; readonly auth: string },
  { salt, own }: PushRandomness,
): Buffer {
  const theirs = bytesOf(browser.p256dh);
  const ours = own.getPublicKey();
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), theirs, ours]);
  const input = derive(own.computeSecret(theirs), bytesOf(browser.auth), info, 32);
  const key = derive(input, salt, 'Content-Encoding: aes128gcm\0', 16);
  const nonce = derive(input, salt, 'Content-Encoding: nonce\0', 12);
  const cipher = createCipheriv('aes-128-gcm', key, nonce);
  const encrypted = Buffer.concat([
    cipher.update(payload),
    cipher.update(Buffer.from([2])),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
  const recordSize = Buffer.alloc(4);
  recordSize.writeUInt32BE(4_096);
  return Buffer.concat([salt, recordSize, Buffer.from([ours.length]), ours, encrypted]);
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text, 'base64url');
}

function derive(
  secret: Uint8Array,
  salt: Uint8Array,
  info: Uint8Array | string,
  length: number,
): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, info, length));
}

const hours12 = 12 * 3_600;

/** The Authorization header for one push service. @param now in ms. */
function vapidAuthorization(keys: VapidKeys, endpoint: string, now: number): string {
  const point = bytesOf(keys.public_key);
  const key = createPrivateKey({
    format: 'jwk',
    key: {
      kty: 'EC',
      crv: 'P-256',
      d: keys.private_key,
      x: point.subarray(1, 33).toString('base64url'),
      y: point.subarray(33, 65).toString('base64url'),
    },
  });
  const claims = {
    aud: new URL(endpoint).origin,
    exp: Math.floor(now / 1_000) + hours12,
    sub: keys.subject,
  };
  const signed = `${json({ typ: 'JWT', alg: 'ES256' })}.${json(claims)}`;
  const signature = sign('sha256', Buffer.from(signed), {
    key,
    dsaEncoding: 'ieee-p1363',
  }).toString('base64url');
  return `vapid t=${signed}.${signature}, k=${keys.public_key}`;
}

function json(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/**
 * Loads what the first message would otherwise wait for: it is large, and takes a moment on a small
 * machine.
 */
export async function prepareSending(): Promise<void> {
  return void (await load());
}
