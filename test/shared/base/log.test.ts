import { expect, test } from 'vitest';
import { createLog } from '../../../shared/base/log.ts';

const logged = (write: (log: ReturnType<typeof createLog>) => void): string => {
  const lines: string[] = [];
  write(createLog({ name: 'test', level: 'info' }, { write: (line) => void lines.push(line) }));
  return lines.join('');
};

test('secrets are taken out by the name of their key', () => {
  const text = logged((log) => log.info({ password: 'hunter2', caller: { token: 'abc', name: 'deploy' } }, 'in'));
  expect(text).not.toMatch(/hunter2|abc/);
  expect(text).toContain('deploy');
});

test('secrets are taken out by their shape, wherever they stand', () => {
  const token = 'svc_0123456789abcdefghijklmnopqrstuvwxyzABCD';
  const text = logged((log) =>
    log.error(
      { err: new Error(`refused ${token}`) },
      'GET /beat/abcdefghijk/start from postgres://someone:sesame@127.0.0.1/x by SUACH6EXAMPLE7EXAMPLE7EXAMPLE7EXAMPLE7EXAMPLE7EXAMPLE7EXAM',
    ),
  );
  expect(text).not.toMatch(/0123456789|abcdefghijk|sesame|SUACH6/);
  expect(text).toContain('someone');
});

test('secrets are taken out of paths that hold one, and of cookies', () => {
  const places = ['enter', 'join', 'reset', 'verify', 'keep', 'finish', 'shared/incidents'];
  const text = logged((log) =>
    log.error(
      { url: '/enter/OneTimeSecret-1', cookie_header: 'a=b; svc_session=OneTimeSecret-2' },
      places.map((at) => `/${at}/OneTimeSecret-3?x=1`).join(' '),
    ),
  );
  expect(text).not.toContain('OneTimeSecret');
  for (const at of places) expect(text).toContain(`/${at}/***?x=1`);
});
