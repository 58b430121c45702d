import type { Shares } from '../../access/access-share-links.ts';
import type { ShownRecord } from '../../publishing/publishing-own-record.ts';
import type { Consents } from '../oauth/oauth-routes.ts';

/** What pages need besides operations, as functions that app.ts hands in: who adds a page that needs one adds it here. */
export type Instruments = {
  /** Where people reach the service, without a slash at the end. */
  readonly baseUrl: () => string;
  /** What a share link shows; undefined when it was ended, or never was. */
  readonly readShare: Shares['read'];
  /** How well the house did; undefined for whom it is not open. */
  readonly ownRecord: (isSignedIn: boolean) => ShownRecord | undefined;
  /** Assistants that ask to be let in. */
  readonly consents: Consents;
};
