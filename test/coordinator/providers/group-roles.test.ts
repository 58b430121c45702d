import { describe, expect, test } from 'vitest';
import {
  groupRolesFrom,
  groupRolesText,
  groupsFrom,
  roleOfGroups,
} from '../../../coordinator/providers/group-roles.ts';

const table = groupRolesFrom('ops = member; cn=admins,dc=example = admin\n board=owner');

describe('the role of groups', () => {
  test.each([
    { groups: [], role: undefined },
    { groups: ['else'], role: undefined },
    { groups: ['ops'], role: 'member' },
    { groups: ['ops', 'board', 'cn=admins,dc=example'], role: 'owner' },
    { groups: ['cn=admins,dc=example', 'ops'], role: 'admin' },
    { groups: ['Ops'], role: undefined },
    { groups: ['ops '], role: undefined },
    { groups: ['*'], role: undefined },
  ])('of $groups is $role', ({ groups, role }) => {
    expect(roleOfGroups(groups, table)).toBe(role);
  });

  test('is at least that of everybody', () => {
    const withAll = [...table, ...groupRolesFrom('* = viewer')];
    expect(roleOfGroups([], withAll)).toBe('viewer');
    expect(roleOfGroups(['ops'], withAll)).toBe('member');
  });
});

describe('a claim of groups', () => {
  test.each([
    ['ops'],
    [{ ops: true }],
    [{ 0: 'ops', length: 1 }],
    [['ops', 1]],
    [['ops', ['board']]],
    [[null]],
    [undefined],
    [null],
    [true],
    [Array.from({ length: 1_001 }, () => 'ops')],
  ])('that is no list of texts says nothing: %j', (claim) => {
    expect(groupsFrom(claim)).toBeUndefined();
  });

  test('names groups, but never everybody', () => {
    expect(groupsFrom(['ops', '*'])).toEqual(['ops']);
    expect(groupsFrom([])).toEqual([]);
  });
});

describe('a table of groups', () => {
  test('reads what it writes', () => {
    expect(groupRolesFrom(groupRolesText(table))).toEqual(table);
  });

  test.each(['ops', '=admin', 'ops=', 'ops=root', 'ops=admin=', 'admin'])('refuses %j', (text) => {
    expect(() => groupRolesFrom(text)).toThrow(expect.objectContaining({ code: 'role_unknown' }));
  });
});
