import type { getMonitor } from '../../../shared/api/monitors.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import type { getMonitorPings } from '../../../shared/api/results.ts';
import { durationText } from '../../../shared/base/time.ts';
import { copyable, figure, linkButton, stateMark, tabs } from '../../web/elements.ts';
import { type Html, html, icon, type Part } from '../../web/html.ts';
import { menuButton, menuTitle } from '../../web/menu.ts';
import { forMembers, type MembersRequest, seeOther } from '../../web/page.ts';
import { number, table } from '../../web/tables.ts';
import type { Times } from '../../web/times.ts';
import { getPingAddress, rotatePingAddress } from '../contract.ts';

/** What only the page of a heartbeat has: its address, and the pings of its job. */

type Monitor = OutputOf<typeof getMonitor>;

/** The page that shows the address, also through its refreshes. */
export function shownAddress(id: string): string {
  return `/monitors/${id}?address=shown#address`;
}

/** The address, if the reader asked to see it. */
export async function addressFor({
  ask,
  path,
  query,
}: MembersRequest): Promise<string | undefined> {
  return query.address === 'shown'
    ? (await ask(getPingAddress, { monitor_id: path.monitor_id })).address
    : undefined;
}

export function addressPart(monitor: Monitor, address: string | undefined): Html {
  return html`
    <section class="card" id="address">
      <h2>Ping address</h2>
      ${
        address === undefined
          ? html`
            <p class="soft">
              Anyone who knows it can ping for your job, so it is hidden until you ask.
            </p>
            <p class="actions">
              ${linkButton(shownAddress(monitor.id), 'Show address', { symbol: 'see' })}
            </p>
          `
          : copyable(address, 'the address')
      }
      ${pingSnippets(monitor, address)}
    </section>
  `;
}

/** In the menu of the monitor. */
export function rotateForm({ id }: Monitor): Html {
  return html`
    <hr>
    <form method="post" action="/monitors/${id}/address/rotate">
      ${menuTitle('New ping address')}
      ${menuButton('Keep the old one for a day', ['overlap_s', '86400'])}
      ${menuButton('End the old one now', ['overlap_s', '0'])}
    </form>
  `;
}

type Ping = OutputOf<typeof getMonitorPings>['items'][number];

/**
 * The last pings of a job, with the message of each and how long its run took. The message came
 * from the job: it is shown as text.
 */
export function pingList(pings: readonly Ping[], times: Times): Html {
  return pings.length === 0
    ? html`<p class="nothing">No ping yet. Monitoring starts with the first successful one.</p>`
    : html`${table(
        pings.map((ping) => ({
          id: `ping-${ping.id}`,
          When: times.moment(ping.at),
          Outcome: markOf(ping),
          'Run time': number(ping.run_ms === null ? '–' : durationText(ping.run_ms)),
          Message: messageOf(ping),
          'Received by': ping.received_by,
        })),
      )}`;
}

/** What is longer than a line is opened. */
function messageOf({ body }: Ping): Part {
  if (body.length <= longestLine && !body.includes('\n')) return body === '' ? '–' : body;
  return html`
    <details>
      <summary><span>${body.slice(0, longestLine)}…</span></summary>
      <pre>${body}</pre>
    </details>
  `;
}

const longestLine = 60;

function markOf({ kind, exit_code }: Ping): Html {
  if (kind === 'success') return stateMark('up', 'Done');
  if (kind === 'fail')
    return stateMark('down', exit_code === null ? 'Failed' : `Failed, code ${exit_code}`);
  return kind === 'start' ? stateMark('pending', 'Started') : stateMark('unknown', 'Log');
}

/** When a job has to run to ping in time. */
export function cronTime({ config, interval_s }: Pick<Monitor, 'config' | 'interval_s'>): string {
  if (typeof config.schedule === 'string') return config.schedule;
  const hours = interval_s / 3_600;
  if (hours >= 24) return '30 2 * * *';
  return hours >= 1
    ? `0 */${largestDivisor(24, hours)} * * *`
    : `*/${largestDivisor(60, interval_s / 60)} * * * *`;
}

function largestDivisor(of: number, most: number): number {
  let divisor = Math.max(1, Math.floor(most));
  while (of % divisor !== 0) divisor -= 1;
  return divisor;
}

function pingSnippets(monitor: Monitor, address: string | undefined): Html {
  return html`
    ${tabs(
      'snippet',
      snippetsFor(monitor, address ?? 'https://…/beat/…').map(({ title, text }) => ({
        title,
        body: html`
          <div class="copyable">
            <pre>${text}</pre>
            <button type="button" class="button" data-copy="${text}">${icon('copy')}<span data-copied>Copy</span></button>
          </div>
        `,
      })),
    )}
    <p class="soft">
      Add <code>/start</code>, <code>/fail</code> or <code>/&lt;exit code&gt;</code>. Use${' '}
      <code>?rid=UUID</code> for overlapping runs. POST bodies are kept.
    </p>
  `;
}

type Snippet = { readonly title: string; readonly text: string };

/** How jobs of many kinds ping the address. */
function snippetsFor(monitor: Monitor, address: string): readonly Snippet[] {
  return [
    {
      title: 'cron',
      text: `${cronTime(monitor)} your-job; curl -fsS -m 10 --retry 5 -o /dev/null ${address}/$?`,
    },
    { title: 'Shell', text: `your-job && curl -fsS -m 10 --retry 5 -o /dev/null ${address}` },
    {
      title: 'systemd',
      text: `[Service]
ExecStartPre=-/usr/bin/curl -fsS -m 10 -o /dev/null ${address}/start
ExecStart=/usr/local/bin/your-job
ExecStopPost=-/bin/sh -c 'curl -fsS -m 10 --retry 5 -o /dev/null ${address}/$EXIT_STATUS'`,
    },
    {
      title: 'GitHub Actions',
      text: `- name: Ping Antipode
  if: always()
  run: curl -fsS -m 10 --retry 5 "\${{ secrets.PING_ADDRESS }}\${{ job.status != 'success' && '/fail' || '' }}"
  # PING_ADDRESS: ${address}`,
    },
    {
      title: 'PowerShell',
      text: `& your-job
Invoke-RestMethod -Uri "${address}/$LASTEXITCODE" -TimeoutSec 10`,
    },
    {
      title: 'Kubernetes',
      text: `containers:
  - name: job
    image: your-image
    command: ["sh", "-c", "your-job; code=$?; wget -qO- ${address}/$code; exit $code"]`,
    },
  ];
}

export function runFigures(pings: readonly Ping[], times: Times): Html {
  const runs = pings.flatMap(({ run_ms }) => run_ms ?? []);
  const mean = runs.reduce((sum, run) => sum + run, 0) / Math.max(1, runs.length);
  return html`
    ${figure('Last ping', pings[0] === undefined ? '–' : times.ago(pings[0].at))}
    ${figure('Mean run time', runs.length === 0 ? '–' : durationText(mean))}
  `;
}

export const rotateAddress = forMembers.post(
  '/monitors/:monitor_id/address/rotate',
  async ({ ask, form, path }) => {
    const overlap_s = form.value('overlap_s') ?? '86400';
    const { id } = await ask(rotatePingAddress, { monitor_id: path.monitor_id, overlap_s });
    return seeOther(shownAddress(id), {
      said: `New address created. The old one ${overlap_s === '0' ? 'ended' : 'works for another day'}.`,
    });
  },
);
