import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import { type DestinationStream, type Logger, pino } from 'pino';
import { codeOf } from './errors.ts';

/**
 * A pipe that lines are written to. When nobody reads it, it is full soon, and whoever writes on waits in the kernel: a process that only wanted to
 * log would stand, deaf to every signal. Here lines wait in memory instead, and what is too much is counted and left out.
 */
export type LogOutput = { readonly write: (line: string) => void };

const maxBytes = 1_048_576;
const againMs = 1_000;

/** `write` gives how many bytes were taken, and throws EAGAIN when there is room for none. */
export const createLogOutput = (write: (data: Uint8Array) => number): LogOutput => {
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  let missing = 0;
  let isBroken = false;
  let timer: NodeJS.Timeout | undefined;
  const add = (line: string): void => {
    const data = Buffer.from(line);
    waiting.push(data);
    bytes += data.length;
  };
  const flush = (): void => {
    let done = 0;
    try {
      for (let [first] = waiting; first !== undefined; first = waiting[done]) {
        const taken = write(first);
        bytes -= taken;
        if (taken < first.length) waiting[done] = first.subarray(taken);
        else done += 1;
      }
    } catch (error) {
      // Nobody will read any more: who logs goes on without.
      isBroken = codeOf(error) !== 'EAGAIN';
    }
    waiting = waiting.slice(done);
  };
  const turn = (): void => {
    flush();
    if (isBroken) [waiting, bytes] = [[], 0];
    else if (waiting.length > 0) {
      if (timer === undefined)
        timer = setTimeout(() => {
          timer = undefined;
          turn();
        }, againMs).unref();
    } else if (missing > 0) {
      add(`${JSON.stringify({ level: 40, time: Date.now(), msg: `nobody read the log: ${missing} lines are missing` })}\n`);
      missing = 0;
      turn();
    }
  };
  process.on('exit', flush);
  return {
    write: (line) => {
      if (isBroken) return;
      if (bytes > maxBytes) missing += 1;
      else add(line);
      turn();
    },
  };
};

let opened: LogOutput | undefined;

/** For standard output where that is a pipe, opened anew so that its other users keep theirs as it is; undefined where it is none, or cannot be had. */
export const openPipe = (): LogOutput | undefined => {
  opened ??= pipeOfOutput();
  return opened;
};

const pipeOfOutput = (): LogOutput | undefined => {
  try {
    if (!fstatSync(1).isFIFO()) return undefined;
    const own = openSync('/proc/self/fd/1', constants.O_WRONLY | constants.O_NONBLOCK);
    return createLogOutput((data) => writeSync(own, data));
  } catch {
    // No such way here, or it is another user's: it is written to as ever, and waits for its reader.
    return undefined;
  }
};

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
