import { isId } from '../../shared/base/crypto.ts';
import { Refusal, type RefusalCode } from '../../shared/base/errors.ts';
import type { Sql } from '../store/store-database.ts';
import { organisationById, organisationsNamed, ownerOf } from '../store/store-organisations.ts';
import type { Organisation } from './access-caller.ts';

/** How the operator, who belongs to no organisation, finds the one to act in. */
export type OrganisationLookup = {
  /** By id, or by name without case; one that is spelt the same goes before others. @throws Refusal `organisation_not_found`. */
  readonly named: (idOrName: string) => Promise<Organisation>;
  /** The one that something belongs to. @throws Refusal that there is no such thing. */
  readonly owning: (kind: keyof typeof ownerOf, id: string) => Promise<Organisation>;
};

const codes = {
  channel: 'channel_not_found',
  monitor: 'monitor_not_found',
  incident: 'incident_not_found',
  token: 'token_not_found',
} as const satisfies Record<keyof typeof ownerOf, RefusalCode>;

export const createOrganisationLookup = (sql: Sql): OrganisationLookup => ({
  named: async (idOrName) => {
    const text = idOrName.trim();
    const byId = isId(text.toLowerCase()) ? await organisationById(sql, text.toLowerCase()) : undefined;
    if (byId) return byId;
    const [one, another] = await organisationsNamed(sql, text);
    if (another && (one?.name !== text || another.name === text))
      throw new Refusal('organisation_not_found', `Several organisations are called "${text}"; give the id.`);
    if (!one) throw new Refusal('organisation_not_found', `There is no organisation "${text}".`);
    return one;
  },
  owning: async (kind, id) => {
    const organisation = isId(id.toLowerCase()) ? await ownerOf[kind](sql, id.toLowerCase()) : undefined;
    const found = organisation === undefined ? undefined : await organisationById(sql, organisation);
    if (!found) throw new Refusal(codes[kind], `There is no ${kind} with the id ${id}.`);
    return found;
  },
});
