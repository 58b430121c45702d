import { configDefaults, defineConfig } from 'vitest/config';
import whole from '../vitest.config.ts';
import type { BusForm } from './support/support-bus-forms.ts';

/** What cannot run on another form of the bus than its own, with the reason. */
const onOwnBusAlone: Readonly<Record<string, string>> = {
  'bus-cluster': 'has a bus of three servers of its own',
  faults: 'kills and wipes a bus of its own',
  'faults-disks': 'fills the disk of a bus of its own',
  'joining-elsewhere': 'has a bus of its own, with TLS first, in a network namespace',
  'database-restored': 'sets database and bus back to another moment',
  'bus-tls': 'has a bus of its own, with TLS',
  'measured-place': 'has a bus of its own, that two network namespaces reach',
  torment: 'kills, wipes and fills a bus of its own',
};

/** What cannot run where a server is killed, with the reason. */
const notWhileKilling: Readonly<Record<string, string>> = {
  'version-before': 'starts the version before, which ends at its start when nobody leads the streams in that moment',
};

const left = (name: BusForm): readonly string[] => Object.keys({ ...onOwnBusAlone, ...(name === 'three' ? notWhileKilling : {}) });

const onForm = (name: BusForm) => ({
  extends: true as const,
  test: {
    name,
    include: ['test/network/*.test.ts'],
    exclude: [...configDefaults.exclude, ...left(name).map((file) => `test/network/network-${file}.test.ts`)],
    setupFiles: ['test/support/support-bus-forms-setup.ts'],
    provide: { busForm: name },
  },
});

/**
 * `npm run test:cluster`: the tests of networks on buses of several servers (`three`: one of which is killed every while; `supercluster`), and
 * those that are about such buses alone (`apart`). Which files have been run on which form is said below. Longer than CI has time for, so that it
 * is run by hand; one file after the other, for each has up to five servers, three coordinators and three probes.
 *
 * Passed on `three`: absence, after-glitch, after-glitch-limited, after-glitch-private, alerts-after-absence, batch-forms, bus-away, clock-differs,
 * continents, coordinator-cut-off, coordinators (each of its tests, in two runs), coordinators-together, database-refuses, database-silent, doubted-place,
 * first-look, great-outage, heartbeats-outages, incidents, monitor-secrets, refused-senders, telling, tombstones, trials, uncheckable. Failed: three tests
 * of forwarded-pings, which do not expect that nobody leads; one of heartbeats and three of looks-after-change, which were changed since.
 * Passed on `supercluster`: absence, batch-forms, bus-away, clock-differs, continents, coordinator-cut-off, coordinators, coordinators-together, database-refuses,
 * database-silent, doubted-place, first-look, heartbeats, heartbeats-outages, incidents.
 * Every other file has not been run to its end on that form.
 */
export default defineConfig({
  test: {
    // The files of each are its own: to those of the whole they would be added.
    ...{ ...whole.test, include: [] },
    maxWorkers: 1,
    testTimeout: 900_000,
    hookTimeout: 900_000,
    projects: [{ extends: true, test: { name: 'apart', include: ['test/network/cluster/*.ts'] } }, onForm('three'), onForm('supercluster')],
  },
});
