// The three clients behind one interface, over both transports, and a tap that records the messages
// on the wire.
//
// The tap is needed because the SDKs hide what they received: a client of 2.x rewrites the code of
// an error and removes resultType and _meta, which are the differences between the eras.

import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { UriTemplate as Template1 } from '@modelcontextprotocol/sdk/shared/uriTemplate.js';
import * as types1 from '@modelcontextprotocol/sdk/types.js';
import {
    Client as Client2,
    StreamableHTTPClientTransport as Http2,
    UriTemplate as Template2,
} from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { serve, serveAt } from './server.mjs';
import { until } from './wait.mjs';

const info = { name: 'interop', version: '1.0.0' };

// What is recorded in peer.events, and what a client can be asked; with the schemas that 1.x names them by.
const notices = {
    'notifications/resources/updated': types1.ResourceUpdatedNotificationSchema,
    'notifications/resources/list_changed': types1.ResourceListChangedNotificationSchema,
    'notifications/prompts/list_changed': types1.PromptListChangedNotificationSchema,
    'notifications/tools/list_changed': types1.ToolListChangedNotificationSchema,
    'notifications/message': types1.LoggingMessageNotificationSchema,
};
const questions = {
    'elicitation/create': types1.ElicitRequestSchema,
    'sampling/createMessage': types1.CreateMessageRequestSchema,
    'roots/list': types1.ListRootsRequestSchema,
};

// Records each reply with the method that it answers, and each notification.
function tap(transport) {
    const methods = new Map();
    const wire = { replies: [], notifications: [] };
    const send = transport.send.bind(transport);
    transport.send = (message, ...rest) => {
        if (message.id !== undefined && message.method) methods.set(message.id, message.method);
        return send(message, ...rest);
    };
    let deliver;
    Object.defineProperty(transport, 'onmessage', {
        configurable: true,
        get: () => deliver,
        set: fn => {
            deliver = fn && ((message, ...rest) => {
                if (message.method) wire.notifications.push(structuredClone(message));
                else wire.replies.push({ method: methods.get(message.id), ...structuredClone(message) });
                return fn(message, ...rest);
            });
        },
    });
    return wire;
}

const commonCalls = client => ({
    // A client of 2.x reads all pages itself.
    templates: async () => {
        const all = [];
        for (let cursor; ; ) {
            const page = await client.listResourceTemplates(cursor === undefined ? undefined : { cursor });
            all.push(...page.resourceTemplates);
            cursor = page.nextCursor;
            if (cursor === undefined) return all;
        }
    },
    complete: params => client.complete(params).then(r => r.completion),
    tools: async () => (await client.listTools()).tools,
    call: (name, args) => client.callTool({ name, arguments: args }),
    prompts: async () => (await client.listPrompts()).prompts,
    prompt: (name, args) => client.getPrompt({ name, arguments: args }),
    level: level => client.setLoggingLevel(level),
    version: () => client.getServerVersion(),
    capabilities: () => client.getServerCapabilities(),
    close: () => client.close(),
});

// Legacy: one resources/subscribe for each URI; list_changed needs no subscription.
const legacyWatch = client => async ({ uris = [] }) => {
    for (const uri of uris) await client.subscribeResource({ uri });
    return {
        close: async () => {
            for (const uri of uris) await client.unsubscribeResource({ uri });
        },
    };
};

// The second argument is what the client can be asked: its capabilities, and what answers each method.
async function connect1(transport, { capabilities = {}, ...asks } = {}) {
    const client = new Client1(info, { capabilities });
    const wire = tap(transport);
    const events = [];
    for (const schema of Object.values(notices)) client.setNotificationHandler(schema, n => void events.push(n));
    for (const [method, answer] of Object.entries(asks)) client.setRequestHandler(questions[method], answer);
    await client.connect(transport);
    return {
        ...commonCalls(client), wire, events, transport, client,
        // params may have _meta; options: signal, onprogress
        callWith: (params, options) => client.callTool(params, undefined, options),
        page: cursor => client.listResources(cursor === undefined ? {} : { cursor }),
        read: uri => client.readResource({ uri }).then(r => r.contents),
        ping: () => client.ping(),
        watch: legacyWatch(client),
        expand: (template, values) => new Template1(template).expand(values),
    };
}

async function connect2(transport, mode, { capabilities = {}, ...asks } = {}) {
    const client = new Client2(info, { versionNegotiation: { mode }, capabilities });
    const wire = tap(transport);
    const events = [];
    for (const method of Object.keys(notices)) client.setNotificationHandler(method, n => void events.push(n));
    for (const [method, answer] of Object.entries(asks)) client.setRequestHandler(method, answer);
    await client.connect(transport);
    return {
        ...commonCalls(client), wire, events, transport, client,
        callWith: (params, options) => client.callTool(params, options),
        // listResources() without a cursor would walk all pages itself.
        page: cursor => client.request({ method: 'resources/list', params: cursor === undefined ? {} : { cursor } }),
        walk: async () => (await client.listResources(undefined, { cacheMode: 'bypass' })).resources,
        read: uri => client.readResource({ uri }, { cacheMode: 'bypass' }).then(r => r.contents),
        ping: () => client.ping(),
        watch: mode === 'legacy' ? legacyWatch(client) : ({ uris, list, prompts, tools }) => client.listen({
            ...(uris && { resourceSubscriptions: uris }),
            ...(list && { resourcesListChanged: true }),
            ...(prompts && { promptsListChanged: true }),
            ...(tools && { toolsListChanged: true }),
        }),
        expand: (template, values) => new Template2(template).expand(values),
    };
}

const MODERN = '2026-07-28';

export const clients = [
    { name: 'sdk 1.32.2', era: 'legacy', Stdio: Stdio1, Http: Http1, connect: connect1 },
    {
        name: 'client 2.4.0, legacy', era: 'legacy', Stdio: Stdio2, Http: Http2,
        connect: (transport, asks) => connect2(transport, 'legacy', asks),
    },
    {
        name: `client 2.4.0, pinned to ${MODERN}`, era: 'modern', Stdio: Stdio2, Http: Http2,
        connect: (transport, asks) => connect2(transport, { pin: MODERN }, asks),
    },
];

async function openStdio({ Stdio, connect }, command, args, asks) {
    const transport = new Stdio({ command, args, stderr: 'pipe' });
    let stderr = '';
    transport.stderr.on('data', chunk => (stderr += chunk));
    const peer = await connect(transport, asks);
    return { ...peer, stderr: () => stderr };
}

// Connects to a server that runs. peer.exchanges has what HTTP made of it; peer.cut() breaks the streams that
// GET opened, as a bad network does. With an authProvider, requests to its authorization server are exchanges too.
export async function dial({ era, Http, connect }, url, headers = {}, asks = undefined, authProvider = undefined) {
    const exchanges = [];
    let cut = new AbortController();
    const watched = async (to, init = {}) => {
        const method = init.method ?? 'GET';
        const signals = [init.signal, method === 'GET' && cut.signal].filter(Boolean);
        const response = await fetch(to, { ...init, ...(signals.length && { signal: AbortSignal.any(signals) }) });
        exchanges.push({ url: `${to}`, method, status: response.status, headers: response.headers });
        return response;
    };
    const transport = new Http(new URL(url), { fetch: watched, requestInit: { headers }, authProvider });
    let peer;
    try {
        peer = await connect(transport, asks);
    } catch (error) {
        throw Object.assign(error, { exchanges, transport });
    }
    const streams = () => exchanges.filter(e => e.url === url && e.method === 'GET' && e.status === 200).length;
    // A client of the legacy era opens its stream without waiting for it.
    try {
        if (era === 'legacy') await until(() => streams() === 1, 'the GET stream');
    } catch (error) {
        await peer.close();
        throw error;
    }
    return {
        ...peer, exchanges, streams,
        cut: () => {
            cut.abort();
            cut = new AbortController();
        },
        close: async () => {
            if (transport.sessionId) await transport.terminateSession();
            await peer.close();
        },
    };
}

async function openHttp(client, server, asks, headers = {}) {
    let peer;
    try {
        peer = await dial(client, server.url, headers, asks);
    } catch (error) {
        await server.stop(); // otherwise the test file would wait for it for ever
        throw error;
    }
    return {
        ...peer,
        stderr: () => server.stderr,
        close: async () => {
            await peer.close();
            await server.stop();
        },
    };
}

export const peers = clients.flatMap(client => [
    { ...client, name: `${client.name}, stdio`, open: (command, args) => openStdio(client, command, args) },
    {
        ...client, name: `${client.name}, HTTP`,
        open: async (command, args) => openHttp(client, await serve(command, args)),
    },
]);

// The same for programs that are no mcpd: { path, stdio, http, headers }. stdio and http make the arguments; headers are
// those of requests over HTTP.
export const callers = clients.flatMap(client => [
    {
        ...client, name: `${client.name}, stdio`,
        open: (server, asks) => openStdio(client, server.path, server.stdio(), asks),
    },
    {
        ...client, name: `${client.name}, HTTP`,
        open: async (server, asks) => openHttp(client, await serveAt(server.path, server.http), asks, server.headers),
    },
]);
