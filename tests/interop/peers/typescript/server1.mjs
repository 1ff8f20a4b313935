// A server on the TypeScript SDK 1.x; ../check.py says what all of these servers have.
//
//   node server1.mjs stdio|PORT

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';

const way = process.argv[2];
const cities = ['Berlin', 'Bern', 'Rome'];
const starting = value => cities.filter(city => city.toLowerCase().startsWith(value.toLowerCase()));
const said = text => ({ content: [{ type: 'text', text }] });
const text = (uri, words) => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: words }] });
const stray = line => way === 'stdio' && process.stdout.write(`${line}\n`);
let cancelled = 0;
let ticks = 0;

function progressOf({ _meta, sendNotification }) {
    const progressToken = _meta?.progressToken;
    return async (progress, total) => progressToken !== undefined
        && sendNotification({ method: 'notifications/progress', params: { progressToken, progress, total } });
}

function addResources(mcp) {
    const { server } = mcp;
    mcp.registerResource('text', 'mem://text', { mimeType: 'text/plain' }, uri => text(uri, 'one\ntwo\nthree\n'));
    mcp.registerResource('live', 'mem://live', { mimeType: 'text/plain' }, uri => text(uri, `${ticks}\n`));
    mcp.registerResource('slow', 'mem://slow', { mimeType: 'text/plain' }, async uri => {
        await sleep(1500);
        return text(uri, 'slow\n');
    });
    const city = new ResourceTemplate('mem://city/{name}', { list: undefined, complete: { name: starting } });
    mcp.registerResource('city', city, { mimeType: 'text/plain' }, (uri, { name }) => text(uri, `This is ${name}.\n`));

    const timers = new Map();
    server.setRequestHandler(SubscribeRequestSchema, ({ params: { uri } }) => {
        clearInterval(timers.get(uri));
        timers.set(uri, setInterval(() => {
            ticks++;
            server.sendResourceUpdated({ uri }).catch(() => {});
        }, 200).unref());
        return {};
    });
    server.setRequestHandler(UnsubscribeRequestSchema, ({ params: { uri } }) => {
        clearInterval(timers.get(uri));
        return {};
    });
    server.onclose = () => timers.forEach(clearInterval);
}

async function slow({ steps, tell }, extra) {
    const progress = progressOf(extra);
    for (let i = 1; i <= steps; i++) {
        await sleep(100);
        if (extra.signal.aborted) {
            cancelled++;
            return said('cancelled');
        }
        if (tell) await progress(i, steps);
    }
    return said(`${steps} steps`);
}

async function noise({ lines }, { sendNotification }) {
    for (let i = 1; i <= lines; i++) {
        process.stderr.write(`noise ${i} ${'.'.repeat(200)}\n`);
        await sendNotification({ method: 'notifications/message', params: { level: 'info', logger: 'noise', data: `line ${i}` } });
        stray(`Working on ${i} ...`);
    }
    return said('quiet again');
}

function addTools(mcp) {
    mcp.registerTool('slow', { inputSchema: { steps: z.number().int(), tell: z.boolean() } }, slow);
    mcp.registerTool('noise', { inputSchema: { lines: z.number().int() } }, noise);
    mcp.registerTool('cancelled', {}, () => said(`${cancelled}`));
    mcp.registerTool('die', {}, async extra => {
        await progressOf(extra)(1, 2);
        process.stderr.write('this is the end\n');
        process.exit(3);
    });
}

function make() {
    const mcp = new McpServer({ name: 'noisy', version: '1' }, { capabilities: { logging: {}, resources: { subscribe: true } } });
    addResources(mcp);
    addTools(mcp);
    mcp.registerPrompt('visit', { argsSchema: { city: completable(z.string(), starting) } },
        ({ city }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Plan a visit to ${city}.` } }] }));
    return mcp;
}

const sessions = new Map();

async function answer(request, response) {
    const session = request.headers['mcp-session-id'];
    let transport = sessions.get(session);
    if (session && !transport) {
        // The status for an unknown session in the SDK's examples and servers derived from them:
        // newer ones answer 404, older ones 400.
        const status = Number(process.env.LOST_SESSION ?? 404);
        const error = status === 404 ? { code: -32001, message: 'Session not found' }
            : { code: -32000, message: 'Bad Request: No valid session ID provided' };
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ jsonrpc: '2.0', error, id: null }));
        return;
    }
    if (!transport) {
        transport = new StreamableHTTPServerTransport({
            sessionIdGenerator: randomUUID, onsessioninitialized: id => sessions.set(id, transport),
        });
        await make().connect(transport);
    }
    await transport.handleRequest(request, response);
}

if (way === 'stdio') {
    stray('Noisy MCP server 1.0, listening on stdio');
    await make().connect(new StdioServerTransport());
} else {
    createServer((request, response) => void answer(request, response)).listen(Number(way), '127.0.0.1');
}
