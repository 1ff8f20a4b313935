// The peer to compare with: the same server as bench/http_mem_server.c, on the official TypeScript SDK:
// one resource of 1 KiB in memory, mem://one, and ten tools, over HTTP, both eras. bench/run copies this
// file beside the packages of tests/interop.
//
//   node ts-http-server.mjs PORT

import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';

const text = 'x'.repeat(1024);

const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'ts-http-server', version: '1.0.0' });
    server.registerResource('one', 'mem://one', { mimeType: 'text/plain' }, uri => ({
        contents: [{ uri: uri.href, mimeType: 'text/plain', text }],
    }));
    for (let i = 0; i < 10; i++) {
        const description = 'Announces that the resource changed';
        server.registerTool(i ? `tool${i}` : 'touch', { description }, () => ({
            content: [{ type: 'text', text: 'touched' }],
        }));
    }
    return server;
});

createServer(toNodeHandler(handler)).listen(Number(process.argv[2]), '127.0.0.1');
