import { runMcp } from '../../shared/client/mcp.ts';
import { homeOf } from '../node/layout.mjs';
import { localFile } from '../node/places.mjs';

// From the checkout, the server uses the service that `npm start` runs, unless configured
// otherwise.
await runMcp([localFile(homeOf(process.env))]);
