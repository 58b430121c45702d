import { connect as connectTcp, Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { connectFirst } from '../../../../probe/checks/connection/connect.ts';
import { createGuard } from '../../../../probe/checks/guard.ts';
import { deadlineIn } from '../../support/checkers.ts';
import { failed, judge, serve } from '../../support/observations.ts';

describe('a connection', () => {
  test.each(['EMFILE', 'ENFILE', 'ENOBUFS', 'EADDRNOTAVAIL', 'EPERM'])(
    'rule 1: that this machine could not open is unknown: %s',
    (code) => {
      expect(judge(failed('tcp', code))).toMatchObject({
        outcome: 'unknown',
        cause: { class: 'probe_no_socket', params: { code } },
      });
    },
  );

  test('what this machine could not do for one address hides no answer of another', async () => {
    const failing = (code: string) => {
      const socket = new Socket();
      setImmediate(() => socket.destroy(Object.assign(new Error(code), { code })));
      return socket;
    };
    const connect = (codes: Readonly<Record<string, string>>) =>
      connectFirst(
        Object.keys(codes),
        443,
        createGuard({ allow: ['127.0.0.0/8'], bus: () => [], own: () => [] }),
        { 4: true, 6: true },
        deadlineIn(5_000),
        (address) => failing(codes[address] ?? ''),
        undefined,
      );
    const both = { '127.0.0.1': 'EMFILE', '127.0.0.2': 'ECONNREFUSED' };
    expect(await connect(both)).toMatchObject({ code: 'ECONNREFUSED' });
    expect(await connect({ '127.0.0.1': 'EMFILE' })).toMatchObject({ code: 'EMFILE' });
  });

  test('an address that is silent while another connects is not the one that took the check', async () => {
    const target = await serve();
    const silent = new Socket();
    const { attempts } = await connectFirst(
      ['127.0.0.2', '127.0.0.1'],
      target.port,
      createGuard({ allow: ['127.0.0.0/8'], bus: () => [], own: () => [] }),
      { 4: true, 6: true },
      deadlineIn(5_000),
      (host, port) => (host === '127.0.0.2' ? silent : connectTcp({ host, port })),
      undefined,
    );
    expect(attempts).toMatchObject([
      { address: '127.0.0.2', code: 'UNANSWERED' },
      { address: '127.0.0.1', code: null },
    ]);
  });
});
