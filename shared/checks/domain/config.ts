import { z } from 'zod';
import type { Config } from '../assignment.ts';
import { questionName } from '../dns/values.ts';
import {
  everyKindSchemas,
  type KeySchemas,
  type KindConfig,
  type KindTarget,
  keyFaults,
} from '../kind-config.ts';
import { domainKeys } from './keys.ts';

const schemas = {
  ...everyKindSchemas,
  expires_within_days: z.int().min(0).max(365),
} satisfies KeySchemas<keyof typeof domainKeys>;

export const domainConfig: KindConfig = {
  schemas,
  faults: (config) => keyFaults(schemas, domainKeys, config),
  secretPaths: () => [],
};

/** When the first warning is wanted; null for the usual stages. */
export const warnsFromDays = (config: Config): number | null =>
  typeof config.expires_within_days === 'number' ? config.expires_within_days : null;

/** The domain of a target as registries write it; undefined when the target is no domain. */
export const domainOf = (target: string): string | undefined => {
  const text = target.trim().replace(/\.$/, '');
  if (!text.includes('.') || /[/:@_\s]/.test(text)) return undefined;
  return questionName(text, 'A')?.replace(/\.$/, '');
};

export const domainTarget: KindTarget = {
  fault: (target) =>
    domainOf(target) === undefined
      ? '`target` must be a registered domain such as example.com, without https:// and without a path'
      : undefined,
  defaultName: (target) => target.trim(),
};
