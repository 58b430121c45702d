import { configDefaults, defineConfig } from 'vitest/config';
import whole from '../vitest.config.ts';
import type { BusForm } from './support/buses.ts';

/** What cannot run on another form of the bus than its own, with the reason. */
const onOwnBusAlone: Readonly<Record<string, string>> = {
  'bus-cluster.long': 'has a bus of three servers of its own',
  'faults.long': 'kills, wipes, fills and sets back a bus of its own',
  'own-bus': 'has a bus of its own, with TLS, also in a network namespace',
  'two-hosts.long': 'has a bus of its own, that two network namespaces reach',
  'torment.long': 'kills, wipes and fills a bus of its own',
};

const left = Object.keys(onOwnBusAlone);

const onForm = (name: BusForm) => ({
  extends: true as const,
  test: {
    name,
    include: ['test/network/*.test.ts'],
    exclude: [...configDefaults.exclude, ...left.map((file) => `test/network/${file}.test.ts`)],
    setupFiles: ['test/support/bus-forms-setup.ts'],
    provide: { busForm: name },
  },
});

/**
 * `npm run test:cluster`: the tests of networks on buses of several servers (`three`: one of which is killed every while; `supercluster`), and
 * those that are about such buses alone (`apart`). CI has no time for it, some 45 minutes for each
 * form: it is run by hand; one file after the other, for each has up to five servers, three
 * coordinators and three probes. They mostly wait; beside much else on the machine some fail,
 * because they were kept waiting for too long.
 *
 * Every file has passed on each form, with nats-server 2.10.27 (Debian's) or 2.12.6 (the oldest of
 * its line that `docs/production.md` asks for), `apart` with both.
 */
export default defineConfig({
  test: {
    ...whole.test,
    // The files of each are its own: to those of the whole they would be added.
    include: [],
    exclude: configDefaults.exclude,
    maxWorkers: 1,
    testTimeout: 900_000,
    hookTimeout: 900_000,
    projects: [
      { extends: true, test: { name: 'apart', include: ['test/network/cluster/*.ts'] } },
      onForm('three'),
      onForm('supercluster'),
    ],
  },
});
