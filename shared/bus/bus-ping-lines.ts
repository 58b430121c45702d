/** Which pings are through, by their ids, and what hindered others. */
export type HandedOver = { readonly handed: ReadonlySet<string>; readonly failures: readonly unknown[] };

type Lined = { readonly monitor: string; readonly ping: { readonly id: string } };

/**
 * Hands pings over side by side for different monitors, one after the other for each; a line ends with its first failure, or when there is
 * no more time to go on.
 */
export const handOverInLines = async <Entry extends Lined>(
  entries: readonly Entry[],
  handOver: (entry: Entry) => Promise<void>,
  mayGoOn: () => boolean = () => true,
): Promise<HandedOver> => {
  const handed = new Set<string>();
  const lines = Map.groupBy(entries, ({ monitor }) => monitor).values();
  const ends = await Promise.allSettled(
    lines.map(async (line) => {
      for (const entry of line) {
        if (!mayGoOn()) return;
        await handOver(entry);
        handed.add(entry.ping.id);
      }
    }),
  );
  return { handed, failures: ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : [])) };
};
