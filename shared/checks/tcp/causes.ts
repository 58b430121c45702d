import type { CauseRow } from '../result.ts';

/** Protocols of greetings and of STARTTLS, as their users write them. */
const names: Readonly<Record<string, string>> = {
  smtp: 'SMTP',
  imap: 'IMAP',
  pop3: 'POP3',
  ftp: 'FTP',
  ssh: 'SSH',
  redis: 'Redis',
  postgres: 'Postgres',
  mysql: 'MySQL',
  ldap: 'LDAP',
};

/**
 * Every cause of a tcp check beyond those of a connection. Params hold numbers, and texts of the
 * monitor's own config or of lists of ours.
 */
export const tcpCauses = {
  connection_closed: {
    layer: 'tcp',
    sentence: () => 'Connection closed without an answer',
  },
  starttls_refused: {
    layer: 'tls',
    sentence: ({ protocol, code }) =>
      `The ${nameOf(protocol)} server does not start TLS${bracketed(code)}`,
  },
  greeting_refused: {
    layer: 'assertion',
    sentence: ({ protocol, code }) =>
      `The ${nameOf(protocol)} server refuses service${bracketed(code)}`,
  },
  greeting_unexpected: {
    layer: 'assertion',
    sentence: ({ protocol }) => `The server does not speak ${nameOf(protocol)} on this port`,
  },
  answer_lacks: {
    layer: 'assertion',
    sentence: ({ text, truncated }) =>
      `Answer does not contain "${text}"${truncated === 1 ? ' in the first 64 KiB, more was not read' : ''}`,
  },
} satisfies Record<string, CauseRow>;

function nameOf(protocol: string | number | undefined): string {
  return names[String(protocol)] ?? '';
}

function bracketed(code: string | number | undefined): string {
  return code === undefined ? '' : ` (${code})`;
}

export type TcpCause = keyof typeof tcpCauses;
