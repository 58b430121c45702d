import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { wayOf } from '../../../coordinator/database/connect.ts';
import { ownDatabase } from '../../support/services.ts';

const { sql } = await ownDatabase({ name: 'way', connections: 1 });

test('a connection that only asks whether the database is there can be ended at any moment, and the process goes on', async () => {
  const { openAnother, openBeside } = wayOf(sql);
  const left: unknown[] = [];
  const note = (reason: unknown) => void left.push(reason);
  process.prependListener('unhandledRejection', note);
  for (let nth = 0; nth < 300; nth += 1) {
    const asked = nth % 2 === 0 ? openAnother() : openBeside();
    const question = asked`select 1`.then(
      () => true,
      () => false,
    );
    await pause(nth % 12);
    // One that is ended before it has connected may never settle: nobody who asks like this waits for it without an end.
    await Promise.race([Promise.all([question, asked.end({ timeout: 0 })]), pause(200)]);
  }
  process.off('unhandledRejection', note);
  expect(left).toEqual([]);
});
