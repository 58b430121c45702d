/** An SMTP server as a provider runs one: nothing before STARTTLS, nobody without a password, and a no where a test wants it. */
import type { AddressInfo } from 'node:net';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer } from 'smtp-server';
import { mint } from './certificates.ts';

export type MailServer = {
  readonly url: string;
  readonly raw: readonly string[];
  /** Whether each mail came over TLS, from whom who had signed in. */
  readonly sessions: readonly { readonly secure: boolean; readonly user: unknown }[];
  readonly newest: () => Promise<Email>;
  readonly refuse: (answer: { readonly code: number; readonly at: 'RCPT' | 'DATA' } | null) => void;
  readonly close: () => Promise<void>;
};

export const openMailServer = async (account = { user: 'antipode', password: 'right & proper' }): Promise<MailServer> => {
  const certificate = mint({ names: ['127.0.0.1'] });
  const raw: string[] = [];
  const sessions: { secure: boolean; user: unknown }[] = [];
  let refusal: { readonly code: number; readonly at: 'RCPT' | 'DATA' } | null = null;
  const no = (at: 'RCPT' | 'DATA'): Error | null =>
    refusal?.at === at ? Object.assign(new Error('not this one'), { responseCode: refusal.code }) : null;
  const server = new SMTPServer({
    cert: certificate.certificate,
    key: certificate.key,
    authMethods: ['PLAIN', 'LOGIN'],
    onAuth: ({ username, password }, session, done) => {
      const isRight = username === account.user && password === account.password && session.secure;
      done(isRight ? null : Object.assign(new Error('who are you'), { responseCode: 535 }), { user: account.user });
    },
    onRcptTo: (_address, _session, done) => done(no('RCPT')),
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const error = no('DATA');
        if (error === null) {
          raw.push(Buffer.concat(chunks).toString('latin1'));
          sessions.push({ secure: session.secure, user: session.user });
        }
        done(error);
      });
    },
  });
  server.on('error', () => undefined); // A client that goes away in the middle is no fault of a mailbox.
  const listening = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', () => listening.resolve());
  await listening.promise;
  const { port } = server.server.address() as AddressInfo;
  const { user, password } = account;
  return {
    // Its certificate is nobody's, as inside many a network; what matters here is that it is asked for.
    url: `smtp://${user}:${encodeURIComponent(password)}@127.0.0.1:${port}?requireTLS=true&tls.rejectUnauthorized=false`,
    raw,
    sessions,
    newest: () => PostalMime.parse(Buffer.from(raw.at(-1) ?? '', 'latin1')),
    refuse: (answer) => {
      refusal = answer;
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
};
