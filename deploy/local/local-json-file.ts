/** Small JSON files for the owner's eyes only, replaced in one step: a reader sees the old text or the new one, never half. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { z } from 'zod';
import { codeOf } from '../../shared/base/error-code.ts';

/** Synchronous, because what is written here must be on disk before the next process is started. */
export const writeJson = (file: string, value: unknown): void => {
  const half = `${file}.${process.pid}.new`;
  writeFileSync(half, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  renameSync(half, file);
};

/** undefined when there is no such file. @throws when it is not of the shape. */
export const readJson = <Shape extends z.ZodType>(file: string, shape: Shape): z.infer<Shape> | undefined => {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return shape.parse(JSON.parse(text));
  } catch (cause) {
    throw new Error(`${file} cannot be read as this version writes it: move it away to begin anew`, { cause });
  }
};
