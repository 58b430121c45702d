/**
 * What the API document says of a monitor's config. Separate from `api/config-keys.ts`, because
 * programs on users' machines do not ship the schemas.
 */
export { configSchema } from '../checks/config.ts';
