import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import { type DestinationStream, type Logger, pino } from 'pino';
import { codeOf } from './errors.ts';

/**
 * A pipe for log lines. If no one reads a pipe, it fills up, and the next write blocks in the
 * kernel: a process that only wanted to log would hang and ignore every signal. Here, lines wait in
 * memory instead, and the excess is counted and dropped.
 */
export type LogOutput = { readonly write: (line: string) => void };

const maxBytes = 1_048_576;
const againMs = 1_000;

/** `write` returns how many bytes were taken, and throws EAGAIN when the pipe is full. */
export function createLogOutput(write: (data: Uint8Array) => number): LogOutput {
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
      // No one reads any more: the process continues without its log.
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
      add(
        `${JSON.stringify({ level: 40, time: Date.now(), msg: `nobody read the log: ${missing} lines are missing` })}\n`,
      );
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
}

let opened: LogOutput | undefined;

/**
 * Standard output where that is a pipe, opened again so other users of the pipe keep its mode;
 * undefined where it is no pipe or cannot be opened.
 */
export function openPipe(): LogOutput | undefined {
  opened ??= pipeOfOutput();
  return opened;
}

function pipeOfOutput(): LogOutput | undefined {
  try {
    if (!fstatSync(1).isFIFO()) return undefined;
    const own = openSync('/proc/self/fd/1', constants.O_WRONLY | constants.O_NONBLOCK);
    return createLogOutput((data) => writeSync(own, data));
  } catch {
    // No such path here, or it belongs to another user: log normally, and wait for the reader.
    return undefined;
  }
}

export type Log = Logger;

const secretKeys = [
  'authorization',
  'cookie',
  'password',
  'token',
  'seed',
  'credentials',
  'secret',
];

/**
 * Text that looks like one of our secrets, wherever it appears: API tokens, addresses with a secret
 * in their path, cookies, nkey seeds, passwords in URLs.
 */
const secretText =
  /svc_[0-9A-Za-z]{8,}|(?<=svc_session=)[\w-]+|(?<=\/(?:beat|enter|join|reset|verify|keep|finish|shared\/(?:incidents|reports))\/)[^/\s?"\\]+|\bS[UAOX][A-Z2-7]{50,}|(?<=:\/\/[^:/\s]*:)[^@\s]+(?=@)/g;

/**
 * JSON lines on standard output. Secrets are removed by key and by shape, because an error's text
 * can contain one.
 */
export function createLog(
  options: { name: string; level: string },
  destination?: DestinationStream,
): Log {
  return pino(
    {
      name: options.name,
      level: options.level,
      redact: { paths: secretKeys.flatMap((key) => [key, `*.${key}`]), censor: '***' },
      hooks: { streamWrite: (line) => line.replace(secretText, '***') },
    },
    destination ?? openPipe() ?? pino.destination({ dest: 1, sync: true }),
  );
}
