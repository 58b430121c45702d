/** The settings of a probe that systemd runs: a file of NAME=value lines, which belongs to whoever looks after the host. */

const quoted = (value: string): string => (/^[\w.,:/@+-]*$/.test(value) ? value : `"${value.replaceAll(/["\\$`]/g, '\\$&')}"`);

const head = '# What this probe goes by; systemctl restart antipode-probe takes up what is changed here.\n';

/** The text of the file with these settings in it; what else stands there stays as it is. */
export const withSettings = (text: string | undefined, given: Readonly<Record<string, string>>): string => {
  const names = Object.keys(given);
  const kept = (text ?? head).split('\n').filter((line) => !names.some((name) => line.startsWith(`${name}=`)));
  while (kept.at(-1) === '') kept.pop();
  return [...kept, ...names.map((name) => `${name}=${quoted(given[name] ?? '')}`), ''].join('\n');
};

/** One setting of the file, as far as it was written plainly. */
export const settingIn = (text: string, name: string): string | undefined =>
  text
    .split('\n')
    .findLast((line) => line.startsWith(`${name}=`))
    ?.slice(name.length + 1)
    .trim()
    .replaceAll('"', '');
