import { expect, test } from 'vitest';
import { evidenceRows } from '../../../../coordinator/incidents/pages/evidence.ts';

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
