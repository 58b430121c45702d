import { z } from 'zod';
import type { Config } from '../assignment.ts';
import { dnsName } from '../dns/values.ts';
import {
  everyKindSchemas,
  type KeySchemas,
  type KindConfig,
  type KindTarget,
} from '../kind-config.ts';
import type { domainKeys } from './keys.ts';

const schemas = {
  ...everyKindSchemas,
  expires_within_days: z.int().min(0).max(365),
} satisfies KeySchemas<keyof typeof domainKeys>;

export const domainConfig: KindConfig = {
  schemas,
  clashes: () => [],
  secretPaths: () => [],
};

/** When the first warning is wanted; null for the usual stages. */
export function warnsFromDays(config: Config): number | null {
  return typeof config.expires_within_days === 'number' ? config.expires_within_days : null;
}

/** What registries take: letters, digits and hyphens, under an ending that is no number. */
const registrable = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+(?:xn--[a-z0-9-]*[a-z0-9]|[a-z]+)$/;

/** The domain of a target as registries write it; undefined when the target is no domain. */
export function domainOf(target: string): string | undefined {
  const name = dnsName(target.trim());
  return name !== undefined && registrable.test(name) ? name : undefined;
}

export const domainTarget: KindTarget = {
  fault: (target) =>
    domainOf(target) === undefined
      ? 'must be a registered domain such as example.com, without https:// and without a path'
      : undefined,
  defaultName: (target) => target.trim(),
};
