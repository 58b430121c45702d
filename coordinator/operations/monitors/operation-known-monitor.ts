import type { createMonitor as operation } from '../../../shared/api/monitors.ts';
import type { InputOf } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { externalIdFrom, type Labels, tagsFrom } from '../../domain/monitor-labels.ts';
import type { StoredMonitor } from '../../store/store-monitors.ts';
import type { WholePatch } from './operation-monitor-change.ts';

/** What a creation says of a monitor that a program may have made before, under an id of its own. */

type Input = InputOf<typeof operation>;

const unless = (text: string, nothing: string): string | null => (text.trim() === nothing ? null : text);

/** What a creation that finds its monitor there already changes: whatever is sent. */
export const patchOf = ({ target, name, interval_s, config, group, affects_group_status, tags }: Input): WholePatch => ({
  ...{ target: unless(target, ''), name: unless(name, ''), interval_s, config, group, affects_group_status, tags },
  ...{ enabled: null, ungroup: false, external_id: null },
});

export const labelsOf = ({ external_id, tags }: Pick<Input, 'external_id' | 'tags'>): Labels => ({
  external_id: external_id === null ? null : externalIdFrom(external_id),
  tags: tagsFrom(tags ?? []),
});

export const typeDiffers = ({ external_id, type }: Pick<StoredMonitor, 'external_id' | 'type'>): Refusal =>
  new Refusal('type_differs', `type: the monitor "${external_id}" is of type ${type}, which never changes.`);
