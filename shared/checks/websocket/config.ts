import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import type { Config } from '../assignment.ts';
import {
  asText,
  type ConnectionSettings,
  connectionSchemas,
  connectionSettings,
  given,
  limitFaults,
  urlIn,
  urlTarget,
} from '../connection/config.ts';
import {
  asPairs,
  headerFaults,
  headerMap,
  headerName,
  secretHeaderPaths,
  secretHeaderValues,
} from '../connection/headers.ts';
import {
  encodingIn,
  encodingSchema,
  payloadFaults,
  payloadIn,
  payloadSchema,
  secretWordsIn,
} from '../connection/payload.ts';
import {
  type ConfigContext,
  type ConfigFault,
  everyKindSchemas,
  type KeySchemas,
  type KindConfig,
} from '../kind-config.ts';
import { reservedForUpgrade, type websocketKeys } from './keys.ts';

const schemas = {
  ...everyKindSchemas,
  ...connectionSchemas,
  send: payloadSchema,
  expect: payloadSchema,
  encoding: encodingSchema,
  subprotocol: z
    .string()
    .max(100)
    .regex(/^[!#$%&'*+\-.^_|~0-9A-Za-z]+$/),
  headers: headerMap(50).refine((map) =>
    Object.keys(map).every((name) => !reservedForUpgrade.includes(name.toLowerCase())),
  ),
  secret_headers: z.array(headerName).max(50),
} satisfies KeySchemas<keyof typeof websocketKeys>;

export const websocketConfig: KindConfig = {
  schemas,
  clashes,
  // It may log in.
  secretPaths: (config) => [['send'], ...secretHeaderPaths(config)],
};

function clashes(config: Config, { target, interval_s }: ConfigContext): ConfigFault[] {
  const faults = [...payloadFaults(config), ...headerFaults(config)];
  const send = payloadIn(config, 'send');
  if (send && encodingIn(config) === 'text' && !isUtf8(send))
    faults.push({
      key: 'send',
      remedy: 'write it as `encoding` "hex" or "base64"; a text message must be UTF-8',
    });
  if (given(config, 'tls_expires_within_days') && /^ws:/i.test(target))
    faults.push({
      key: 'tls_expires_within_days',
      remedy: 'use a wss:// target; a ws:// one shows no certificate',
    });
  return [...faults, ...limitFaults(config, interval_s)];
}

/** A config of a websocket check as the check uses it. */
export type WebsocketSettings = ConnectionSettings & {
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly subprotocol: string | null;
  /** A text is sent as a text message, bytes as a binary one. */
  readonly send: string | Buffer | null;
  readonly expect: Buffer | null;
  /** `expect` as the config has it, for causes. */
  readonly expect_words: string;
  /** Texts that evidence must never contain, whoever echoes them. */
  readonly secrets: readonly string[];
};

const leastSecret = 4;

/** Reads a config that `configFaults` accepted, with its secrets in plain form. */
export function websocketSettings(config: Config): WebsocketSettings {
  const headers = asPairs(config.headers);
  const send = payloadIn(config, 'send');
  const text = send?.toString('utf8') ?? '';
  const secrets = [...textsInJson(text), ...secretHeaderValues(config)].filter(
    ({ length }) => length >= leastSecret,
  );
  return {
    ...connectionSettings(config),
    headers,
    subprotocol: asText(config.subprotocol) ?? null,
    send: send && encodingIn(config) === 'text' ? text : send,
    expect: payloadIn(config, 'expect'),
    expect_words: asText(config.expect) ?? '',
    secrets: [...secretWordsIn(send), ...secrets],
  };
}

/** A server may say a token of a JSON message alone. */
function textsInJson(text: string): readonly string[] {
  const texts: string[] = [];
  try {
    JSON.parse(text, (_key, value: unknown) => {
      if (typeof value === 'string') texts.push(value);
      return value;
    });
  } catch (error) {
    if (error instanceof SyntaxError) return [];
    throw error;
  }
  return texts;
}

/** The address of a websocket check, if its target can be checked. */
export function websocketUrl(target: string): URL | undefined {
  return urlIn(/^wss?:\/\/[^/\\?#]/i, target);
}

export const websocketTarget = urlTarget(websocketUrl, {
  whole: 'ws:// or wss:// address, such as wss://example.com/socket',
  login: 'an Authorization header',
});
