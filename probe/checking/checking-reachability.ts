import { connect } from 'node:net';

/**
 * Whether this probe can vouch for itself (rule 2): did it reach any other host since a check began, or does it reach an anchor now?
 * An anchor that refuses the connection was reached as well, because the refusal came from there; but a refusal cannot
 * vouch for a refusal: whatever stands in the way may refuse everything. What lies inside the probe's own network vouches only for what lies
 * there too: it is reached just as well when the way out is cut.
 */
export type Reachability = {
  /** A host answered a check, at this moment of performance.now(). */
  readonly reached: (host: string, at: number, isInside: boolean) => void;
  readonly reachedOther: (asked: Asked) => Promise<boolean>;
  readonly selfTest: () => Promise<{ readonly ok: boolean; readonly detail: string }>;
};

export type Asked = { readonly host: string; readonly since: number; readonly wasRefused: boolean; readonly isInside: boolean };

/** The two hosts that answered last: one of them is another than the one in question. */
type Answered = { newest: HostAnswered; other: HostAnswered };
type HostAnswered = { readonly host: string; at: number };
type Answer = 'connected' | 'refused' | 'nothing';
type Attempt = { readonly at: number; readonly answer: Promise<Answer> };

const patienceMs = 2_000;
const recentMs = 60_000;

/** An anchor is "host:port"; an IPv6 address stands in brackets. */
const tryAnchor = (anchor: string): Promise<Answer> =>
  new Promise((resolve) => {
    const colon = anchor.lastIndexOf(':');
    const socket = connect({ host: anchor.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(anchor.slice(colon + 1)) });
    const end = (answer: Answer) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(patienceMs, () => end('nothing'));
    socket.once('connect', () => end('connected'));
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code === 'ECONNREFUSED' ? 'refused' : 'nothing'));
  });

const isAnchor = (text: string): boolean => /^\S+:\d{1,5}$/.test(text) && Number(text.slice(text.lastIndexOf(':') + 1)) <= 65_535;

const nobody = (): HostAnswered => ({ host: '', at: Number.NEGATIVE_INFINITY });

/** Told of every check that passes, so it makes nothing anew for a host that answers again. */
const note = (answered: Answered, host: string, at: number): void => {
  if (answered.newest.host === host) answered.newest.at = at;
  else if (answered.other.host === host) {
    const again = answered.other;
    again.at = at;
    answered.other = answered.newest;
    answered.newest = again;
  } else {
    answered.other = answered.newest;
    answered.newest = { host, at };
  }
};

/** Whether a host other than this one answered since then. */
const otherSince = ({ newest, other }: Answered, host: string, since: number): boolean =>
  (newest.host !== host && newest.at >= since) || (other.host !== host && other.at >= since);

export const createReachability = (parts: {
  readonly anchors: () => readonly string[];
  /** Whether the bus vouches too: it stands for the coordinator, beside which a probe may be, and not for anchors that the operator chose. */
  readonly busCounts?: () => boolean;
  /** Goes to the bus and back; rejects or never settles when there is none. */
  readonly busRoundTrip: () => Promise<void>;
}): Reachability => {
  const outside: Answered = { newest: nobody(), other: nobody() };
  const inside: Answered = { newest: nobody(), other: nobody() };
  let attempt: Attempt | undefined;

  const tryBus = (): Promise<Answer> =>
    new Promise((resolve) => {
      const timer = setTimeout(() => resolve('nothing'), patienceMs);
      parts
        .busRoundTrip()
        .then(() => resolve('connected'))
        .catch(() => resolve('nothing'))
        .finally(() => clearTimeout(timer));
    });

  /** Everything that may answer at once; settles with the first that connects. */
  const tryAll = (): Promise<Answer> =>
    new Promise((resolve) => {
      const attempts = parts.anchors().filter(isAnchor).map(tryAnchor);
      if (parts.busCounts?.() ?? true) attempts.push(tryBus());
      for (const one of attempts) void one.then((answer) => answer === 'connected' && resolve(answer));
      void Promise.all(attempts).then((answers) => resolve(answers.includes('refused') ? 'refused' : 'nothing'));
    });

  /** Checks that fail together ask together: an attempt that began after a check began speaks for that check too. */
  const attemptSince = async (since: number): Promise<Answer> => {
    if (!attempt || attempt.at < since) attempt = { at: performance.now(), answer: tryAll() };
    const mine = attempt;
    const answer = await mine.answer;
    if (answer !== 'connected' && attempt === mine) attempt = undefined;
    return answer;
  };

  return {
    reached: (host, at, isInside) => note(isInside ? inside : outside, host, at),
    reachedOther: async ({ host, since, wasRefused, isInside }) => {
      if (otherSince(outside, host, since) || (isInside && otherSince(inside, host, since))) return true;
      const answer = await attemptSince(since);
      return answer === 'connected' || (answer === 'refused' && !wasRefused);
    },
    selfTest: async () => {
      const ago = performance.now() - outside.newest.at;
      if (ago < recentMs) return { ok: true, detail: `a target answered ${Math.round(ago / 1_000)} s ago` };
      const answer = await attemptSince(performance.now() - recentMs);
      return {
        ok: answer !== 'nothing',
        detail: answer === 'nothing' ? 'no target and no anchor answers' : 'an anchor or the bus answers',
      };
    },
  };
};
