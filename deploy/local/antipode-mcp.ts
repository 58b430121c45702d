import { runMcp } from '../../shared/client/mcp.ts';
import { localSettingsFile } from './home.ts';

// From the checkout, the server uses the service that `npm start` runs, unless configured
// otherwise.
await runMcp([localSettingsFile(process.env)]);
