import { parentPort, workerData } from 'node:worker_threads';
import { z } from 'zod';
import { readDocument } from '../../shared/imports/document.ts';
import {
  downloadFrom,
  type Reach,
  SourceRefused,
  services,
} from '../../shared/imports/download.ts';
import type { Imported } from '../../shared/imports/result.ts';
import {
  convert,
  isYaml,
  readAnswer,
  type Source,
  sources,
  unreadable,
} from '../../shared/imports/sources.ts';

/** The thread that reads and converts one import. What has to be asked of others, it asks of us. */

export type Wanted =
  | { readonly source: Source; readonly today: string; readonly document: string }
  | {
      readonly source: Source;
      readonly today: string;
      readonly key: string;
      readonly host: string | undefined;
    };

export type Said =
  | { readonly is: 'reach'; readonly request: Parameters<Reach>[0] }
  | { readonly is: 'wait'; readonly seconds: number }
  | { readonly is: 'done'; readonly imported: Imported }
  /** The import is at fault, in words for its user. */
  | { readonly is: 'refused'; readonly message: string };

export type Reply =
  | { readonly is: 'reached'; readonly answer: Awaited<ReturnType<Reach>> }
  | { readonly is: 'waited' };

/** A thread of tests has the same form, and is another's. */
const wanted = z.object({
  importing: z.object({
    source: z.enum(sources),
    today: z.string(),
    document: z.string().optional(),
    key: z.string().optional(),
    host: z.string().optional(),
  }),
});

// An error that nobody foresaw ends the thread, and whoever started it hears of it.
if (parentPort) void work(parentPort, workerData);

async function work(port: NonNullable<typeof parentPort>, given: unknown): Promise<void> {
  const { source, today, document, key = '', host } = wanted.parse(given).importing;
  const say = (said: Said): void => port.postMessage(said);
  const ask = (said: Said): Promise<Reply> =>
    new Promise((resolve) => {
      port.once('message', resolve);
      say(said);
    });
  const reach: Reach = async (request) => {
    const reply = await ask({ is: 'reach', request });
    if (reply.is !== 'reached') throw new Error('the reply holds no answer to the request');
    return reply.answer;
  };
  const wait = async (seconds: number): Promise<void> => void (await ask({ is: 'wait', seconds }));
  const service = services.find((one) => one === source);
  try {
    const found =
      document === undefined && service !== undefined
        ? await downloadFrom(service, { key, host }, { reach, wait })
        : documentOf(source, document ?? '');
    const imported = convert(source, [found], today);
    say(
      typeof imported === 'string'
        ? { is: 'refused', message: imported }
        : { is: 'done', imported },
    );
  } catch (error) {
    if (!(error instanceof SourceRefused)) throw error;
    say({ is: 'refused', message: error.message });
  }
}

function documentOf(source: Source, text: string): unknown {
  if (isYaml(source)) {
    const { value, faults } = readDocument('file', text);
    const [fault] = faults;
    if (fault)
      throw new SourceRefused('unreadable', `document: line ${fault.line}: ${fault.message}`);
    return value;
  }
  const value = readAnswer(source, text);
  if (value === undefined)
    throw new SourceRefused('unreadable', `document: the file ${unreadable(source)}`);
  return value;
}
