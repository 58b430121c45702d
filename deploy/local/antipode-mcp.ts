import { runMcp } from '../../shared/client/mcp.ts';
import { homeOf, localFile } from './home.ts';

// From the checkout, the server uses the service that `npm start` runs, unless configured
// otherwise.
await runMcp([localFile(homeOf(process.env))]);
