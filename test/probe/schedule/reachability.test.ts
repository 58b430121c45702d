import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Asked, createReachability } from '../../../probe/schedule/self-check.ts';

let anchor: Server;
let anchorAddress: string;
let knocks: number;

beforeEach(async () => {
  knocks = 0;
  anchor = createServer((socket) => {
    knocks += 1;
    socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(anchor, 'listening');
  const address = anchor.address();
  anchorAddress = `127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
});
afterEach(() => {
  anchor.close();
});

const noBus = () => Promise.reject(new Error('no bus'));
const alone = () => createReachability({ anchors: () => [], busRoundTrip: noBus });
const asked = (more: Partial<Asked> = {}): Asked => ({
  host: 'a',
  since: 1_000,
  wasRefused: false,
  isInside: false,
  ...more,
});

describe('a probe vouches for itself', () => {
  test('by another host that answered since the check began', async () => {
    const reachability = alone();
    reachability.reached('b', 1_500, false);
    expect(await reachability.reachedOther(asked())).toBe(true);
  });

  test('also when the host in question was itself the last to answer', async () => {
    const reachability = alone();
    reachability.reached('b', 1_500, false);
    reachability.reached('a', 1_600, false);
    reachability.reached('a', 1_700, false);
    expect(await reachability.reachedOther(asked())).toBe(true);
  });

  test('not by the host in question, and not by one that answered before', async () => {
    const reachability = alone();
    reachability.reached('b', 999, false);
    reachability.reached('a', 1_600, false);
    expect(await reachability.reachedOther(asked())).toBe(false);
  });

  test('not for what lies outside by what lies inside its own network, which it reaches without its way out; but for what lies there too', async () => {
    const reachability = alone();
    reachability.reached('b', 1_500, true);
    reachability.reached('c', 1_600, true);
    expect(await reachability.reachedOther(asked())).toBe(false);
    expect((await reachability.selfTest()).ok).toBe(false);
    expect(await reachability.reachedOther(asked({ isInside: true }))).toBe(true);
    reachability.reached('d', 1_400, false);
    reachability.reached('b', 1_700, true);
    expect(await reachability.reachedOther(asked())).toBe(true);
  });

  test('by an anchor that can be reached', async () => {
    const reachability = createReachability({ anchors: () => [anchorAddress], busRoundTrip: noBus });
    expect(await reachability.reachedOther(asked({ since: performance.now() }))).toBe(true);
  });

  test('by the bus, when the anchors are silent', async () => {
    const reachability = createReachability({ anchors: () => [], busRoundTrip: () => Promise.resolve() });
    expect(await reachability.reachedOther(asked({ since: performance.now() }))).toBe(true);
  });

  test('not by the bus where it does not count, for the operator chose other anchors', async () => {
    const reachability = createReachability({
      anchors: () => ['127.0.0.1:1'],
      busCounts: () => false,
      busRoundTrip: () => Promise.resolve(),
    });
    expect(await reachability.reachedOther(asked({ since: performance.now(), wasRefused: true }))).toBe(false);
  });

  test('by an anchor that refuses, but not for a refusal', async () => {
    anchor.close();
    await once(anchor, 'close');
    const reachability = createReachability({ anchors: () => [anchorAddress], busRoundTrip: noBus });
    expect(await reachability.reachedOther(asked({ since: performance.now() }))).toBe(true);
    expect(await reachability.reachedOther(asked({ since: performance.now(), wasRefused: true }))).toBe(false);
  });

  test('not by an anchor that is no address', async () => {
    const reachability = createReachability({ anchors: () => ['nonsense', 'host:99999'], busRoundTrip: noBus });
    expect(await reachability.reachedOther(asked({ since: performance.now() }))).toBe(false);
  });
});

describe('failures that come together', () => {
  test('ask the anchors once', async () => {
    const reachability = createReachability({ anchors: () => [anchorAddress], busRoundTrip: noBus });
    const since = performance.now();
    const answers = await Promise.all(Array.from({ length: 50 }, () => reachability.reachedOther(asked({ since }))));
    expect(answers).toEqual(Array.from({ length: 50 }, () => true));
    expect(knocks).toBeLessThanOrEqual(1);
  });

  test('ask again when the last attempt found nothing', async () => {
    const anchors: string[] = [];
    const reachability = createReachability({ anchors: () => anchors, busRoundTrip: noBus });
    const since = performance.now();
    expect(await reachability.reachedOther(asked({ since }))).toBe(false);
    anchors.push(anchorAddress);
    expect(await reachability.reachedOther(asked({ since }))).toBe(true);
  });
});

describe('the self-test', () => {
  test('fails when neither a target nor an anchor answers', async () => {
    expect(await alone().selfTest()).toEqual({ ok: false, detail: 'no target and no anchor answers' });
  });

  test('passes when a target answered lately', async () => {
    const reachability = alone();
    reachability.reached('b', performance.now(), false);
    expect((await reachability.selfTest()).ok).toBe(true);
  });
});
