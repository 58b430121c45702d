import { expect, test } from 'vitest';
import {
  checksByContinent,
  evidenceRows,
  type SeenCheck,
} from '../../../../coordinator/incidents/pages/evidence.ts';

test('the evidence of a gRPC call names what came of it, as text', () => {
  const evidence = {
    status: 200,
    serving_status: 'NOT_SERVING',
    grpc_status: '0 OK',
    grpc_message: '<b>no</b>',
    headers: [['content-type', 'application/grpc']],
    trailers: [['grpc-status', '0']],
  };
  const rows = evidenceRows([{ continent: 'Asia', phases: null, evidence }]).map((row) =>
    String(row)
      .replaceAll(/<(?:tr|th|td|pre|\/)[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  );
  expect(rows).toEqual([
    'Status 200',
    'Health NOT_SERVING',
    'gRPC status 0 OK',
    'gRPC message &lt;b&gt;no&lt;/b&gt;',
    'Headers content-type: application/grpc',
    'Trailers grpc-status: 0',
  ]);
});

test('stands in the order of who detected and confirmed, and what is inside comes last', () => {
  const saw = (part: string, continent: string, place: string | null = null): SeenCheck => ({
    ...{ part, continent, place, probe: '', at: '2026-11-18T04:03:35.000Z', outcome: 'fail' },
    ...{ took_ms: 12, cause: null, cause_class: null, phases: null, evidence: null },
  });
  expect(
    checksByContinent([
      saw('matrix', 'Europe', 'Office Berlin'),
      saw('matrix', 'Asia'),
      saw('matrix', 'North America'),
      saw('seen', 'Europe'),
    ]).map(({ continent, place }) => place ?? continent),
  ).toEqual(['Europe', 'North America', 'Asia', 'Office Berlin']);
});
