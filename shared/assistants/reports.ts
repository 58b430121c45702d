import { csvOf } from '../api/csv.ts';
import { boolean, maybe } from '../api/fields.ts';
import { operations } from '../api/index.ts';
import { confirming } from './changes.ts';
import { bytesOf, records } from './columns.ts';
import { answerAsJson, closing, endOfLists, listed, maxBytes, opening, whole } from './lines.ts';
import type { Row, ToolAnswer } from './tools.ts';

/** Tools of reports, and of what is promised. */

const mostIncidents = 40;

export const reportRows = {
  uptime_report: {
    operation: operations.getUptimeReport,
    title: 'Report of uptime',
    about:
      'Use it for a month, quarter, year, week or window of all monitors, or of a monitor, group, ' +
      'tag or status page: uptime, downtime, incidents and response times. Say how maintenance ' +
      'and unknown time are counted.',
    own: {
      csv: maybe(boolean(), {
        description: 'A line of CSV for each monitor instead, such as for a spreadsheet.',
      }),
    },
    run: async ({ ask }, { csv, ...given }, { operation }) => {
      const report = await ask(operation, given);
      if (csv === true) return answerAsCsv(report);
      const { monitors, incidents, worst, ...body } = report;
      const all = records(monitors);
      const { texts } = answerAsJson({
        ...body,
        monitors: all.length,
        worst: all.filter(({ monitor }) => Array.isArray(worst) && worst.includes(monitor)),
        incidents: records(incidents).slice(0, mostIncidents),
      });
      return { texts };
    },
  },
  mail_report: {
    operation: operations.mailReport,
    title: 'Have a report mailed',
    about:
      'Mails a report to the person whose account this is, each week or month, until they end it. Ask them before.',
    effect: 'changes',
    idempotent: true,
    run: whole,
  },
  report_mails: {
    operation: operations.listReportMails,
    title: 'Reports that are mailed',
    about: 'Use it before end_report_mail: which reports are mailed to the person, and when next.',
    run: whole,
  },
  end_report_mail: {
    operation: operations.endReportMail,
    title: 'End the mails of a report',
    about: 'It is mailed no more.',
    effect: 'deletes',
    run: confirming('This report is mailed no more.'),
  },
  list_objectives: {
    operation: operations.listObjectives,
    title: 'List objectives',
    about: `Use it to see which promises of uptime are kept, what is left of each error budget, and which burn.${endOfLists}`,
    run: listed('objectives'),
  },
  get_objective: {
    operation: operations.getObjective,
    title: 'Get an objective',
    about: 'Use it to read one objective: its error budget, and how fast it burns.',
    run: async ({ ask }, given, { operation }) => {
      const { course, ...body } = await ask(operation, given);
      return { texts: answerAsJson(body).texts };
    },
  },
  create_objective: {
    operation: operations.createObjective,
    title: 'Create an objective',
    about:
      'A promise of uptime for a monitor, group or tag, or with latency_ms of response times. Warnings follow when its error budget burns.',
    effect: 'changes',
    run: whole,
  },
  update_objective: {
    operation: operations.updateObjective,
    title: 'Change an objective',
    about: 'Only what is given changes. Of which monitors it is cannot change.',
    effect: 'changes',
    idempotent: true,
    run: whole,
  },
  delete_objective: {
    operation: operations.deleteObjective,
    title: 'Delete an objective',
    about: 'Its monitors and their history stay.',
    effect: 'deletes',
    run: confirming('The objective is deleted; its monitors are there still.'),
  },
} as const satisfies Readonly<Record<string, Row>>;

type Values = Readonly<Record<string, unknown>>;

/** The lines of its CSV, as many as a list may have. */
function answerAsCsv(body: Values): ToolAnswer {
  const [header = '', ...all] = (csvOf(operations.getUptimeReport, body) ?? '')
    .split('\r\n')
    .filter(Boolean);
  let bytes = bytesOf(header);
  const lines = all.filter((line) => {
    bytes += bytesOf(line) + 1;
    return bytes <= maxBytes;
  });
  const left = all.length - lines.length;
  const hint = left === 0 ? [] : [`${left} lines more do not fit: narrow it.`];
  return { texts: [[opening, header, ...lines, closing, ...hint].join('\n')] };
}
