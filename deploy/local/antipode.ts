import { processContext, runCli } from '../../shared/client/cli.ts';
import { homeOf } from '../node/layout.mjs';
import { localFile } from '../node/places.mjs';

// From the checkout, the command uses the service that `npm start` runs, unless configured
// otherwise.
process.exitCode = await runCli(processContext([localFile(homeOf(process.env))]));
