/** What a browser says that it is, in the words of the person who sits at it. Order matters: most browsers also claim to be others. */
const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(e|A|iOS)?\//, 'Edge'],
  [/\b(OPR|Opera)\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bVivaldi\//, 'Vivaldi'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b(Headless)?(Chrome|Chromium|CriOS)\//, 'Chrome'],
  [/\bVersion\/[\d.]+ .*Safari\//, 'Safari'],
  [/^curl\//, 'curl'],
];

const systems: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\b(Macintosh|Mac OS X)\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

const named = (rows: typeof browsers, text: string): string | undefined => rows.find(([sign]) => sign.test(text))?.[1];

/** Such as "Firefox on Linux". */
export const deviceOf = (userAgent: string): string => {
  const browser = named(browsers, userAgent);
  const system = named(systems, userAgent);
  if (browser === undefined && system === undefined) return 'An unknown device';
  if (system === undefined) return browser ?? '';
  return `${browser ?? 'A browser'} on ${system}`;
};
