import type { Adapter } from 'oidc-provider';
import type { OauthRecords } from '../../access/access-oauth-records.ts';

/** What is refused because the connection ended meanwhile, or a code came twice. */
export type GrantEnded = (detail: string) => Error;

const nothing = async (): Promise<undefined> => undefined;

/** Nobody stays signed in with the signing-in of assistants: whoever is at the browser is known by our own session alone, and asked each time. */
const forgetful: Adapter = {
  upsert: nothing,
  find: nothing,
  findByUserCode: nothing,
  findByUid: nothing,
  consume: nothing,
  destroy: nothing,
  revokeByGrantId: nothing,
};

/** What the library stores, as records of ours. */
export const adapterFor =
  (records: OauthRecords, ended: GrantEnded) =>
  (model: string): Adapter =>
    model === 'Session'
      ? forgetful
      : {
          upsert: async (id, payload, expiresIn) => {
            if (!(await records.write(model, id, { ...payload }, expiresIn))) throw ended('the connection has ended');
          },
          find: (id) => records.read(model, id),
          findByUserCode: nothing,
          findByUid: nothing,
          consume: async (id) => {
            const isFirst = await records.consume(model, id);
            if (isFirst || model !== 'AuthorizationCode') return;
            // Of two who bring one code at once nobody knows which of them is its owner.
            const grant = (await records.read(model, id))?.grantId;
            if (typeof grant === 'string') await records.end(grant);
            throw ended('the code was used already');
          },
          destroy: (id) => (model === 'Grant' ? records.end(id) : records.remove(model, id)),
          // A connection is the grant: nothing of it stays when what was given out under it is taken back.
          revokeByGrantId: (grant) => records.end(grant),
        };
