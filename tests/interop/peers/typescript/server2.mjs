// A server on the TypeScript SDK 2.x, in both eras; ../check.py says what all of these servers have.
//
//   node server2.mjs stdio|PORT

import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
    completable, createMcpHandler, InMemoryServerEventBus, McpServer, ResourceTemplate,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const way = process.argv[2];
const cities = ['Berlin', 'Bern', 'Rome'];
const starting = value => cities.filter(city => city.toLowerCase().startsWith(value.toLowerCase()));
const said = text => ({ content: [{ type: 'text', text }] });
const text = (uri, words) => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: words }] });
const stray = line => way === 'stdio' && process.stdout.write(`${line}\n`);
let cancelled = 0;
let ticks = 0;

function addResources(server) {
    server.registerResource('text', 'mem://text', { mimeType: 'text/plain' }, uri => text(uri, 'one\ntwo\nthree\n'));
    server.registerResource('live', 'mem://live', { mimeType: 'text/plain' }, uri => text(uri, `${ticks}\n`));
    server.registerResource('slow', 'mem://slow', { mimeType: 'text/plain' }, async uri => {
        await sleep(1500);
        return text(uri, 'slow\n');
    });
    const city = new ResourceTemplate('mem://city/{name}', { list: undefined, complete: { name: starting } });
    server.registerResource('city', city, { mimeType: 'text/plain' }, (uri, { name }) => text(uri, `This is ${name}.\n`));
}

function progressOf(ctx) {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    return async (progress, total) => progressToken !== undefined
        && ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total } });
}

async function slow({ steps, tell }, ctx) {
    const progress = progressOf(ctx);
    for (let i = 1; i <= steps; i++) {
        await sleep(100);
        if (ctx.mcpReq.signal.aborted) {
            cancelled++;
            return said('cancelled');
        }
        if (tell) await progress(i, steps);
    }
    return said(`${steps} steps`);
}

async function noise({ lines }, ctx) {
    for (let i = 1; i <= lines; i++) {
        process.stderr.write(`noise ${i} ${'.'.repeat(200)}\n`);
        await ctx.mcpReq.log('info', `line ${i}`, 'noise');
        stray(`Working on ${i} ...`);
    }
    return said('quiet again');
}

function make() {
    const server = new McpServer({ name: 'noisy', version: '1' }, { capabilities: { logging: {} } });
    server.server.registerCapabilities({ resources: { subscribe: true } });
    addResources(server);
    server.registerTool('slow', { inputSchema: z.object({ steps: z.number().int(), tell: z.boolean() }) }, slow);
    server.registerTool('noise', { inputSchema: z.object({ lines: z.number().int() }) }, noise);
    server.registerTool('cancelled', {}, () => said(`${cancelled}`));
    server.registerTool('die', {}, async ctx => {
        await progressOf(ctx)(1, 2);
        process.stderr.write('this is the end\n');
        process.exit(3);
    });
    server.registerPrompt('visit', { argsSchema: z.object({ city: completable(z.string(), starting) }) },
        ({ city }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Plan a visit to ${city}.` } }] }));
    return server;
}

const tick = tell => setInterval(() => {
    ticks++;
    tell('mem://live');
}, 200).unref();

if (way === 'stdio') {
    stray('Noisy MCP server 1.0, listening on stdio');
    let server;
    serveStdio(() => (server = make()));
    tick(uri => server?.server.sendResourceUpdated({ uri }).catch(() => {}));
} else {
    const handler = createMcpHandler(make, { bus: new InMemoryServerEventBus() });
    tick(uri => handler.notify.resourceUpdated(uri));
    createServer(toNodeHandler(handler)).listen(Number(way), '127.0.0.1');
}
