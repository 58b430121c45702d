import { type DestinationStream, type Logger, pino } from 'pino';
import { openPipe } from './log-output.ts';

export type Log = Logger;

const secretKeys = ['authorization', 'cookie', 'password', 'token', 'seed', 'credentials', 'secret'];

/** Text that looks like one of our secrets, wherever it turns up: API tokens, addresses with a secret in their path, cookies, nkey seeds, passwords in URLs. */
const secretText =
  /svc_[0-9A-Za-z]{8,}|(?<=svc_session=)[\w-]+|(?<=\/(?:beat|enter|join|reset|verify|keep|finish|shared\/incidents)\/)[^/\s?"\\]+|\bS[UAOX][A-Z2-7]{50,}|(?<=:\/\/[^:/\s]*:)[^@\s]+(?=@)/g;

/** JSON lines on standard output. Secrets are taken out by key and by shape, because an error's text can carry one. */
export const createLog = (options: { name: string; level: string }, destination?: DestinationStream): Log =>
  pino(
    {
      name: options.name,
      level: options.level,
      redact: { paths: secretKeys.flatMap((key) => [key, `*.${key}`]), censor: '***' },
      hooks: { streamWrite: (line) => line.replace(secretText, '***') },
    },
    destination ?? openPipe() ?? pino.destination({ dest: 1, sync: true }),
  );
