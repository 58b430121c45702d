/** `local.json`: what programs need to know of the running service. It is there while the service is ready, and gone before and after. */
import { rmSync } from 'node:fs';
import { z } from 'zod';
import type { SiteName } from './local-home-state.ts';
import { writeJson } from './local-json-file.ts';

export type LocalFile = {
  readonly base_url: string;
  /** Signs the owner in, once. */
  readonly sign_in_url: string;
  readonly api_token: string;
  readonly email: string;
  readonly password: string;
  readonly database_url: string;
  readonly nats_url: string;
  /** null for a part that is not ours: a database or bus of the person's own. */
  readonly pids: {
    readonly launcher: number;
    readonly coordinator: number | null;
    readonly nats: number | null;
    readonly postgres: number | null;
    readonly probes: Readonly<Record<SiteName, number | null>>;
  };
};

/** As much of it as a second start reads to say who was first. */
export const launcherShape = z.object({ base_url: z.string(), pids: z.object({ launcher: z.number() }) });

export const writeLocalFile = (file: string, content: LocalFile): void => writeJson(file, content);
export const removeLocalFile = (file: string): void => rmSync(file, { force: true });
