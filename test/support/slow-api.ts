import { connectBus } from '../../shared/bus/nats.ts';
import { createTcpProxy } from './connections.ts';
import { testLog } from './network.ts';
import type { TestAccount } from './services.ts';

/**
 * For test files: a bus that is slow to answer questions about its streams, as one is that is far
 * away, starved of its processor or at the end of its disk. What is published passes as before.
 */
export type SlowApi = {
  /** An address for the bus; whoever uses it waits for each answer while it is slow. */
  readonly url: () => Promise<string>;
  readonly setSlow: (isSlow: boolean) => void;
  readonly close: () => Promise<void>;
};

const [slow, usual] = ['$JX.API.', '$JS.API.'];

export const startSlowApi = async (
  { url, coordinatorCredentials: credentials }: TestAccount,
  /** How long the next answer takes. */
  delayMs: () => number,
): Promise<SlowApi> => {
  const bus = await connectBus({ url, credentials, name: 'slow API', log: testLog() });
  const waiting = new Set<NodeJS.Timeout>();
  bus.subscribe(`${slow}>`, ({ subject, data, reply }) => {
    const timer = setTimeout(() => {
      waiting.delete(timer);
      bus.relay(subject.replace(slow, usual), data, { reply, headers: {} });
    }, delayMs());
    waiting.add(timer);
  });
  let isSlow = false;
  const garble = (data: Buffer): Buffer =>
    isSlow ? Buffer.from(data.toString('latin1').replaceAll(usual, slow), 'latin1') : data;
  const proxies: { readonly close: () => Promise<void> }[] = [];
  return {
    url: async () => {
      const proxy = await createTcpProxy(url, { garble });
      proxies.push(proxy);
      return proxy.url;
    },
    setSlow: (to) => {
      isSlow = to;
    },
    close: async () => {
      for (const timer of waiting) clearTimeout(timer);
      for (const { close } of proxies) await close();
      await bus.close();
    },
  };
};
