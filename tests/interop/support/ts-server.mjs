// A server on the TypeScript SDK 2.x that has something of everything, in both eras.
//
//   node ts-server.mjs stdio | PORT

import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
    acceptedContent, completable, createMcpHandler, inputRequired, InMemoryServerEventBus, McpServer, ResourceTemplate,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const blob = Buffer.from(Array.from({ length: 256 }, (_, i) => i)).toString('base64');
const cities = ['Berlin', 'Bern', 'Rome'];
const colour = z.object({ colour: z.enum(['red', 'blue']).default('blue') });
const starting = value => cities.filter(city => city.toLowerCase().startsWith(value.toLowerCase()));
const said = text => ({ content: [{ type: 'text', text }] });

function addResources(server) {
    server.registerResource('text', 'mem://text', {
        mimeType: 'text/plain', description: 'Three lines', annotations: { priority: 1, audience: ['assistant'] },
    }, uri => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'one\ntwo\nthree\n' }] }));
    server.registerResource('blob', 'mem://blob', { mimeType: 'application/octet-stream' },
        uri => ({ contents: [{ uri: uri.href, mimeType: 'application/octet-stream', blob }] }));
    const template = new ResourceTemplate('mem://city/{name}', { list: undefined, complete: { name: starting } });
    server.registerResource('city', template, { mimeType: 'text/plain' },
        (uri, { name }) => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: `This is ${name}.` }] }));
}

function addPrompts(server) {
    const argsSchema = z.object({ city: completable(z.string(), starting), tone: z.string().optional() });
    server.registerPrompt('visit', { description: 'Plans a visit', argsSchema }, ({ city, tone }) => ({
        messages: [
            { role: 'user', content: { type: 'text', text: `Plan a ${tone ?? 'short'} visit to ${city}.` } },
            { role: 'assistant', content: { type: 'text', text: 'When?' } },
        ],
    }));
}

async function count({ to }, ctx) {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (let progress = 1; progress <= to; progress++)
        if (progressToken !== undefined)
            await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: to } });
    return said(`Counted to ${to}${progressToken === undefined ? '' : ', and told'}.`);
}

function ask(_, ctx) {
    const answer = acceptedContent(ctx.mcpReq.inputResponses, 'colour', colour);
    return answer ? said(`It is ${answer.colour}.`) : inputRequired({
        inputRequests: { colour: inputRequired.elicit({ message: 'Which colour?', requestedSchema: colour }) },
    });
}

// `changed` tells those who listen that a resource changed, where one handler is behind all exchanges.
function addTools(server, changed) {
    server.registerTool('sum', {
        description: 'Adds', inputSchema: z.object({ a: z.number(), b: z.number() }), outputSchema: z.object({ sum: z.number() }),
        annotations: { readOnlyHint: true },
    }, ({ a, b }) => ({ ...said(`${a + b}`), structuredContent: { sum: a + b } }));
    server.registerTool('count', { inputSchema: z.object({ to: z.number().int() }) }, count);
    server.registerTool('ask', { inputSchema: z.object({}) }, ask);
    server.registerTool('fail', {}, () => ({ ...said('It does not work.'), isError: true }));
    server.registerTool('touch', {}, () => {
        setTimeout(() => changed('mem://text'), 50);
        return said('touched');
    });
}

function make(changed = () => {}) {
    const server = new McpServer({ name: 'ts-server', version: '1.0.0' }, { instructions: 'Ask politely.' });
    server.server.registerCapabilities({ resources: { subscribe: true } });
    addResources(server);
    addPrompts(server);
    addTools(server, changed);
    return server;
}

if (process.argv[2] === 'stdio') {
    serveStdio(() => make());
} else {
    const bus = new InMemoryServerEventBus();
    const handler = createMcpHandler(() => make(uri => handler.notify.resourceUpdated(uri)), { bus });
    createServer(toNodeHandler(handler)).listen(Number(process.argv[2]), '127.0.0.1');
}
