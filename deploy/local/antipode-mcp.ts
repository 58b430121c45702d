import { runMcp } from '../../shared/client/mcp.ts';
import { localSettingsFile } from './home.ts';

// From the checkout the server knows the service that `npm start` runs, unless told of another.
await runMcp([localSettingsFile(process.env)]);
