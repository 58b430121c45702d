import { Refusal } from '../../shared/base/errors.ts';
import { type Role, roles } from '../gate/caller.ts';

/** Which roles the groups of a provider give in an organisation. */
export type GroupRole = { readonly group: string; readonly role: Role };

/** In place of a group: whoever the provider lets in. */
export const everybody = '*';

/** The highest role that these groups give; undefined: none. Names are compared exactly. */
export function roleOfGroups(
  groups: readonly string[],
  table: readonly GroupRole[],
): Role | undefined {
  const given = table.filter(({ group }) => group === everybody || groups.includes(group));
  return roles.find((role) => given.some((one) => one.role === role));
}

const maxGroups = 1_000;

/**
 * The groups of a claim. Undefined: it says nothing about groups, which is not the same as having
 * none. A list with anything but texts is no list of groups.
 */
export function groupsFrom(claim: unknown): readonly string[] | undefined {
  return Array.isArray(claim) &&
    claim.length <= maxGroups &&
    claim.every((group) => typeof group === 'string')
    ? claim.filter((group) => group !== everybody)
    : undefined;
}

/**
 * Reads `admins=admin; *=viewer`, or a line for each: the last equals sign ends the group's name,
 * since names in directories have some. @throws Refusal `role_unknown`.
 */
export function groupRolesFrom(text: string): readonly GroupRole[] {
  return text
    .split(/[;\n]/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map(groupRoleFrom);
}

function groupRoleFrom(line: string): GroupRole {
  const [, group, name] = /^(.*\S)\s*=\s*(\w+)$/.exec(line) ?? [];
  const role = roles.find((each) => each === name);
  if (group === undefined || role === undefined)
    throw new Refusal('role_unknown', {
      group_roles: `"${line}" must be a group, an equals sign and one of ${roles.join(', ')}, such as admins = admin.`,
    });
  return { group, role };
}

export function groupRolesText(table: readonly GroupRole[]): string {
  return table.map(({ group, role }) => `${group} = ${role}`).join('\n');
}
