// The peer to compare with: the same server as bench/mem_server.c, on the official TypeScript SDK.
// One resource of 1 KiB in memory, mem://one, over stdio, both eras. bench/run copies this file
// beside the packages of tests/interop.

import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const text = 'x'.repeat(1024);

serveStdio(() => {
    const server = new McpServer({ name: 'ts-server', version: '1.0.0' });
    server.registerResource('one', 'mem://one', { mimeType: 'text/plain' }, uri => ({
        contents: [{ uri: uri.href, mimeType: 'text/plain', text }],
    }));
    return server;
});
