import { Refusal } from '../../../shared/base/errors.ts';
import { type Attribute, attributeOf, attributesOf, type Kind, valueFrom } from './attributes.ts';

/**
 * Paths and filters of RFC 7644, as far as providers send them: `attribute`, `attribute.part`,
 * `attribute[part eq value].part`, and such with `eq`, joined by `and`.
 */

/** A part of an attribute (undefined: itself) and the value that it has. */
export type Equals = { readonly part: Attribute | undefined; readonly value: unknown };

export type Place = {
  readonly attribute: Attribute;
  /** Only the items that have this. */
  readonly where: Equals | undefined;
  readonly part: Attribute | undefined;
};

/** All of it holds for one value of the attribute. */
export type Condition = { readonly attribute: Attribute; readonly tests: readonly Equals[] };

export function schemaOf(kind: Kind): string {
  return `urn:ietf:params:scim:schemas:core:2.0:${kind}`;
}

const longest = 2_000;
const mostTerms = 10;
const word = '[a-z$][\\w$-]*';
const value = '"(?:[^"\\\\]|\\\\.)*"|[\\w.+-]+';
const place = `(?:(urn:[\\w.:-]+):)?(${word})(?:\\[\\s*(${word})\\s+eq\\s+(${value})\\s*\\])?(?:\\.(${word}))?`;

const aPath = new RegExp(`^${place}$`, 'i');
const aTerm = new RegExp(`\\s*${place}(?:\\s+eq\\s+(${value}))?\\s*`, 'iy');
const anAnd = /and\s/iy;

/** Undefined: what we do not keep, such as a telephone number. @throws Refusal. */
export function placeFrom(kind: Kind, path: string): Place | undefined {
  const found = path.length > longest ? null : aPath.exec(path);
  if (found === null)
    throw new Refusal('scim_path_invalid', `"${path.slice(0, 100)}" is not a path that is known.`);
  return placeOf(kind, found);
}

function placeOf(kind: Kind, found: RegExpExecArray): Place | undefined {
  const [, schema, name = '', whereName, whereValue, partName] = found;
  if (schema !== undefined && schema.toLowerCase() !== schemaOf(kind).toLowerCase())
    return undefined;
  const attribute = attributeOf(attributesOf[kind], name);
  const part = partName === undefined ? undefined : attributeOf(attribute?.parts, partName);
  const where = whereName === undefined ? undefined : attributeOf(attribute?.parts, whereName);
  if (
    attribute === undefined ||
    (partName !== undefined && part === undefined) ||
    (whereName !== undefined && where === undefined)
  )
    return undefined;
  return { attribute, part, where: where && { part: where, value: literal(where, whereValue) } };
}

/** @throws Refusal `scim_filter_invalid`. */
export function conditionsFrom(kind: Kind, filter: string): readonly Condition[] {
  if (filter.length > longest) throw unknownFilter(filter);
  const conditions: Condition[] = [];
  for (let at = 0; ; ) {
    aTerm.lastIndex = at;
    const found = aTerm.exec(filter);
    const term = found === null ? undefined : conditionOf(kind, found);
    if (term === undefined || conditions.length >= mostTerms) throw unknownFilter(filter);
    conditions.push(term);
    if (aTerm.lastIndex === filter.length) return conditions;
    anAnd.lastIndex = aTerm.lastIndex;
    if (!anAnd.test(filter)) throw unknownFilter(filter);
    at = anAnd.lastIndex;
  }
}

function conditionOf(kind: Kind, found: RegExpExecArray): Condition | undefined {
  const of = placeOf(kind, found);
  if (of === undefined) return undefined;
  const { attribute, where } = of;
  const sought = found[6];
  if (sought === undefined) return where && { attribute, tests: [where] };
  const part = of.part ?? (attribute.many ? attributeOf(attribute.parts, 'value') : undefined);
  if (attribute.type === 'complex' && part === undefined) return undefined;
  const test = { part, value: literal(part ?? attribute, sought) };
  return { attribute, tests: where === undefined ? [test] : [where, test] };
}

function literal(attribute: Attribute, written = ''): unknown {
  try {
    return valueFrom(attribute, JSON.parse(written)) ?? '';
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof Refusal) throw unknownFilter(written);
    throw error;
  }
}

function unknownFilter(filter: string): Refusal {
  return new Refusal(
    'scim_filter_invalid',
    `"${filter.slice(0, 100)}" is not a filter that is known: attributes with eq, joined by and, such as userName eq "ada@example.com".`,
  );
}
