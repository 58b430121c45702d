import type { listBeats } from '../../../../shared/api/inner/inner-pings.ts';
import type { OutputOf } from '../../../../shared/api/operation.ts';
import { durationText } from '../../../../shared/base/time.ts';
import { type Html, html } from '../web-html.ts';
import type { Times } from '../web-times.ts';
import { stateMark } from './part-states.ts';

type Ping = OutputOf<typeof listBeats>['items'][number];

const markOf = ({ kind, exit_code }: Ping): Html => {
  if (kind === 'success') return stateMark('up', 'Done');
  if (kind === 'fail') return stateMark('down', exit_code === null ? 'Failed' : `Failed, code ${exit_code}`);
  return kind === 'start' ? stateMark('pending', 'Began') : stateMark('unknown', 'Log');
};

/** The last pings of a job, with what each said and how long its run took. Their text came from the job: it is shown as text. */
export const pingList = (pings: readonly Ping[], times: Times): Html =>
  pings.length === 0
    ? html`<p class="nothing">No ping has come yet. The first good one begins the watch.</p>`
    : html`<div class="table-card"><table class="cards"><thead><tr><th scope="col">When</th><th scope="col">What</th><th scope="col" class="number">Run took</th><th scope="col">It said</th><th scope="col">Taken by</th></tr></thead><tbody>${pings.map(
        (ping) =>
          html`<tr id="ping-${ping.id}"><td data-label="When">${times.moment(ping.at)}</td><td data-label="What">${markOf(ping)}</td><td data-label="Run took" class="number">${
            ping.run_ms === null ? '–' : durationText(ping.run_ms)
          }</td><td data-label="It said">${
            ping.body === ''
              ? html`<span class="softer">nothing</span>`
              : html`<details><summary>${ping.body.slice(0, 60)}${ping.body.length > 60 && '…'}</summary><pre>${ping.body}</pre></details>`
          }</td><td data-label="Taken by">${ping.taken_by}</td></tr>`,
      )}</tbody></table></div>`;
