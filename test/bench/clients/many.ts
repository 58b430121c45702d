import { createServer } from 'node:http';

/**
 * A service that has so many monitors, as far as a list of them goes; a quarter has names that no
 * terminal finds easy.
 */

const monitor = (nth: number) => ({
  id: `0190a7c4-5b1e-7c3d-9f42-${nth.toString(16).padStart(12, '0')}`,
  name: nth % 4 === 0 ? `👩‍👩‍👧 מוניטור ${nth} 🇩🇪` : `Monitor number ${nth}`,
  type: 'https',
  target: `https://shop-${nth}.example.com/path/of/it`,
  interval_s: 60,
  enabled: true,
  config: { expected_status: ['2xx'] },
  group: null,
  affects_group_status: true,
  external_id: null,
  tags: ['shop'],
  created_at: '2026-11-23T09:13:09.101Z',
  status: 'up',
  since: '2026-11-23T09:13:09.101Z',
  last_checked_at: '2026-11-23T09:13:09.101Z',
});

export const serveMonitors = async (
  count: number,
): Promise<{ readonly url: string; readonly close: () => void }> => {
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://localhost');
    const [from, limit] = [
      Number(searchParams.get('cursor') ?? 0),
      Number(searchParams.get('limit')),
    ];
    const to = Math.min(count, from + limit);
    const items = Array.from({ length: to - from }, (_, nth) => monitor(from + nth));
    response
      .setHeader('content-type', 'application/json')
      .end(JSON.stringify({ items, next_cursor: to < count ? String(to) : null }));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new Error('the server of the bench has no port');
  return { url: `http://127.0.0.1:${address.port}`, close: () => server.close() };
};
