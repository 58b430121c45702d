import { isKind, unknownConfigKeys } from '../../shared/api/config-keys.ts';
import { isRecord } from '../../shared/base/record.ts';

/** What is to be told of a monitor that a command gave: keys of its config that do nothing. */
export const configWarnings = (result: unknown): readonly string[] =>
  isRecord(result) && isKind(result.type) && isRecord(result.config)
    ? unknownConfigKeys(result.type, result.config).map(({ sentence }) => sentence)
    : [];
