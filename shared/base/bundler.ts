import type { BuildOptions, OutputFile } from 'esbuild';

let underWay = 0;

/**
 * Loaded only when there is something to bundle. Its process, which is as large as ours, ends with
 * the last bundle under way.
 */
export async function bundle(options: BuildOptions): Promise<readonly OutputFile[]> {
  underWay += 1;
  const { build, stop } = await import('esbuild');
  try {
    return (await build({ ...options, write: false })).outputFiles;
  } finally {
    underWay -= 1;
    if (underWay === 0) await stop();
  }
}
