import { pageText } from '../../../coordinator/documentation/page-files.ts';

/** The commands of the documentation, and which test types each. */

/** What a page's blocks of the shell hold: a command each, without comments and breaks of lines. */
export function commandsOf(page: string): readonly string[] {
  return [...pageText(page).matchAll(/```sh\n(.*?)```/gs)].flatMap(([, block = '']) =>
    block
      .replaceAll(/ *\\\n */g, ' ')
      .split('\n')
      .map((line) => line.replace(/ {2,}#.*$/, ''))
      .filter((line) => line !== '' && !line.startsWith('#')),
  );
}

/** Pages whose commands need no more than the API, and those that need a whole service with probes. */
export const typedPages = {
  api: [
    'monitor-types',
    'status-pages',
    'reports',
    'objectives',
    'places',
    'monitors-as-code',
    'moving-in',
  ],
  service: [
    'start',
    'first-monitor',
    'alerts',
    'heartbeats',
    'probes',
    'command-line',
    'api',
    'webhooks',
    'assistants',
    'production',
    'backup',
    'upgrade',
  ],
} as const;

/** Commands that another test types: that test, and words of it that do so. */
export const typedElsewhere: readonly (readonly [command: RegExp, test: string, words: string])[] =
  [
    [/^npm install && npm start$/, '.ci/bare-machine', 'npm install'],
    [/^npx \.\/antipode-1\.0\.0\.tgz$/, 'test/deploy/package.long.test.ts', 'antipode.mjs'],
    [/^(docker save|podman run) /, 'test/deploy/images/whole.ts', 'docker-archive:'],
    [/^docker (run|logs|exec) /, 'test/deploy/images/whole.ts', "'run', '--rm'"],
    [/^(kubectl|helm) /, 'test/deploy/kubernetes/charts.ts', "'template'"],
    [
      /^antipode discover kubernetes/,
      'test/shared/client/discover/kubernetes.test.ts',
      "'discover', 'kubernetes'",
    ],
    [
      /&& node antipode-probe\.mjs join /,
      'test/network/joining.test.ts',
      "'join', coordinator.url",
    ],
    [/\/probes\.txt$/, 'test/network/public-probes.long.test.ts', '/probes.txt'],
    [
      /\/http-message-signatures-directory$/,
      'test/network/public-probes.long.test.ts',
      'http-message-signatures-directory',
    ],
    [/^npm run operator -- restore /, 'test/coordinator/backups/round-trip.test.ts', 'restore'],
    [/^install -m 755 antipode-probe\.mjs /, 'test/network/joining.test.ts', '--install'],
    [/^npm run referee/, 'test/referee/run.long.test.ts', 'runReferee({'],
    [/^npm run simulate -- --one-sided /, 'test/simulation/stories.test.ts', 'liveOneSided('],
    [/^systemctl restart antipode-probe$/, 'test/network/joining.test.ts', 'systemctl restart'],
  ];
