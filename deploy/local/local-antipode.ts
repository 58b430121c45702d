import { runCli } from '../../shared/client/client-cli.ts';
import { surroundings } from '../../shared/client/client-process-surroundings.ts';
import { localSettingsFile } from './local-settings-file.ts';

// From the checkout the command knows the service that `npm start` runs, unless told of another.
process.exitCode = await runCli(surroundings([localSettingsFile(process.env)]));
