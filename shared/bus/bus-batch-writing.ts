import type { Result } from '../checks/checks-result.ts';
import { type Batch, isPlain, noPhase } from './bus-batch.ts';

/**
 * Batches as they are written. Each result has a text of its own, so that whoever sends them has only to join these: that of a plain pass is the
 * array of its monitor and its numbers, that of any other the whole result as an object. Old readers want every one of them whole.
 */
export type BatchVersion = 1 | 2;

/** The newest form of batches that a coordinator of this version reads: what it tells probes. */
export const newestBatch: BatchVersion = 2;

/** The newest form that a reader who told this of itself understands; one that told nothing is old. */
export const formFor = (told: number | undefined): BatchVersion => (told !== undefined && told >= 2 ? 2 : 1);

export const wholeText = (seq: number, result: Omit<Result, 'seq'>): string => `{"seq":${seq},${JSON.stringify(result).slice(1)}`;

/** The short text of a plain pass; undefined for what is more than that. */
export const passText = (seq: number, result: Omit<Result, 'seq'>): string | undefined => {
  const { monitor, config_version, at, took_ms, phases } = result;
  if (phases === null || !isPlain(result)) return undefined;
  const { dns, tcp, tls, first_byte, total } = phases;
  const told = [dns ?? noPhase, tcp ?? noPhase, tls ?? noPhase, first_byte ?? noPhase, total ?? noPhase];
  return JSON.stringify([monitor, seq, config_version, at, took_ms, ...told]);
};

const isShort = (text: string): boolean => text.startsWith('[');

/** The whole text of a result of whichever text. */
const asWhole = (text: string): string => {
  if (!isShort(text)) return text;
  const values: unknown = JSON.parse(text);
  const [monitor, seq, config_version, at, took_ms, ...told] = Array.isArray(values) ? values : [];
  const [dns, tcp, tls, first_byte, total] = told.map((value) => (value === noPhase ? null : value));
  const phases = { dns, tcp, tls, first_byte, total };
  const rest = { monitor, config_version, at, took_ms, outcome: 'ok', cause: null, phases, evidence: null, look: null };
  return JSON.stringify({ seq, ...rest });
};

/** The body of a batch of these results, in order of seq. */
export const batchText = (
  version: BatchVersion,
  { probe, generation, partition, after }: Pick<Batch, 'probe' | 'generation' | 'partition' | 'after'>,
  texts: readonly string[],
): string => {
  const head = `{"v":${version},"probe":"${probe}","generation":"${generation}","partition":${partition},"after":${after}`;
  if (version === 1) return `${head},"results":[${texts.map(asWhole).join(',')}]}`;
  const short = texts.filter(isShort);
  // A monitor's id has no comma.
  const monitors = short.map((text) => text.slice(1, text.indexOf(','))).join(',');
  const numbers = short.map((text) => text.slice(text.indexOf(',') + 1, -1)).join(',');
  const others = texts.filter((text) => !isShort(text)).join(',');
  return `${head},"passes":{"monitors":[${monitors}],"numbers":[${numbers}]},"others":[${others}]}`;
};
