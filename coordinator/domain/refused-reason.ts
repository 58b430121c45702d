/** Why something from the bus was refused, with what that says. The operator sees the counts; nobody is harmed. */
const refusedMeanings = {
  unknown_probe: 'somebody names a probe that does not exist',
  revoked_probe: 'a probe speaks that was revoked',
  not_signed: "not signed with the probe's own key: somebody speaks for it",
  forged: "said as a coordinator, and not signed by one: somebody uses a probe's credentials to speak for the coordinators",
  outdated: 'said by a coordinator, and older than what is known: somebody says again what was said once',
  malformed: 'not of the form of such a message',
  unknown_version: 'of a newer form than this coordinator knows: upgrade coordinators before probes',
  oversized: 'larger than anything that a probe sends',
  wrong_subject: 'on a subject that is not its own: somebody speaks for another',
  wrong_partition: 'of another partition than its subject says',
  not_its_monitor: 'of a monitor that it could not have held; a few right after an edit are nothing',
  unknown_config_version: 'of a version of a monitor that does not exist yet',
  from_the_future: "the probe's clock is wrong",
  wrong_time:
    "kept beats that were sent long ago or are sent from the future: somebody repeats what was overheard, or the probe's clock is wrong",
  too_old: 'older than raw results are kept',
} as const;

export type RefusedReason = keyof typeof refusedMeanings;

const meanings: Readonly<Record<string, string>> = refusedMeanings;

export const meaningOfRefused = (reason: string): string =>
  (Object.hasOwn(meanings, reason) ? meanings[reason] : undefined) ?? 'a reason that this version does not know';
