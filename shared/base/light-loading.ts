import { setFlagsFromString } from 'node:v8';

/**
 * Loading hundreds of modules makes garbage for which V8 would double its young space (10 MB) for
 * good. It would also start its optimizing compilers (6 MB), for code that never runs again. Both
 * compilers wait, because code from the lesser one would never reach the greater one.
 *
 * All programs load this way: V8 rejects cached code that was compiled under other flags, so only
 * programs that load alike share it. The young space stays small until `mayGrow`.
 */
export const loadLightly = async <Loaded>(load: () => Promise<Loaded>): Promise<Loaded> => {
  for (const flag of ['--semi-space-growth-factor=1', '--no-maglev', '--no-turbofan']) setFlagsFromString(flag);
  try {
    return await load();
  } finally {
    for (const flag of ['--maglev', '--turbofan']) setFlagsFromString(flag);
  }
};

/** From now on memory grows with the work, by V8's defaults. */
export const mayGrow = (): void => setFlagsFromString('--semi-space-growth-factor=2');
