// The peer to compare with: the same server as bench/mem_server.c, on the official TypeScript SDK.
// One resource of 1 KiB in memory, mem://one, and the tool "weather", over stdio, both eras. bench/run
// copies this file beside the packages of tests/interop.

import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const text = 'x'.repeat(1024);

const inputSchema = fromJsonSchema({
    type: 'object', required: ['name', 'units', 'address'], additionalProperties: false,
    properties: {
        name: { type: 'string', maxLength: 100 },
        units: { enum: ['metric', 'imperial'] },
        days: { type: 'integer', minimum: 1, maximum: 14 },
        verbose: { type: 'boolean' },
        address: {
            type: 'object', required: ['city'], additionalProperties: false,
            properties: {
                city: { type: 'string', minLength: 1 },
                zip: { type: 'string', maxLength: 10 },
                floor: { type: 'integer', minimum: 0, maximum: 200 },
            },
        },
    },
});
const outputSchema = fromJsonSchema({
    type: 'object', required: ['celsius', 'sky'], additionalProperties: false,
    properties: {
        celsius: { type: 'number', minimum: -100, maximum: 100 },
        sky: { enum: ['clear', 'clouds', 'rain'] },
    },
});

serveStdio(() => {
    const server = new McpServer({ name: 'ts-server', version: '1.0.0' });
    server.registerResource('one', 'mem://one', { mimeType: 'text/plain' }, uri => ({
        contents: [{ uri: uri.href, mimeType: 'text/plain', text }],
    }));
    server.registerTool('weather', { inputSchema, outputSchema }, () => {
        const structuredContent = { celsius: 21.5, sky: 'clear' };
        return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent };
    });
    return server;
});
