import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import type { Lookup } from '../../../../probe/checks/connection/lookup.ts';
import { createGuard } from '../../../../probe/checks/guard.ts';
import { createIcmpCheck } from '../../../../probe/checks/icmp/perform.ts';
import { canPing, createPing, readEchoes } from '../../../../probe/checks/icmp/ping.ts';
import type { Config } from '../../../../shared/checks/assignment.ts';
import { causeSentence } from '../../../../shared/checks/causes.ts';
import { targetFault } from '../../../../shared/checks/config.ts';
import fc from '../../../support/random.ts';
import { assignmentOf, deadlineIn, pingCommand } from '../../support/checkers.ts';

const iputils = (
  received: number,
  times = '= 9.812/10.104/10.560/0.310 ms',
) => `PING example.com (93.184.215.14) 56(84) bytes of data.
64 bytes from 93.184.215.14: icmp_seq=1 ttl=52 time=9.81 ms

--- 93.184.215.14 ping statistics ---
3 packets transmitted, ${received} received, ${Math.round(((3 - received) * 100) / 3)}% packet loss, time 402ms
${received > 0 ? `rtt min/avg/max/mdev ${times}` : ''}
`;

describe('the output of ping', () => {
  test.each([
    [
      'of iputils',
      iputils(3),
      { sent: 3, received: 3, rtt: { min: 9.812, mean: 10.104, max: 10.56 }, refusal: null },
    ],
    [
      'of busybox',
      `2 packets transmitted, 1 packets received, 50% packet loss
round-trip min/avg/max = 0.044/0.050/0.056 ms`,
      { sent: 2, received: 1, rtt: { min: 0.044, mean: 0.05, max: 0.056 }, refusal: null },
    ],
    ['without any answer', iputils(0), { sent: 3, received: 0, rtt: null, refusal: null }],
    [
      'of a router that refuses',
      `From 192.0.2.1 icmp_seq=1 Destination Host Unreachable\n${iputils(0)}`,
      { sent: 3, received: 0, rtt: null, refusal: 'host' },
    ],
    [
      'of a host without a way',
      'ping: connect: Network is unreachable',
      { sent: 0, received: 0, rtt: null, refusal: 'network' },
    ],
    ['of a host that forbids it', 'ping: socket: Operation not permitted', undefined],
    ['cut off before anything was sent', '0 packets transmitted, 0 received', undefined],
    [
      'with more answers than questions',
      '3 packets transmitted, 5 received, +2 duplicates',
      { sent: 3, received: 3, rtt: null, refusal: null },
    ],
  ])('%s is read', (_, output, echoes) => {
    expect(readEchoes(output)).toEqual(echoes);
  });

  test('never throws, whatever comes back', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (before, after) => {
        const said = readEchoes(`${before}${iputils(2)}${after}`);
        expect(said === undefined || said.received <= said.sent).toBe(true);
        readEchoes(before);
      }),
    );
  });
});

/** A program in place of ping, that does what a shell is told. */
const pingBy = (script: string) => createPing(['sh', '-c', script, 'ping']);

describe('the program that sends', () => {
  const summary = 'echo "3 packets transmitted, 2 received"';
  const read = { sent: 3, received: 2 };

  test('is given a literal address alone, after options that no target names', async () => {
    const script = `[ "$*" = "-n -c 3 -i 0.2 -W 2 192.0.2.1" ] && ${summary}`;
    expect(await pingBy(script)('192.0.2.1', 3, deadlineIn(30_000))).toMatchObject(read);
    const never = pingBy('exit 1');
    for (const odd of ['-f', '--', '-c 1 192.0.2.1', 'localhost', '192.0.2.1 -f', '127.1', ''])
      expect(() => never(odd, 3, deadlineIn(30_000)), odd).toThrow('literal');
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6(), fc.string()), (text) => {
        // What begins as an option does is no address.
        expect(isIP(text) === 0 || /^[\da-f:]/i.test(text)).toBe(true);
      }),
    );
  });

  test('speaks English and has no secret of the probe', async () => {
    vi.stubEnv('LC_ALL', 'de_DE.UTF-8');
    vi.stubEnv('LANG', 'de_DE.UTF-8');
    vi.stubEnv('PROBE_CREDENTIALS', 'secret');
    const script = `[ "$LC_ALL$LANG$PROBE_CREDENTIALS" = C ] && ${summary}`;
    const echoes = await pingBy(script)('192.0.2.1', 3, deadlineIn(30_000));
    vi.unstubAllEnvs();
    expect(echoes).toMatchObject(read);
  });

  test('is read in pieces of one byte', async () => {
    const script = `{ printf '%s\\n' "From 192.0.2.9 Destination Host Unreachable"; ${summary}; } | dd bs=1 2>/dev/null`;
    expect(await pingBy(script)('192.0.2.1', 3, deadlineIn(30_000))).toMatchObject({
      ...read,
      refusal: 'host',
    });
  });

  test('is read at its end, however many answers a host sent before', async () => {
    const answers = 'yes "64 bytes from 192.0.2.1: icmp_seq=1 ttl=64 time=1.0 ms (DUP!)"';
    const script = `${answers} | head -c 300000; ${summary}`;
    expect(await pingBy(script)('192.0.2.1', 3, deadlineIn(30_000))).toMatchObject(read);
  });

  test.each([
    ['that never ends and takes no word', `trap '' INT; exec yes`, 700],
    ['that says nothing', `trap '' INT; exec sleep 60`, 700],
    ['that is killed', 'echo "64 bytes from 192.0.2.1"; kill -9 $$', 30_000],
    ['that the host does not have', 'exec /nowhere/ping', 30_000],
  ])('%s gives no result and leaves no process', async (_, script, ms) => {
    const folder = await mkdtemp(join(tmpdir(), 'antipode-ping-'));
    const echoes = await pingBy(`echo $$ > ${folder}/pid; ${script}`)(
      '192.0.2.1',
      3,
      deadlineIn(ms),
    );
    const pid = Number(await readFile(join(folder, 'pid'), 'utf8'));
    await rm(folder, { recursive: true });
    expect(echoes).toBeUndefined();
    expect(pid).toBeGreaterThan(1);
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });
});

describe('an icmp check', async () => {
  const command = await pingCommand();
  const ping = createPing(command);
  const works = command !== undefined && (await canPing(ping));
  if (!works) process.stderr.write('SKIPPED: this machine has no ping that works\n');
  const asked: string[] = [];
  const checker =
    (answer: string | undefined, allow: readonly string[] = [], lookup?: Lookup) =>
    (target: string, config: Config = {}) =>
      createIcmpCheck({
        lookup: lookup ?? (async () => ({ addresses: ['192.0.2.7'] })),
        resolver: { works: async () => true },
        families: () => ({ 4: true, 6: false }),
        ping: async (address) => {
          asked.push(address);
          return answer === undefined ? undefined : readEchoes(answer);
        },
      })({
        assignment: assignmentOf(target, { kind: 'icmp', timeout_ms: 5_000, config }),
        started_at: Date.now(),
        deadline: deadlineIn(5_000),
        evidence_wanted: true,
        guard: createGuard({ allow, bus: () => [], own: () => [] }),
        probe: { name: 'a', continent: 'Asia', base_url: 'http://localhost', version: '0' },
        clock: { now: () => Date.now() },
      });

  const open = ['192.0.2.0/24', '127.0.0.0/8'];

  test.each([
    ['all answered', iputils(3), {}, 'ok', undefined],
    ['some lost', iputils(2), {}, 'ok', undefined],
    [
      'too many lost',
      iputils(1),
      {},
      'fail',
      '2 of 3 echo requests were not answered (at most 50% may be lost)',
    ],
    [
      'one lost where none may be',
      iputils(2),
      { max_loss_percent: 0 },
      'fail',
      '1 of 3 echo requests were not answered (at most 0% may be lost)',
    ],
    ['none answered', iputils(0), {}, 'fail', 'None of 3 echo requests was answered'],
    [
      'a refusal on the way',
      `Destination Host Unreachable\n${iputils(0)}`,
      {},
      'fail',
      'Host unreachable',
    ],
    ['no ping', undefined, {}, 'unknown', 'The probe could not send echo requests'],
  ] satisfies [string, string | undefined, Config, string, string | undefined][])(
    'judges %s',
    async (_, output, config, outcome, sentence) => {
      const verdict = await checker(output, open)('host.example', config);
      expect(verdict.outcome).toBe(outcome);
      expect(verdict.cause ? causeSentence(verdict.cause) : undefined).toBe(sentence);
    },
  );

  test('takes the mean round trip as its time, and warns when that is slow', async () => {
    const config = { warn: { response_ms: 5 } };
    const verdict = await checker(iputils(3), open)('host.example', config);
    expect(verdict.phases).toMatchObject({ first_byte: 10.1, total: 10.1 });
    expect(verdict.warnings).toMatchObject([{ code: 'slow', details: { limit_ms: 5 } }]);
    expect(verdict.evidence).toMatchObject({
      address: '192.0.2.7',
      sent: 3,
      received: 3,
      round_trip_ms: { max: 10.56 },
    });
  });

  test('asks no address that is not public, also when a name leads there', async () => {
    asked.length = 0;
    const inside: Lookup = async () => ({ addresses: ['192.0.2.7', '10.0.0.1'] });
    for (const target of ['127.0.0.1', '10.1.2.3', '::1', '169.254.169.254', '[::ffff:10.0.0.1]'])
      expect(await checker(iputils(3))(target)).toMatchObject({
        cause: { class: 'address_not_public' },
      });
    expect(await checker(iputils(3), ['192.0.2.0/24'], inside)('host.example')).toMatchObject({
      cause: { class: 'address_not_public' },
      evidence: { addresses: [] },
    });
    expect(asked).toEqual([]);
  });

  test('of an organisation whose hosts are silent holds up no other one', async () => {
    const silent = Promise.withResolvers<undefined>();
    const check = createIcmpCheck({
      lookup: async () => ({ addresses: [] }),
      resolver: { works: async () => true },
      families: () => ({ 4: true, 6: false }),
      ping: async (address) => (address === '192.0.2.1' ? silent.promise : readEchoes(iputils(3))),
    });
    const begin = (target: string, organisation: string) =>
      check({
        assignment: assignmentOf(target, { kind: 'icmp', timeout_ms: 5_000, organisation }),
        started_at: Date.now(),
        deadline: deadlineIn(5_000),
        evidence_wanted: false,
        guard: createGuard({ allow: open, bus: () => [], own: () => [] }),
        probe: { name: 'a', continent: 'Asia', base_url: 'http://localhost', version: '0' },
        clock: { now: () => Date.now() },
      });
    const waiting = Array.from({ length: 40 }, () => begin('192.0.2.1', 'one'));
    expect(await begin('192.0.2.2', 'another')).toMatchObject({ outcome: 'ok' });
    silent.resolve(undefined);
    expect((await Promise.all(waiting)).map(({ outcome }) => outcome)).toEqual(
      Array(40).fill('unknown'),
    );
  });

  test('whose turn came so late that its time cut it off has no result', async () => {
    const first = Promise.withResolvers<undefined>();
    const pinged: string[] = [];
    let ended = 0;
    const check = createIcmpCheck({
      lookup: async () => ({
        addresses: ['192.0.2.2'],
        second: {
          type: 'AAAA',
          addresses: Promise.resolve([]),
          fault: () => null,
          end: () => {
            ended += 1;
          },
        },
      }),
      resolver: { works: async () => true },
      families: () => ({ 4: true, 6: false }),
      ping: async (address) => {
        pinged.push(address);
        if (address === '192.0.2.1') return first.promise;
        return readEchoes(iputils(0));
      },
    });
    const begin = (target: string, timeout_ms: number) => {
      const deadline = deadlineIn(timeout_ms);
      const verdict = check({
        assignment: assignmentOf(target, { kind: 'icmp', timeout_ms, organisation: 'one' }),
        started_at: Date.now(),
        deadline,
        evidence_wanted: false,
        guard: createGuard({ allow: open, bus: () => [], own: () => [] }),
        probe: { name: 'a', continent: 'Asia', base_url: 'http://localhost', version: '0' },
        clock: { now: () => Date.now() },
      });
      return { verdict, deadline };
    };
    const waiting = Array.from({ length: 16 }, () => begin('192.0.2.1', 30_000).verdict);
    const late = begin('host.example', 30_000);
    await expect.poll(() => [pinged.length, ended]).toEqual([16, 1]);
    late.deadline.due = performance.now() + 1_000;
    first.resolve(undefined);
    await Promise.all(waiting);
    expect(await late.verdict).toMatchObject({
      outcome: 'unknown',
      cause: { class: 'icmp_unavailable' },
    });
    expect(pinged).not.toContain('192.0.2.2');
  });

  test.each([
    ['router.example.com', true],
    ['192.0.2.1', true],
    ['2001:db8::1', true],
    ['[2001:db8::1]', true],
    ['router.example.com:80', false],
    ['https://example.com/', false],
    ['-c 100 example.com', false],
    ['', false],
  ])('takes %s as its target: %s', (target, isTaken) => {
    expect(targetFault('icmp', target) === undefined).toBe(isTaken);
  });

  test.skipIf(!works)(
    'reaches this machine by the real program, and ends by its deadline',
    async () => {
      const echoes = await ping('127.0.0.1', 2, deadlineIn(5_000));
      expect(echoes).toMatchObject({ sent: 2, received: 2, rtt: { min: expect.any(Number) } });
      const cut = await ping('127.0.0.1', 20, deadlineIn(1_000));
      expect(cut?.sent).toBeLessThan(20);
      expect(cut?.received).toBeGreaterThan(0);
    },
  );
});
