/**
 * Run once, beside the making of the database: reads the coordinator, so that its compiled code is in the cache before two processes want
 * it at the same time. It starts nothing.
 */
import '../../coordinator/app.ts';
