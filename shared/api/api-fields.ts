/**
 * Our own small kit of described values. zod cannot serve here: our callers were generated for a FastAPI service, so an input must be
 * converted as pydantic 2 converts it ("60" is a number, "yes" is true) and refused in pydantic's exact words, every fault at once.
 */

export {
  bad,
  type Fault,
  type Field,
  good,
  type JsonSchema,
  type NamedSchema,
  type Parsed,
  type Place,
  type ValueOf,
  valueFault,
} from './fields/api-field.ts';
export {
  array,
  defaulted,
  grown,
  maybe,
  nullable,
  type ObjectField,
  object,
  optional,
  parseShape,
  type Shape,
  type Values,
} from './fields/api-field-containers.ts';
export { dateTime, type Moment, moment } from './fields/api-field-date-time.ts';
export { boolean, integer, number } from './fields/api-field-scalars.ts';
export { dict, literal, shortString, string } from './fields/api-field-text.ts';
export { uuid } from './fields/api-field-uuid.ts';
