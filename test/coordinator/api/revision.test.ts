import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { apiDocument } from '../../../coordinator/api/openapi.ts';
import { apiRevision } from '../../../shared/api/operation.ts';

/** What the document was when its revision was last raised. */
const known = { revision: 88, digest: '8d3a79acf90399696545ff97b864b993' };

/** Where the service is reached varies, and the revision is what this is about. */
const digestOf = (document: ReturnType<typeof apiDocument>): string => {
  const { info, ...rest } = document;
  const { 'x-revision': _, ...said } = info;
  return createHash('sha256')
    .update(JSON.stringify([said, rest]))
    .digest('hex')
    .slice(0, 32);
};

test('the revision of the document counts every change of it', () => {
  const digest = digestOf(apiDocument('https://antipode.example.org'));
  const raised =
    digest === known.digest ? known.revision : Math.max(apiRevision, known.revision + 1);
  const words = `The API document is another than that of revision ${known.revision}. Set apiRevision in shared/api/operation.ts to ${raised}, and in this test: revision: ${raised}, digest: '${digest}'. Then run node test/client/foreign-generate.ts.`;
  expect({ revision: apiRevision, digest }, words).toEqual(known);
});

test('two documents that differ in one word have two digests, and the revision is no part of them', () => {
  const document = apiDocument('https://antipode.example.org');
  const other = { ...document, info: { ...document.info, summary: 'Another' } };
  const raised = { ...document, info: { ...document.info, 'x-revision': 99 } };
  expect([digestOf(other) === digestOf(document), digestOf(raised) === digestOf(document)]).toEqual(
    [false, true],
  );
});
