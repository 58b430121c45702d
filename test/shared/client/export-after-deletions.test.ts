import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { purgeOld } from '../../../coordinator/monitors/trash-queries.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { openServed, type Served } from '../../support/api.ts';
import { createCommand } from '../../support/cli.ts';
import { createTestOrganisation } from '../../support/people.ts';
import fc from '../../support/random.ts';
import { rowsFor } from '../../support/rows.ts';

/** Whatever is deleted, what is left can be exported, and its file changes nothing. */

let served: Served;
const folder = mkdtempSync(join(tmpdir(), 'antipode-deletions-'));
beforeAll(async () => {
  served = await openServed();
});
afterAll(async () => {
  await served.close();
  rmSync(folder, { recursive: true });
});

/** What one account has: everything that can name something else, and what it names. */
const furnished = async () => {
  const house = await createTestOrganisation(served.api.sql, { plan: 'business' });
  const command = createCommand({ url: served.url, token: house.owner.readWrite });
  const call = async (method: string, path: string, body?: object): Promise<{ id: string }> => {
    const response = await fetch(`${served.url}/api/v1/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${house.owner.readWrite}`,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    expect([response.status < 300, text], `${method} ${path}`).toEqual([true, text]);
    return text === '' ? { id: '' } : JSON.parse(text);
  };
  const made = async (path: string, body: object): Promise<string> =>
    `${path}/${(await call('POST', path, body)).id}`;
  const idOf = (path: string): string => path.split('/').at(-1) ?? '';

  const inFile = (text: string): string => {
    const path = join(folder, `${newId()}.yaml`);
    writeFileSync(path, text);
    return path;
  };
  const elsewhere = inFile(`name: other
groups: { theirs: {} }
monitors:
  theirs: { type: https, target: https://theirs.example/, group: theirs }
`);
  expect((await command.run(['apply', '--file', elsewhere, '--yes'])).code).toBe(0);
  const items = async (...words: string[]): Promise<readonly { id: string }[]> =>
    JSON.parse((await command.run([...words, 'list', '--json'])).out).items;
  const [theirMonitor, theirGroup] = [await items('monitors'), await items('groups')];

  const office = { id: newId(), name: 'office-1', continent: 'Europe', region: 'Office' };
  await served.api.sql`insert into probes ${rowsFor(served.api.sql, 'probes', {
    ...office,
    organisation_id: house.organisation,
    last_seen_at: new Date(),
    kinds: ['places'],
  })}`;
  const places = await items('places');
  const place = places.find((one) => JSON.stringify(one).includes(office.id))?.id ?? '';

  const groups = [await made('groups', { name: 'Web' }), await made('groups', { name: 'Jobs' })];
  const monitors = [
    await made('monitors', {
      type: 'https',
      target: 'https://a.example/',
      group: idOf(groups[0] ?? ''),
      tags: ['x'],
    }),
    await made('monitors', {
      type: 'https',
      target: 'https://b.example/',
      external_id: 'outside',
      config: { places: [place] },
    }),
    await made('monitors', { type: 'heartbeat', name: 'Job', group: idOf(groups[1] ?? '') }),
  ];
  const monitorIds = [...monitors.map(idOf), ...theirMonitor.map(({ id }) => id)];
  const groupIds = [...groups.map(idOf), ...theirGroup.map(({ id }) => id)];
  const hook = { kind: 'webhook', config: { url: 'https://hooks.example/x' }, try: false };
  const window = { starts_at: '2099-01-01T00:00:00Z', ends_at: '2099-01-01T01:00:00Z' };
  const others = [
    await made('channels', { ...hook, name: 'Some', covers: 'chosen', monitors: monitorIds }),
    await made('channels', { ...hook, name: 'Grouped', covers: 'chosen', groups: groupIds }),
    await made('channels', { ...hook, name: 'All' }),
    await made('maintenance', { ...window, name: 'One', monitors: monitorIds.slice(0, 1) }),
    await made('maintenance', {
      ...window,
      name: 'Weekly',
      rrule: 'FREQ=WEEKLY',
      monitors: monitorIds.slice(1),
      groups: groupIds,
    }),
  ];
  for (const rows of [
    monitorIds.map((monitor) => ({ monitor })),
    groupIds.map((group) => ({ group, display_name: 'Heading' })),
  ]) {
    const page = await made('status-pages', { name: 'Page', slug: newId() });
    await call('PATCH', page, { rows });
    others.push(page);
  }
  return {
    call,
    run: command.run,
    inFile,
    deletable: [
      ...monitors,
      ...groups,
      ...others,
      ...theirMonitor.map(({ id }) => `monitors/${id}`),
      ...theirGroup.map(({ id }) => `groups/${id}`),
      `probes/${office.id}`,
    ],
  };
};

const mostThings = 15;

test('an export is a fixed point after any deletions', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.shuffledSubarray([...Array.from({ length: mostThings }).keys()], { minLength: 1 }),
      fc.boolean(),
      fc.constantFrom('left', 'restored', 'purged'),
      async (order, isManaged, trash) => {
        const { call, run, inFile, deletable } = await furnished();
        expect(deletable).toHaveLength(mostThings);
        const file = async (): Promise<string> => {
          const exported = await run(['export', '--name', 'all']);
          expect(exported.code, exported.err).toBe(0);
          return inFile(exported.out);
        };
        const isSettled = async (path: string): Promise<void> => {
          const planned = await run(['plan', '--file', path]);
          expect([planned.code, planned.err, planned.out]).toEqual([0, '', planned.out]);
        };
        if (isManaged) {
          const before = await file();
          const applied = await run(['apply', '--file', before, '--yes']);
          expect([applied.code, applied.err, applied.out]).toEqual([0, '', applied.out]);
          await isSettled(before);
        }
        for (const index of order) await call('DELETE', deletable[index] ?? '');
        const restored = deletable[order.find((index) => index < 3) ?? -1];
        if (trash === 'restored' && restored !== undefined)
          await call('POST', `monitors/deleted/${restored.split('/').at(-1)}/restore`);
        if (trash === 'purged') await purgeOld(served.api.sql, Date.parse('2999-01-01'), 1_000);
        const left = await file();
        if (isManaged) await isSettled(left);
        const applied = await run(['apply', '--file', left, '--yes']);
        expect([applied.code, applied.err, applied.out]).toEqual([0, '', applied.out]);
        await isSettled(left);
        await isSettled(await file());
      },
    ),
    { numRuns: 10 },
  );
}, 120_000);
