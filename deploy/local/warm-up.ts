/**
 * Run once, beside the making of the database: reads both programs, so that their compiled code is in the cache before five processes
 * want it at the same time. It starts nothing.
 */
import '../../coordinator/app.ts';
import '../../probe/app.ts';
