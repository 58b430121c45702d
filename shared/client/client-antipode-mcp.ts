#!/usr/bin/env node
import { runMcp } from './client-mcp-process.ts';

await runMcp();
