/** For test files and pictures: what people of a house have set up for themselves. */
import { newId } from '../../shared/base/ids.ts';
import type { TestWeb } from './web.ts';

/** One of the viewer's passkeys. */
export const ownPasskey = '01900000-0000-7000-8000-000000000001';

/** The viewer signs in with a second step, of whose recovery codes three are left, and has two passkeys. */
export const seedOwnThings = async ({ sql, house }: Pick<TestWeb, 'sql' | 'house'>, now: number): Promise<void> => {
  const { user } = house.viewer;
  await sql`insert into second_factors (user_id, secret, created_at, last_step) values (${user}, ${Buffer.alloc(60)}, ${new Date(now - 20 * 86_400_000)}, 0)`;
  await sql`insert into recovery_codes (user_id, fingerprint) select ${user}, decode(h, 'hex') from unnest(array['00', '01', '02']) h`;
  const [added, used] = [new Date(now - 12 * 86_400_000), new Date(now - 3 * 3_600_000)];
  await sql`insert into passkeys (id, user_id, credential_id, public_key, counter, transports, name, is_synced, created_at, last_used_at) values
    (${ownPasskey}, ${user}, 'a', '', 0, '{}', 'Safari on iPhone', true, ${added}, ${used}),
    (${newId()}, ${user}, 'b', '', 0, '{}', 'The stick in the safe', false, ${used}, null)`;
};
