import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { DatabaseLine, simpleQuery } from '../../../coordinator/database/line.ts';
import { passed } from '../../support/eventually.ts';

/** A database that lets in whoever comes, and afterwards says only what a test has it say. */

const silentMs = 200;
const message = (letter: string): Buffer => Buffer.from([letter.charCodeAt(0), 0, 0, 0, 4]);
const authenticated = Buffer.from([82, 0, 0, 0, 8, 0, 0, 0, 0]);
const ready = Buffer.from([90, 0, 0, 0, 5, 73]);
/** A statement is described with a flush, and run with a sync. */
const [flush, sync] = [message('H'), message('S')];

let server: Server | undefined;
afterEach(() => void server?.close());

const openLine = async (): Promise<{
  line: DatabaseLine;
  database: Socket;
  ended: () => Error[];
}> => {
  const listening = createServer();
  server = listening;
  listening.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const address = listening.address();
  if (typeof address !== 'object' || address === null) throw new Error('it does not listen');
  const came = once(listening, 'connection');
  const line = new DatabaseLine(connect(address.port, '127.0.0.1'), {
    host: '127.0.0.1',
    port: address.port,
    tls: null,
    settings: 'select 1',
    silentMs,
    onHeard: () => undefined,
  });
  const faults: Error[] = [];
  line.on('error', (error: Error) => faults.push(error));
  const opened = once(line, 'open');
  line.on('data', (piece: Buffer) => {
    if (piece.equals(ready)) line.emit('open');
  });
  // What starts a session has no letter.
  line.write(Buffer.from([0, 0, 0, 8, 0, 3, 0, 0]));
  const [database]: Socket[] = await came;
  if (database === undefined) throw new Error('nobody came');
  await once(database, 'data');
  database.write(Buffer.concat([authenticated, ready]));
  await once(database, 'data');
  database.write(Buffer.concat([message('C'), ready]));
  await opened;
  return { line, database, ended: () => faults };
};

/** Whether by a fault or not. */
const closed = (line: DatabaseLine): Promise<void> =>
  new Promise((resolve) => line.once('close', () => resolve()));

test('a description that is never answered ends the connection', async () => {
  const { line, ended } = await openLine();
  line.write(flush);
  await closed(line);
  expect(ended()).toMatchObject([{ code: 'CONNECTION_SILENT' }]);
});

test('a statement that is described and run is one question with one answer', async () => {
  const { line, database, ended } = await openLine();
  line.write(flush);
  database.write(message('1'));
  line.write(sync);
  database.write(ready);
  await passed(4 * silentMs);
  expect([line.isClosed, ended()]).toEqual([false, []]);
  // The next one counts by itself.
  line.write(sync);
  await closed(line);
  expect(ended()).toMatchObject([{ code: 'CONNECTION_SILENT' }]);
});

test('a question in the simple protocol is one, too', async () => {
  const { line, database, ended } = await openLine();
  line.write(simpleQuery('select 1'));
  database.write(Buffer.concat([message('C'), ready]));
  await passed(4 * silentMs);
  expect([line.isClosed, ended()]).toEqual([false, []]);
  line.end(message('X'));
  await closed(line);
});
