import { Refusal } from '../../../shared/base/errors.ts';
import { isRecord } from '../../../shared/base/json.ts';
import { storable } from '../../../shared/base/names.ts';
import { domainOf, emailOf, nameOf } from '../model.ts';

/** What we read and keep of what a provider says (RFC 7643); all else that it sends is left out. */

export type Kind = 'User' | 'Group';

export type Values = Readonly<Record<string, unknown>>;

export type Attribute = {
  readonly name: string;
  readonly type: 'string' | 'boolean' | 'reference' | 'complex';
  readonly many?: true;
  /** Of many, no more than these; undefined: an organisation's whole directory. */
  readonly most?: number;
  readonly required?: true;
  readonly unique?: true;
  /** Compared with its case. */
  readonly exact?: true;
  readonly mutability?: 'readOnly' | 'immutable';
  /** Every resource has it, so that no schema lists it. */
  readonly common?: true;
  readonly parts?: readonly Attribute[];
};

const text = (name: string, more: Partial<Attribute> = {}): Attribute => ({
  name,
  type: 'string',
  ...more,
});

const externalId = text('externalId', { exact: true, common: true });
const id = text('id', { exact: true, common: true, mutability: 'readOnly' });

export const attributesOf: Readonly<Record<Kind, readonly Attribute[]>> = {
  User: [
    id,
    externalId,
    text('userName', { required: true, unique: true }),
    {
      name: 'name',
      type: 'complex',
      parts: [text('formatted'), text('familyName'), text('givenName')],
    },
    text('displayName'),
    {
      name: 'emails',
      type: 'complex',
      many: true,
      most: 10,
      // Whoever has no other address than their userName needs none.
      required: true,
      parts: [
        text('value', { required: true }),
        text('type'),
        { name: 'primary', type: 'boolean' },
      ],
    },
    { name: 'active', type: 'boolean' },
    {
      name: 'groups',
      type: 'complex',
      many: true,
      mutability: 'readOnly',
      parts: [
        text('value', { mutability: 'readOnly' }),
        { name: '$ref', type: 'reference', mutability: 'readOnly' },
        text('display', { mutability: 'readOnly' }),
      ],
    },
  ],
  Group: [
    id,
    externalId,
    text('displayName', { required: true, unique: true, exact: true }),
    {
      name: 'members',
      type: 'complex',
      many: true,
      parts: [
        text('value', { required: true, exact: true, mutability: 'immutable' }),
        { name: '$ref', type: 'reference', mutability: 'immutable' },
      ],
    },
  ],
};

/** Names of attributes have no case. */
export function attributeOf(
  among: readonly Attribute[] | undefined,
  name: string,
): Attribute | undefined {
  return among?.find((each) => each.name.toLowerCase() === name.toLowerCase());
}

const longest = 255;
const mostItems = 10_000;

export function invalidValue(name: string, fault: string): Refusal {
  return new Refusal('scim_value_invalid', `${name} ${fault}`);
}

/** @throws Refusal `scim_value_invalid`. */
export function valuesFrom(kind: Kind, said: unknown): Values {
  const values = partsFrom(attributesOf[kind], said, 'The body');
  const named = kind === 'User' ? 'userName' : 'displayName';
  if (values[named] === undefined) throw invalidValue(named, 'is missing.');
  return kind === 'User' ? { active: true, ...values } : values;
}

function partsFrom(among: readonly Attribute[] | undefined, said: unknown, of: string): Values {
  if (!isRecord(said)) throw invalidValue(of, 'must be an object.');
  return Object.fromEntries(
    Object.entries(said).flatMap(([name, given]) => {
      const attribute = attributeOf(among, name);
      if (attribute === undefined || isOurs(attribute)) return [];
      const value = valueFrom(attribute, given);
      return value === undefined ? [] : [[attribute.name, value]];
    }),
  );
}

/** What we say ourselves: what is sent of it counts for nothing. */
export function isOurs({ mutability, type }: Attribute): boolean {
  return mutability === 'readOnly' || type === 'reference';
}

/** Undefined: none, which may be said in many ways. @throws Refusal `scim_value_invalid`. */
export function valueFrom(attribute: Attribute, given: unknown): unknown {
  if (given === null || given === undefined || given === '') return undefined;
  if (attribute.many !== true) return singleFrom(attribute, given);
  const list: readonly unknown[] = Array.isArray(given) ? given : [given];
  refuseMany(attribute, list.length);
  const items = list.map((each) => itemFrom(attribute, each));
  const distinct = [...new Map(items.map((item) => [JSON.stringify(item), item])).values()];
  return distinct.length === 0 ? undefined : onePrimary(distinct);
}

/** @throws Refusal `scim_value_invalid`. */
export function refuseMany({ name, most = mostItems }: Attribute, count: number): void {
  if (count > most) throw invalidValue(name, `has more than ${most} values.`);
}

function itemFrom(attribute: Attribute, given: unknown): Values {
  const item = partsFrom(
    attribute.parts,
    typeof given === 'string' ? { value: given } : given,
    attribute.name,
  );
  if (item.value === undefined) throw invalidValue(`${attribute.name}.value`, 'is missing.');
  return item;
}

/** The last that was said to be. */
function onePrimary(items: readonly Values[]): readonly Values[] {
  const last = items.findLastIndex(({ primary }) => primary === true);
  return items.map((item, place) =>
    item.primary === true && place !== last ? { ...item, primary: false } : item,
  );
}

function singleFrom({ name, type, parts }: Attribute, given: unknown): unknown {
  if (type === 'complex') {
    const values = partsFrom(parts, given, name);
    return Object.keys(values).length === 0 ? undefined : values;
  }
  if (type === 'boolean') {
    // Entra sends it as a text.
    const word = String(given).toLowerCase();
    if (word !== 'true' && word !== 'false') throw invalidValue(name, 'must be true or false.');
    return word === 'true';
  }
  if (typeof given !== 'string' || given.length > longest || !storable(given))
    throw invalidValue(name, `must be a text of at most ${longest} characters.`);
  return given;
}

export function itemsOf(values: Values, name: string): readonly Values[] {
  const list: unknown = values[name];
  return Array.isArray(list) ? list.filter(isRecord) : [];
}

export function textOf(values: Values, name: string): string | undefined {
  const value = values[name];
  return typeof value === 'string' ? value : undefined;
}

export function isActive({ active }: Values): boolean {
  return active !== false;
}

/** The address of an account, if it is of this domain; null: any. */
export function addressIn(values: Values, domain: string | null): string | undefined {
  const emails = itemsOf(values, 'emails');
  const email =
    emails.find(({ primary }) => primary === true) ??
    emails.find(({ type }) => type === 'work') ??
    emails[0];
  return [email?.value, values.userName]
    .map(emailOf)
    .find((each) => each !== undefined && (domain === null || domainOf(each) === domain));
}

/** @throws Refusal `scim_value_invalid`: the user has no such address. */
export function refuseOutside(values: Values, domain: string | null): void {
  if (addressIn(values, domain) !== undefined) return;
  const of = domain === null ? '' : ` of ${domain}, the domain that this provider speaks for`;
  throw invalidValue('The primary e-mail, or the userName,', `must be an e-mail address${of}.`);
}

/** What people are called. */
export function personName(values: Values): string {
  const name = isRecord(values.name) ? values.name : {};
  const { formatted, givenName, familyName } = name;
  const whole = [givenName, familyName].filter((part) => part !== undefined).join(' ');
  return nameOf(values.displayName ?? formatted ?? whole);
}
