/** For test files: the API at an address of its own, with what its users have: an organisation, and the downloads as files. */
import { type Api, openApi } from './api.ts';
import { createTestOrganisation, type TestOrganisation } from './people.ts';
import { downloaded } from './programs.ts';
import { createDatabase } from './services.ts';

export type Served = {
  readonly api: Api;
  readonly url: string;
  readonly house: TestOrganisation;
  readonly files: Awaited<ReturnType<typeof downloaded>>['files'];
  /** What surrounds a program of theirs: nothing but the service, and a token that may only read. */
  readonly environment: Readonly<Record<string, string>>;
  readonly close: () => Promise<void>;
};

export const openServed = async (): Promise<Served> => {
  const database = await createDatabase();
  const api = await openApi(database.url);
  const house = await createTestOrganisation(api.sql);
  const url = await api.listen();
  const { files, remove } = await downloaded();
  const environment = {
    PATH: process.env.PATH ?? '',
    ANTIPODE_URL: url,
    ANTIPODE_TOKEN: house.viewer.read,
    XDG_CONFIG_HOME: '/nonexistent',
  };
  return {
    ...{ api, url, house, files, environment },
    close: async () => {
      remove();
      await api.close();
      await database.drop();
    },
  };
};
