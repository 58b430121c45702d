/** What the document says of a monitor's config. Apart from `api/config-keys.ts`, because programs on people's machines carry no shapes. */
export { configSchema } from '../checks/config.ts';
