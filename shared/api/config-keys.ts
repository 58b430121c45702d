/** What faces show of the keys of a monitor's config: the words alone, without the shapes that the house judges them by. */
export type { ConfigKey } from '../checks/config-key.ts';
export { configKeys, defaultWords, unknownConfigKeys } from '../checks/config-keys.ts';
export { isKind, type Kind, kinds } from '../checks/kinds.ts';
