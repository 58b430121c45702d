import dnsPacket from 'dns-packet';
import { describe, expect, test } from 'vitest';
import {
  createLookup,
  createOwnResolver,
  ownFamilies,
} from '../../../../probe/checks/connection/lookup.ts';
import { type Asked, answerTo, type Resolver } from '../../../support/name-servers.ts';
import { deadlineIn, httpsChecker } from '../../support/checkers.ts';
import { dnsBench } from '../../support/dns-setup.ts';

/**
 * Names that https checks need, looked up by a resolver of the probe's own that may be the one at
 * fault (rule 1).
 */

const { sockets, resolver } = dnsBench();

const checkerBy = (by: Resolver) => {
  const resolvers = () => [{ address: '127.0.0.1', port: by.port, family: 4 }] as const;
  const own = createOwnResolver(sockets, resolvers);
  return httpsChecker({
    lookup: createLookup({ families: ownFamilies, sockets, resolvers, onAnswer: own.answered }),
    resolver: own,
  });
};
const nameOf = (query: Buffer): string => dnsPacket.decode(query).questions?.[0]?.name ?? '';

describe('a name that cannot be resolved', () => {
  const rcode =
    (code: number) =>
    ({ query }: Asked): Buffer =>
      answerTo(query, { rcode: code });

  test.each([
    ['fails everything', rcode(2)],
    ['refuses everything', rcode(5)],
    ['is silent', () => null],
  ])('by a resolver that %s is unknown, not an outage', async (_, say) => {
    const check = checkerBy(await resolver(say));
    expect(await check('http://shop.example/', {}, { timeout_ms: 1_500 })).toMatchObject({
      outcome: 'unknown',
      cause: { class: 'probe_resolver' },
    });
  });

  test.each([
    ['fails', 'The name servers failed to answer for the name', rcode(2)],
    ['refuses', 'The name servers refused to answer for the name', rcode(5)],
    ['is silent for', 'No complete answer within 1.5 s (while looking up the name)', () => null],
  ])('by one that %s it alone is an outage', async (_, sentence, say) => {
    const check = checkerBy(
      await resolver((asked) => (nameOf(asked.query) === '.' ? answerTo(asked.query) : say(asked))),
    );
    expect(await check('http://shop.example/', {}, { timeout_ms: 1_500 })).toMatchObject({
      outcome: 'fail',
      sentence,
    });
  });

  test('by one that has just answered for another name is an outage, and the root is not asked', async () => {
    const asked = new Set<string>();
    const check = checkerBy(
      await resolver(({ query }) => {
        asked.add(nameOf(query));
        return nameOf(query) === 'gone.example' ? answerTo(query, { rcode: 3 }) : null;
      }),
    );
    const slow = check('http://shop.example/', {}, { timeout_ms: 1_500 });
    expect(await check('http://gone.example/')).toMatchObject({
      outcome: 'fail',
      sentence: 'The name does not exist',
    });
    expect(await slow).toMatchObject({ outcome: 'fail', cause: { class: 'timed_out' } });
    expect(asked).not.toContain('.');
  });
});

test('a silent resolver delays no check beyond its own deadline, although another check asked it and is over', async () => {
  const { port } = await resolver(() => null);
  const own = createOwnResolver(sockets, () => [{ address: '127.0.0.1', port, family: 4 }]);
  const first = deadlineIn(2_000);
  const asked = own.works('a.example', performance.now(), first);
  const second = own.works('b.example', performance.now(), deadlineIn(100));
  const third = own.works('c.example', performance.now(), deadlineIn(5_000));
  first.settle();
  const order: string[] = [];
  const seen = (name: string) => (works: boolean) => void order.push(`${name} ${works}`);
  await Promise.all([asked.then(seen('a')), second.then(seen('b')), third.then(seen('c'))]);
  expect(order[0]).toBe('b false');
  expect(order.toSorted()).toEqual(['a false', 'b false', 'c false']);
});
