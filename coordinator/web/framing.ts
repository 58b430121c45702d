import { unmuteAlerts } from '../../shared/api/notifications.ts';
import { isId } from '../../shared/base/crypto.ts';
import type { Caller } from '../gate/caller.ts';
import { isAllowed } from '../gate/roles.ts';
import { keepOrganisation, showFrame, showManager } from './contract.ts';
import type { Frame } from './layout.ts';
import type { Ask } from './page.ts';

/** What the frame of every page shows of the caller's organisation. */
export type FrameData = Pick<Frame, 'outages' | 'mute' | 'ending' | 'delivery' | 'managedBy'>;

const emptyFrame: FrameData = {
  outages: 0,
  mute: undefined,
  ending: undefined,
  delivery: undefined,
  managedBy: null,
};

export async function frameOf(
  caller: Caller | null | undefined,
  ask: Ask | undefined,
  objects: readonly string[] = [],
): Promise<FrameData> {
  if (!caller || !ask) return emptyFrame;
  const [frame, managedBy] = await Promise.all([ask(showFrame), managerOf(ask, objects)]);
  const { outages, mute, delivery } = frame;
  const { name, ends_at } = caller.organisation;
  if (ends_at !== null) {
    const at = new Date(ends_at).toISOString();
    // The notice includes that alerts are muted.
    const ending = { name, at, mayKeep: isAllowed(caller, keepOrganisation) };
    return { ...emptyFrame, outages, ending, managedBy };
  }
  const { until, by } = mute;
  const muted = until === null ? undefined : { until, by, mayEnd: isAllowed(caller, unmuteAlerts) };
  return { outages, mute: muted, ending: undefined, delivery, managedBy };
}

/** The file that manages these objects. What is invalid is told by the page itself. */
export async function managerOf(ask: Ask, objects: readonly string[]): Promise<string | null> {
  if (objects.length === 0 || objects.length > 100 || !objects.every(isId)) return null;
  return (await ask(showManager, { objects })).file;
}
