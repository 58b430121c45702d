import { openSpool } from '../../../probe/spool/store.ts';
import { createLog } from '../../../shared/base/log.ts';
import { monitorIn, resultOf } from './results.ts';

/**
 * A process that fills a spool until it is killed, and says after each save up to which number it
 * is on disk.
 */
const [folder = '', segmentBytes = '65536'] = process.argv.slice(2);
const spool = await openSpool({
  folder,
  mostBytes: 64 * 1024 * 1024,
  segmentBytes: Number(segmentBytes),
  log: createLog({ name: 'writer', level: 'silent' }),
});
process.stdout.write(`generation ${spool.generation}\n`);
for (let round = 0; ; round += 1) {
  for (let partition = 0; partition < 32; partition += 1)
    spool.append(resultOf(monitorIn(partition), round));
  await spool.save();
  process.stdout.write(`saved ${spool.lastSeq()}\n`);
}
