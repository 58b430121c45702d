import { runCli, surroundings } from '../../shared/client/cli.ts';
import { localSettingsFile } from './home.ts';

// From the checkout the command knows the service that `npm start` runs, unless told of another.
process.exitCode = await runCli(surroundings([localSettingsFile(process.env)]));
