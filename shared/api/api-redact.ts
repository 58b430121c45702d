import { isRecord } from '../base/json-record.ts';
import type { Fault } from './api-fields.ts';

const secretKey = /passw|secret|bearer|token|authori[sz]ation|cookie|api[-_]?key|credential|^code$/i;

const hidden = '***';

const namesOf = (value: unknown): ReadonlySet<string> =>
  new Set(
    (Array.isArray(value) ? value : [value]).filter((name): name is string => typeof name === 'string').map((name) => name.toLowerCase()),
  );

/** A copy of an input in which nothing that may be a secret is left to read, for echoing it in a fault. */
export const redact = (input: unknown): unknown => {
  // A whole config sent as text holds its keys inside.
  if (typeof input === 'string') return secretKey.test(input) && /[:=]/.test(input) ? hidden : input;
  if (Array.isArray(input)) return input.map(redact);
  if (!isRecord(input)) return input;
  const secretHeaders = namesOf(input.secret_headers);
  return Object.fromEntries(
    Object.entries(input).map(([key, value]) => {
      if (key === 'secret_headers') return [key, value];
      if (key === 'headers' && isRecord(value)) return [key, redactHeaders(value, secretHeaders)];
      return [key, secretKey.test(key) ? hidden : redact(value)];
    }),
  );
};

const redactHeaders = (headers: Readonly<Record<string, unknown>>, secret: ReadonlySet<string>): unknown =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, secret.has(name.toLowerCase()) || secretKey.test(name) ? hidden : redact(value)]),
  );

export const redactFaults = (faults: readonly Fault[]): readonly Fault[] =>
  faults.map((fault) => ({
    ...fault,
    input: fault.loc.some((part) => typeof part === 'string' && secretKey.test(part)) ? hidden : redact(fault.input),
  }));
