import { join } from 'node:path';
import { z } from 'zod';
import type { Log } from '../../shared/base/log.ts';
import type { AnnouncementTrust } from '../../shared/bus/bus-announcement.ts';
import { type PresenceReply, signingShape } from '../../shared/bus/bus-messages.ts';
import type { Assignment } from '../../shared/checks/checks-assignment.ts';
import { mergeSecrets } from '../../shared/checks/checks-config.ts';
import {
  createSealPair,
  type NetworkKey,
  openBox,
  openKey,
  type SealPair,
  sealPairFrom,
} from '../../shared/checks/checks-sealed-secrets.ts';
import { readIfThere, replaceFile } from '../disk/disk.ts';

/**
 * What the coordinators tell every probe: their address, whom to reach to vouch for oneself, the keys that open secrets. Kept on disk, the keys only
 * sealed, so that a probe that starts while all coordinators are away checks as before.
 */
export type NetworkKnowledge = {
  readonly sealKey: string;
  readonly baseUrl: () => string;
  readonly anchors: () => readonly string[];
  /** Whose announcements count. */
  readonly trust: () => AnnouncementTrust;
  /** `inUse`: the keys that what this probe holds is sealed under; they are kept also when they are named no more. */
  readonly learn: (reply: Pick<PresenceReply, 'base_url' | 'anchors' | 'seal_keys' | 'signing'>, inUse?: () => ReadonlySet<string>) => void;
  /** Something came that is sealed under this key. */
  readonly want: (key: string) => void;
  /** Whether a key is wanted that is not known yet: the next presence will bring it. */
  readonly isWanting: () => boolean;
  /** The assignment with its secrets in their places; for one check, never kept. @throws when they cannot be opened. */
  readonly unseal: (assignment: Assignment) => Assignment;
  /** Settles when what was learned is on disk, or cannot be. */
  readonly settled: () => Promise<void>;
};

const known = z.object({
  v: z.literal(1),
  base_url: z.string(),
  anchors: z.array(z.string()),
  seal_keys: z.record(z.string(), z.string()),
  signing: signingShape.exactOptional(),
});
type Known = z.infer<typeof known>;

const secretsOf = z.record(z.string(), z.string());

/** The probe's own pair, made at its first start. Losing it loses nothing: the coordinator seals the keys to whatever it names. */
const ownPair = async (path: string): Promise<SealPair> => {
  const stored = await readIfThere(path);
  if (stored !== undefined) return sealPairFrom(stored.trim());
  const made = createSealPair();
  await replaceFile(path, `${made.secret}\n`, { durable: true });
  return made;
};

const readKnown = async (path: string, log: Log): Promise<Known> => {
  const nothing: Known = { v: 1, base_url: '', anchors: [], seal_keys: {} };
  try {
    const text = await readIfThere(path);
    return text === undefined ? nothing : known.parse(JSON.parse(text));
  } catch (error) {
    log.warn({ err: error }, 'what was known of the network cannot be read; the next presence tells it again');
    return nothing;
  }
};

export const openNetworkKnowledge = async (options: {
  readonly folder: string;
  /** What the credentials say of announcements; what a coordinator said later counts more. */
  readonly signing?: z.infer<typeof signingShape>;
  readonly log: Log;
}): Promise<NetworkKnowledge> => {
  const { folder, signing: given = { keys: [], required: false }, log } = options;
  const path = join(folder, 'network.json');
  const pair = await ownPair(join(folder, 'seal.key'));
  let now = await readKnown(path, log);
  let text = JSON.stringify(now);
  let saving: Promise<void> = Promise.resolve();
  const keys = new Map<string, NetworkKey>();
  /** The keys as they came: what is on the disk. */
  const boxes = new Map<string, string>();
  const wanted = new Set<string>();

  const forgetKeys = (sealed: Readonly<Record<string, string>>, inUse: () => ReadonlySet<string>): void => {
    const unnamed = [...keys.keys()].filter((id) => sealed[id] === undefined);
    if (unnamed.length === 0) return;
    const used = inUse();
    for (const id of unnamed) {
      if (used.has(id)) continue;
      keys.delete(id);
      boxes.delete(id);
    }
  };

  const openKeys = (sealed: Readonly<Record<string, string>>): void => {
    for (const [id, box] of Object.entries(sealed)) {
      // Each sealing of a key looks different: the first stays.
      if (keys.has(id)) continue;
      try {
        keys.set(id, openKey(pair, id, box));
        boxes.set(id, box);
        wanted.delete(id);
      } catch (error) {
        log.error({ err: error, key: id }, 'a key of the network cannot be opened');
      }
    }
  };
  openKeys(now.seal_keys);

  return {
    sealKey: pair.open,
    baseUrl: () => now.base_url,
    anchors: () => now.anchors,
    trust: () => now.signing ?? given,
    want: (key) => {
      if (!keys.has(key)) wanted.add(key);
    },
    isWanting: () => wanted.size > 0,
    learn: ({ base_url, anchors, seal_keys, signing = now.signing }, inUse = () => new Set()) => {
      openKeys(seal_keys);
      forgetKeys(seal_keys, inUse);
      now = { v: 1, base_url, anchors, seal_keys: Object.fromEntries(boxes), ...(signing === undefined ? {} : { signing }) };
      const next = JSON.stringify(now);
      if (next === text) return;
      text = next;
      saving = saving
        .then(() => replaceFile(path, next, { durable: false }))
        .catch((error: unknown) => log.warn({ err: error }, 'what is known of the network could not be stored'));
    },
    unseal: (assignment) => {
      if (assignment.sealed === null) return assignment;
      const secrets = secretsOf.parse(JSON.parse(openBox(keys, assignment.sealed, assignment.monitor)));
      return { ...assignment, config: mergeSecrets(assignment.kind, assignment.config, secrets) };
    },
    settled: () => saving,
  };
};
