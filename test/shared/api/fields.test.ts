import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { array, boolean, dict, type Field, integer, literal, moment, nullable, string, uuid } from '../../../shared/api/fields.ts';

/** What FastAPI 0.142 with pydantic 2.13 answered to each input, recorded once from the real thing. */
type Recorded = {
  readonly field: string;
  readonly json: string;
  readonly value?: unknown;
  readonly detail?: readonly { input: unknown }[];
};

const recorded: readonly Recorded[] = readFileSync(new URL('recorded/fields.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line));

const fields: Readonly<Record<string, Field<unknown>>> = {
  string: string(),
  integer: integer(),
  nullable_integer: nullable(integer()),
  bounded: integer({ ge: 1, le: 365 }),
  boolean: boolean(),
  dict: dict(),
  uuid: uuid(),
  literal: literal(['all', 'open', 'resolved']),
  moment: moment(),
  uuids: array(uuid()),
};

/** A moment as the recording has it: an instant in UTC, or a local time. */
const asRecorded = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && 'is' in value
    ? 'at' in value && typeof value.at === 'number'
      ? { instant: new Date(value.at).toISOString() }
      : { local: 'local' in value ? value.local : undefined }
    : value;

const parse = ({ field: name, json }: Recorded): unknown => {
  const field = fields[name];
  if (!field) throw new Error(`the recording knows a field ${name} that the test does not`);
  const parsed = field.parse(JSON.parse(json), ['body', 'value']);
  return parsed.ok ? { value: asRecorded(parsed.value) } : { detail: parsed.faults };
};

describe('The field kit', () => {
  for (const name of Object.keys(fields)) {
    const rows = recorded.filter(({ field }) => field === name);
    it(`takes and refuses ${rows.length} inputs of ${name} as pydantic does, word for word`, () => {
      expect(rows.length).toBeGreaterThan(15);
      const ours = rows.map((row) => [row.json, parse(row)]);
      const theirs = rows.map(({ json, value, detail }) => [json, detail === undefined ? { value } : { detail }]);
      expect(ours).toEqual(theirs);
    });
  }

  it('sends the members of a fault in the order type, loc, msg, input, ctx', () => {
    const faulty = recorded.filter(({ detail }) => detail !== undefined);
    const order = (row: unknown) => JSON.stringify(row, (_key, value) => (typeof value === 'object' ? value : 0));
    expect(faulty.map((row) => order(parse(row)))).toEqual(faulty.map(({ detail }) => order({ detail })));
  });

  it('refuses halves of surrogate pairs, which are no text', () => {
    const typesOf = (input: unknown) => {
      const parsed = string().parse(input, []);
      return parsed.ok ? [] : parsed.faults.map(({ type }) => type);
    };
    expect(['\ud800', 'a\udc00b', '😀', 'a\0b'].map(typesOf)).toEqual([['string_unicode'], ['string_unicode'], [], []]);
  });
});
