import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { fileSchema } from '../../../coordinator/api/file-schema.ts';
import { readConfiguration } from '../../../shared/client/files/configuration.ts';

const guide = readFileSync(resolve(import.meta.dirname, '../../../deploy/GUIDE.md'), 'utf8');
const example = /```yaml\n(# yaml-language-server[\s\S]*?)```/.exec(guide)?.[1] ?? '';

test('the schema of a file accepts the example of the guide, which has no faults', () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const judge = ajv.compile(fileSchema('https://antipode.example'));
  const [document] = parseAllDocuments(example);
  expect([judge(document?.toJS()), judge.errors]).toEqual([true, null]);
  expect(judge({ name: 'x', monitor: {} })).toBe(false);
  expect(judge({ name: 'x', monitors: { a: { type: 'smoke' } } })).toBe(false);
  expect(readConfiguration([{ file: 'antipode.yaml', text: example }], undefined)).toMatchObject({
    name: 'shop',
    faults: [],
    warnings: [],
  });
});
