import { Refusal } from '../../../shared/base/errors.ts';
import { isRecord, memberOf } from '../../../shared/base/json.ts';
import {
  type Attribute,
  isOurs,
  itemsOf,
  type Kind,
  refuseMany,
  type Values,
  valueFrom,
  valuesFrom,
} from './attributes.ts';
import { type Equals, type Place, placeFrom } from './filter.ts';

/** A change of a resource (RFC 7644, section 3.5.2), also as Okta and Entra write it. */

type Op = 'add' | 'replace' | 'remove';

const mostOperations = 1_000;

/** The resource after all operations. @throws Refusal. */
export function patched(kind: Kind, before: Values, body: unknown): Values {
  const operations = memberOf(body, 'Operations') ?? memberOf(body, 'operations');
  if (!Array.isArray(operations) || operations.length === 0 || operations.length > mostOperations)
    throw malformed(`Operations must be a list of 1 to ${mostOperations}.`);
  const after = operations.reduce<Values>(
    (values, operation) => stepped(kind, values, operation),
    before,
  );
  return valuesFrom(kind, after);
}

function stepped(kind: Kind, values: Values, operation: unknown): Values {
  const { path, value } = isRecord(operation) ? operation : {};
  // Entra begins it with a capital.
  const word = String(memberOf(operation, 'op')).toLowerCase();
  if (word !== 'add' && word !== 'replace' && word !== 'remove')
    throw malformed('op must be add, replace or remove.');
  if (path !== undefined && path !== null && path !== '') {
    if (typeof path !== 'string') throw malformed('path must be a text.');
    return changed(values, placeFrom(kind, path), word, value);
  }
  if (word === 'remove' || !isRecord(value))
    throw malformed('Without a path, value must be an object to add or replace.');
  // Its names may be paths themselves.
  return Object.entries(value).reduce(
    (so, [name, each]) => changed(so, placeFrom(kind, name), word, each),
    values,
  );
}

function malformed(fault: string): Refusal {
  return new Refusal('scim_syntax_invalid', fault);
}

function changed(values: Values, place: Place | undefined, op: Op, given: unknown): Values {
  if (place === undefined || isOurs(place.attribute)) return values;
  const { attribute, part } = place;
  const { name } = attribute;
  if (attribute.many)
    return { ...values, [name]: changedItems(itemsOf(values, name), place, op, given) };
  const had = isRecord(values[name]) ? values[name] : {};
  if (part !== undefined)
    return { ...values, [name]: { ...had, [part.name]: op === 'remove' ? undefined : given } };
  const value = op === 'remove' ? undefined : valueFrom(attribute, given);
  return { ...values, [name]: isRecord(value) ? { ...had, ...value } : value };
}

function changedItems(
  items: readonly Values[],
  { attribute, where, part }: Place,
  op: Op,
  given: unknown,
): readonly Values[] {
  if (part === undefined && where === undefined) {
    const said = listOf(attribute, given);
    if (op === 'add') {
      refuseMany(attribute, items.length + said.length);
      return [...items, ...said];
    }
    if (op === 'replace') return said;
    // Entra names what it removes by the value.
    if (given === undefined || given === null) return [];
    const gone = new Set(said.map(({ value }) => value));
    return items.filter(({ value }) => !gone.has(value));
  }
  const isMeant = (item: Values): boolean => where === undefined || isEqual(item, where);
  if (op === 'remove')
    return part === undefined
      ? items.filter((item) => !isMeant(item))
      : items.map((item) => (isMeant(item) ? { ...item, [part.name]: undefined } : item));
  const more = part === undefined ? given : { [part.name]: given };
  if (!isRecord(more)) throw malformed(`The value of ${attribute.name} must be an object.`);
  if (items.some(isMeant))
    return items.map((item) => (isMeant(item) ? { ...item, ...more } : item));
  return [...items, { ...(where?.part && { [where.part.name]: where.value }), ...more }];
}

function listOf(attribute: Attribute, given: unknown): readonly Values[] {
  const value = valueFrom(attribute, given);
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function isEqual(item: Values, { part, value }: Equals): boolean {
  const has = part && item[part.name];
  return part?.exact === true || typeof has !== 'string'
    ? has === value
    : has.toLowerCase() === String(value).toLowerCase();
}
