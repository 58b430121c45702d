import { mkdirSync, readFileSync, rmdirSync } from 'node:fs';

/**
 * A control group of the kernel for what a command starts: what all its processes hold, with the
 * files that they have read. Undefined where this user may make none.
 */
export type MemoryGroup = {
  /** What a shell runs first to be in it. */
  readonly join: string;
  readonly usedMb: () => number;
  readonly close: () => void;
};

/** The first and the second version of control groups have a file of their own each. */
const kinds = [
  { folder: '/sys/fs/cgroup/memory', file: 'memory.usage_in_bytes' },
  { folder: '/sys/fs/cgroup', file: 'memory.current' },
];

export function createMemoryGroup(name: string): MemoryGroup | undefined {
  for (const { folder, file } of kinds) {
    const group = `${folder}/${name}`;
    const usedMb = (): number => Number(readFileSync(`${group}/${file}`, 'utf8')) / 1_048_576;
    try {
      mkdirSync(group);
      usedMb();
    } catch {
      continue; // Another version, or not allowed.
    }
    return {
      join: `echo $$ > ${group}/cgroup.procs`,
      usedMb,
      close: () => rmdirSync(group),
    };
  }
  return undefined;
}
