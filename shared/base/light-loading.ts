import { setFlagsFromString } from 'node:v8';

/**
 * Loading hundreds of modules makes garbage for which V8 would double its young space (10 MB) for good, and calls for its optimizing compilers
 * (6 MB), for code that never runs again. Both compilers wait, because what the lesser made without the greater would never come to it.
 *
 * All programs load in this way: V8 throws away kept code that was compiled under other flags, so only programs that load alike find what one
 * of them has compiled. The young space stays small until `mayGrow`.
 */
export const loadLightly = async <Loaded>(load: () => Promise<Loaded>): Promise<Loaded> => {
  for (const flag of ['--semi-space-growth-factor=1', '--no-maglev', '--no-turbofan']) setFlagsFromString(flag);
  try {
    return await load();
  } finally {
    for (const flag of ['--maglev', '--turbofan']) setFlagsFromString(flag);
  }
};

/** From now on the memory grows with the work, as V8 has it. */
export const mayGrow = (): void => setFlagsFromString('--semi-space-growth-factor=2');
