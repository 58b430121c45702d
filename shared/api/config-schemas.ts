/** What the document says of a monitor's config. Apart from `config-keys.ts`, because programs on people's machines carry no shapes. */
export { configSchema } from '../checks/config-document.ts';
