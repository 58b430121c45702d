#!/usr/bin/env node
import { runMcp } from './mcp.ts';

await runMcp();
