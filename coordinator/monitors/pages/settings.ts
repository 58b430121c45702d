import { configKeys, unknownConfigKeys } from '../../../shared/api/config-keys.ts';
import { type Continent, continents, isContinent } from '../../../shared/base/continents.ts';
import { isKind } from '../../../shared/checks/kinds.ts';
import { notice } from '../../web/elements.ts';
import { type Html, html, type Part } from '../../web/html.ts';

export type Settings = {
  readonly type: string;
  readonly interval_s: number;
  readonly config: Readonly<Record<string, unknown>>;
};

/** How it is checked, as it is stored: each setting with its meaning. */
export function settingsList({ type, config }: Settings): Html | null {
  if (!isKind(type)) return null;
  const keys = configKeys[type];
  const rows = Object.entries(config).flatMap(([key, value]) => {
    const known = keys[key];
    return known === undefined
      ? []
      : [
          html`
            <tr>
              <th scope="row"><code>${key}</code><span class="note">${known.meaning}</span></th>
              <td><pre>${valueText(value)}</pre></td>
            </tr>
          `,
        ];
  });
  return rows.length === 0 ? null : html`<table><tbody>${rows}</tbody></table>`;
}

function valueText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 1);
}

/** The continents that may check it, as it is configured. */
export function checkedFrom({ continents: chosen }: Settings['config']): readonly Continent[] {
  return Array.isArray(chosen) ? chosen.filter(isContinent) : continents;
}

/** Keys without effect, with what was probably meant. */
export function unknownKeysNotice({ type, config }: Settings): Part {
  if (!isKind(type)) return null;
  const unknown = unknownConfigKeys(type, config);
  if (unknown.length === 0) return null;
  return notice(
    'verifying',
    unknown.length === 1
      ? 'One setting has no effect'
      : `${unknown.length} settings have no effect`,
    html`
      ${unknown.map(
        ({ sentence }) =>
          html`<span class="line-of-its-own">${sentence.replaceAll('`', '')}</span>`,
      )}
    `,
  );
}

/** Of a monitor with a limit that made it down before there were warnings (rule 44). */
export function changedMeaning({ config }: Settings): Part {
  const { max_response_ms, tls_expires_within_days, fail_on } = config;
  const failing: readonly unknown[] = Array.isArray(fail_on) ? fail_on : [];
  const warns = [
    ...(typeof max_response_ms === 'number' && !failing.includes('slow') ? ['Slow responses'] : []),
    ...(typeof tls_expires_within_days === 'number' && !failing.includes('certificate')
      ? ['Certificates that expire soon']
      : []),
  ];
  return (
    warns.length > 0 &&
    html`
      <p class="soft">
        ${warns.join(' and ')} are warnings of this monitor. To make them failures, choose that in
        its assertions.
      </p>
    `
  );
}
