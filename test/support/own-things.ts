/** For test files and pictures: what people of a house have set up for themselves. */
import { newId } from '../../shared/base/ids.ts';
import type { TestWeb } from './web.ts';

/** One of the viewer's passkeys. */
export const ownPasskey = '01900000-0000-7000-8000-000000000001';

/** One of the owner's tokens. */
export const ownToken = '01900000-0000-7000-8000-000000000002';

/** Programs of three members; none of the viewer's. */
const seedTokens = async ({ sql, house }: Pick<TestWeb, 'sql' | 'house'>, now: number): Promise<void> => {
  const at = (ago: number): Date => new Date(now - ago);
  await sql`update users set name = 'Ben Ortiz' where id = ${house.admin.user}`;
  await sql`update users set name = 'Chiara Rossi' where id = ${house.member.user}`;
  await sql`delete from tokens where organisation_id = ${house.organisation}`;
  const tokens = [
    { id: newId(), user: house.member, name: 'Grafana', scope: 'read', shown: 'svc_Qp81', made: 210, ends: -40, used: 4 * 60_000 },
    {
      id: newId(),
      user: house.admin,
      name: 'Terraform',
      scope: 'read_write',
      shown: 'svc_0aLm',
      made: 100,
      ends: 10,
      used: 11 * 86_400_000,
    },
    { id: ownToken, user: house.owner, name: 'Deployments', scope: 'read_write', shown: 'svc_k3Fa', made: 30, ends: null, used: 180_000 },
    { id: newId(), user: house.owner, name: 'Laptop', scope: 'read', shown: 'svc_Zr5T', made: 1, ends: null, used: null },
  ];
  for (const { user, made, ends, used, ...token } of tokens)
    await sql`insert into tokens ${sql({
      ...token,
      ...{ organisation_id: house.organisation, user_id: user.user, fingerprint: Buffer.from(token.id), created_at: at(made * 86_400_000) },
      ...{ expires_at: ends === null ? null : at(ends * 86_400_000), last_used_at: used === null ? null : at(used) },
    })}`;
};

/** Tokens; and the viewer signs in with a second step, of whose recovery codes three are left, and has two passkeys. */
export const seedOwnThings = async ({ sql, house }: Pick<TestWeb, 'sql' | 'house'>, now: number): Promise<void> => {
  await seedTokens({ sql, house }, now);
  const { user } = house.viewer;
  await sql`insert into second_factors (user_id, secret, created_at, last_step) values (${user}, ${Buffer.alloc(60)}, ${new Date(now - 20 * 86_400_000)}, 0)`;
  await sql`insert into recovery_codes (user_id, fingerprint) select ${user}, decode(h, 'hex') from unnest(array['00', '01', '02']) h`;
  const [added, used] = [new Date(now - 12 * 86_400_000), new Date(now - 3 * 3_600_000)];
  await sql`insert into passkeys (id, user_id, credential_id, public_key, counter, transports, name, is_synced, created_at, last_used_at) values
    (${ownPasskey}, ${user}, 'a', '', 0, '{}', 'Safari on iPhone', true, ${added}, ${used}),
    (${newId()}, ${user}, 'b', '', 0, '{}', 'The stick in the safe', false, ${used}, null)`;
};
