/** For test files: tests that need a browser. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe } from 'vitest';
import { binary, launchBrowser } from './browser.ts';

/** Tests in a browser; where there is none they are skipped, and it is said. */
export const describeInBrowser = (name: string, tests: (browser: () => Browser) => void): void => {
  if (!binary) {
    process.stderr.write(
      `SKIPPED: "${name}": there is no browser here. Set CHROMIUM_PATH, or install chromium.\n`,
    );
    describe.skip(name, () => tests(() => never()));
    return;
  }
  describe(name, () => {
    let browser: Browser | undefined;
    beforeAll(async () => {
      browser = await launchBrowser();
    });
    afterAll(() => browser?.close());
    tests(() => browser ?? never());
  });
};

const never = (): never => {
  throw new Error('the browser is there in tests only');
};
