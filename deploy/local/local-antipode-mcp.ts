import { runMcp } from '../../shared/client/client-mcp-process.ts';
import { localSettingsFile } from './local-settings-file.ts';

// From the checkout the server knows the service that `npm start` runs, unless told of another.
await runMcp([localSettingsFile(process.env)]);
