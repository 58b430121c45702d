import { describe, expect, test } from 'vitest';
import { tools } from '../../../coordinator/assistants/mcp.ts';
import { handlers } from '../../../coordinator/operations.ts';
import { isReadOnly } from '../../../shared/api/operation.ts';
import { readingTools } from '../../../shared/assistants/list.ts';
import { inputSchema, listedTool } from '../../../shared/assistants/tools.ts';

const shared: ReadonlyMap<string, unknown> = new Map(
  readingTools.map((tool) => [tool.name, listedTool(tool)]),
);

describe('the tools of both forms', () => {
  test('are the same where both have one, and the local server has no others', () => {
    const hosted = new Map(tools.map((tool) => [tool.name, listedTool(tool)]));
    expect(shared.size).toBe(10);
    for (const [name, listed] of shared) expect(hosted.get(name), name).toEqual(listed);
  });

  test('have names of their own, and each maps to an operation of the table', () => {
    const known: readonly unknown[] = Object.values(handlers.organisation).map(
      ({ operation }) => operation,
    );
    expect(new Set(tools.map(({ name }) => name)).size).toBe(tools.length);
    expect(
      tools.filter(({ operation }) => !known.includes(operation)).map(({ name }) => name),
    ).toEqual([]);
  });

  test('say of themselves what their operation does', () => {
    for (const { name, operation, effect } of tools)
      expect(effect === 'looks', name).toBe(isReadOnly(operation));
    expect(tools.filter(({ effect }) => effect === 'deletes').map(({ name }) => name)).toEqual([
      'end_report_mail',
      'delete_objective',
      'revoke_token',
      'remove_subscriber',
      'delete_monitor',
      'delete_group',
      'delete_maintenance_window',
    ]);
  });

  test('ask for nothing that their operation would not take, and name all that it must have', () => {
    for (const { name, operation, arguments: has } of tools) {
      const shape = { ...operation.params, ...operation.query, ...operation.body?.shape };
      const foreign = Object.values(has).filter(
        ({ key }) => !Object.hasOwn(shape, key) && !['confirm_name', 'csv'].includes(key),
      );
      expect(foreign, name).toEqual([]);
      const must = Object.keys(shape).filter((key) => shape[key]?.absent === undefined);
      const given = Object.values(has).map(({ key }) => key);
      expect(
        must.filter((key) => !given.includes(key)),
        name,
      ).toEqual([]);
    }
  });

  test('that list say where their result ends', () => {
    for (const { name, about } of tools.filter((tool) => tool.name.startsWith('list_')))
      expect(about, name).toMatch(/An answer ends at 45 KB, .* with which cursor to go on\./);
  });

  test('refer to no schema that a client could not find', () => {
    for (const tool of tools)
      expect(JSON.stringify(inputSchema(tool)), tool.name).not.toContain('#/components');
  });

  test('expose no credential and let nobody in', () => {
    const doors =
      /createtoken|invit|(?:set|remove)member|beat|secret|export|share|password|session|passkey|(?:invite|create|end)probe|user|statuspage(?!subscriber)|operator|createchannel|updatechannel/i;
    expect(
      tools.filter(({ operation }) => doors.test(operation.id)).map(({ name }) => name),
    ).toEqual([]);
  });
});
