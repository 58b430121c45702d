import { alone, flag } from '../arguments.ts';
import { everywhere } from '../calls.ts';
import type { Command } from '../commands.ts';
import type { ExposedKind } from './exposed.ts';

/** What `antipode discover kubernetes` takes; the rest of it is loaded when it is run. */

export const discoverKinds: readonly ExposedKind[] = ['Ingress', 'HTTPRoute'];

export const discoverCommand: Pick<Command, 'words' | 'flags'> = {
  words: ['discover', 'kubernetes'],
  flags: [
    flag('namespace', 'only this namespace; may be repeated (all when not given)', {
      kind: 'list',
      placeholder: 'NAME',
    }),
    flag('selector', 'only objects with these labels, as kubectl takes them', {
      placeholder: 'team=shop',
    }),
    flag('resource', 'only this resource (both when not given)', {
      kind: 'list',
      placeholder: 'ingresses|httproutes',
      offered: ['ingresses', 'httproutes'],
    }),
    flag('file-name', 'the name of the file; one for each cluster (kubernetes when not given)', {
      placeholder: 'NAME',
    }),
    flag('kubeconfig', 'how to reach the cluster (in a pod, its service account)', {
      placeholder: 'FILE',
    }),
    flag('context', 'a context of that file (its current one when not given)', {
      placeholder: 'NAME',
    }),
    flag('once', 'apply once and end, instead of following the cluster', alone),
    flag('dry-run', 'print the file and end; nothing is sent to Antipode', alone),
    flag('prune-all', 'delete even more than half of the monitors that the file made', alone),
    ...everywhere.filter(({ name }) => ['no-color', 'help', 'version'].includes(name)),
  ],
};

export function discoverHelp(flagLines: string): string {
  return `Monitor what a Kubernetes cluster exposes

Usage
  antipode discover kubernetes [FLAGS]

  Each host of an Ingress or an HTTPRoute becomes an https monitor, grouped by its namespace. It follows the
  cluster until it is ended, applies changes within seconds, and deletes the monitors of what is gone.

Flags
${flagLines}
Annotations of an object, each antipode.example/…
  ignore: "true"           no monitors
  name, path, scheme       instead of the host, the first path, and https where it has a certificate
  interval, timeout        such as 30s
  expected-status, tags    with commas between them
  group                    a group of the file, the external id of one elsewhere, or nothing

Exit codes of --once: 0 done, 1 something was left out, 4 the cluster or Antipode was not reached

Example
  antipode discover kubernetes --dry-run --namespace shop
`;
}
