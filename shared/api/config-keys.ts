/**
 * The keys of a monitor's config as clients show them: only the words, without the schemas that
 * validate them.
 */

export type { ConfigKey } from '../checks/config-key.ts';
export { configKeys, defaultWords, unknownConfigKeys } from '../checks/config-keys.ts';
export { isKind, type Kind, kinds } from '../checks/kinds.ts';
