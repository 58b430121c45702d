import { type Bus, type BusOptions, connectBus } from '../../shared/bus/bus-nats.ts';

/** Tries until there is a bus or the probe ends; no refusal ends it, because credentials may be renewed on the other side. */
export const connectPatiently = async (options: BusOptions & { readonly signal: AbortSignal }): Promise<Bus | undefined> => {
  try {
    const bus = await connectBus(options);
    if (!options.signal.aborted) return bus;
    await bus.close();
  } catch (error) {
    if (!options.signal.aborted) throw error;
  }
  return undefined;
};
