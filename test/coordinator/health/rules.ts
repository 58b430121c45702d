/** For test files: what the operator's rules and dashboard ask of the figures. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const monitoringFolder = join(import.meta.dirname, '../../../deploy/monitoring');

/** The name of every figure in alerts.yml and dashboard.json. */
export const rulesAndPanels = (): readonly string[] => {
  const texts = ['alerts.yml', 'dashboard.json'].map((file) =>
    readFileSync(join(monitoringFolder, file), 'utf8'),
  );
  return [...new Set(texts.flatMap((text) => text.match(/\bantipode_[a-z_]+/g) ?? []))].toSorted();
};
