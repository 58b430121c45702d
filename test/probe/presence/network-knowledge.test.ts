import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openNetworkKnowledge } from '../../../probe/presence/knowledge.ts';
import { deriveNetworkKey, sealBox, sealKeyTo } from '../../../shared/checks/sealed-secrets.ts';
import { assignmentOf } from '../support/checkers.ts';
import { silentLog } from '../support/surroundings.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'antipode-knowledge-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const open = () => openNetworkKnowledge({ folder, log: silentLog });
const key = deriveNetworkKey('secret of the installation', 'Europe', 1);
const nothing = { base_url: '', anchors: [], seal_keys: {} };

const secretMonitor = () => {
  const open = assignmentOf('https://a.example/', { config: { basic_auth: { username: 'me', password: '***' } } });
  return { ...open, sealed: sealBox(key, JSON.stringify({ 'basic_auth/password': 'hush' }), open.monitor) };
};

describe('what a probe knows of its network', () => {
  test('is there again after a restart, keys included', async () => {
    const knowledge = await open();
    knowledge.learn({
      base_url: 'https://a.example',
      anchors: ['a.example:443'],
      seal_keys: { [key.id]: sealKeyTo(knowledge.sealKey, key) },
    });
    await knowledge.settled();
    const again = await open();
    expect([again.baseUrl(), again.anchors(), again.sealKey]).toEqual(['https://a.example', ['a.example:443'], knowledge.sealKey]);
    expect(again.unseal(secretMonitor()).config).toEqual({ basic_auth: { username: 'me', password: 'hush' } });
  });

  test('never lies on disk with a key or a secret in clear', async () => {
    const knowledge = await open();
    knowledge.learn({ ...nothing, seal_keys: { [key.id]: sealKeyTo(knowledge.sealKey, key) } });
    await knowledge.settled();
    const disk = await readFile(join(folder, 'network.json'), 'utf8');
    expect(disk).not.toContain(key.bytes.toString('base64'));
    expect(disk).not.toContain(key.bytes.toString('hex'));
  });

  test('loses a key when the coordinator no longer names it', async () => {
    const knowledge = await open();
    knowledge.learn({ ...nothing, seal_keys: { [key.id]: sealKeyTo(knowledge.sealKey, key) } });
    knowledge.learn(nothing);
    expect(() => knowledge.unseal(secretMonitor())).toThrow(key.id);
    await knowledge.settled();
  });

  test('keeps a key that is named no more for as long as something is held under it, also over a restart', async () => {
    const next = deriveNetworkKey('secret of the installation', 'Europe', 2);
    const knowledge = await open();
    const held = secretMonitor();
    knowledge.learn({ ...nothing, seal_keys: { [key.id]: sealKeyTo(knowledge.sealKey, key) } });
    const reply = { ...nothing, seal_keys: { [next.id]: sealKeyTo(knowledge.sealKey, next) } };
    knowledge.learn(reply, () => new Set([key.id]));
    await knowledge.settled();
    const again = await open();
    expect(again.unseal(held).config).toEqual({ basic_auth: { username: 'me', password: 'hush' } });
    again.learn(reply, () => new Set([next.id]));
    expect(() => again.unseal(held)).toThrow(key.id);
    await again.settled();
    expect(await readFile(join(folder, 'network.json'), 'utf8')).not.toContain(key.id);
  });

  test('wants a key that something came under, until it is told', async () => {
    const knowledge = await open();
    expect(knowledge.isWanting()).toBe(false);
    knowledge.want(key.id);
    knowledge.learn(nothing);
    expect(knowledge.isWanting()).toBe(true);
    knowledge.learn({ ...nothing, seal_keys: { [key.id]: sealKeyTo(knowledge.sealKey, key) } });
    knowledge.want(key.id);
    expect(knowledge.isWanting()).toBe(false);
    await knowledge.settled();
  });

  test('leaves an assignment without secrets as it is', async () => {
    const assignment = assignmentOf('https://a.example/');
    expect((await open()).unseal(assignment)).toBe(assignment);
  });

  test('begins anew when its file is damaged', async () => {
    await writeFile(join(folder, 'network.json'), '{"v":1,');
    expect((await open()).anchors()).toEqual([]);
  });
});
