// The three clients behind one shape, and a tap on what really crossed the wire.
//
// The tap matters: the SDKs hide what they received (a client of 2.x rewrites an error's code, strips
// resultType and _meta), and those are the very things that differ between the eras.

import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { UriTemplate as Template1 } from '@modelcontextprotocol/sdk/shared/uriTemplate.js';
import {
    ResourceListChangedNotificationSchema,
    ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { Client as Client2, UriTemplate as Template2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';

const info = { name: 'interop', version: '1.0.0' };

// Records each reply with the method that it answers, and each notification.
function tap(transport) {
    const methods = new Map();
    const wire = { replies: [], notifications: [], stderr: '' };
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
    transport.stderr?.on('data', chunk => (wire.stderr += chunk));
    return wire;
}

const commonCalls = client => ({
    templates: async () => (await client.listResourceTemplates()).resourceTemplates,
    complete: params => client.complete(params).then(r => r.completion),
    tools: async () => (await client.listTools()).tools,
    call: (name, args) => client.callTool({ name, arguments: args }),
    version: () => client.getServerVersion(),
    capabilities: () => client.getServerCapabilities(),
    close: () => client.close(),
});

// Legacy: one subscribe per URI; list_changed comes unasked.
const legacyWatch = client => async ({ uris = [] }) => {
    for (const uri of uris) await client.subscribeResource({ uri });
    return {
        close: async () => {
            for (const uri of uris) await client.unsubscribeResource({ uri });
        },
    };
};

async function open1(command, args) {
    const transport = new Stdio1({ command, args, stderr: 'pipe' });
    const client = new Client1(info);
    const wire = tap(transport);
    const events = [];
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, n => void events.push(n));
    client.setNotificationHandler(ResourceListChangedNotificationSchema, n => void events.push(n));
    await client.connect(transport);
    return {
        ...commonCalls(client), wire, events, transport,
        page: cursor => client.listResources(cursor === undefined ? {} : { cursor }),
        read: uri => client.readResource({ uri }).then(r => r.contents),
        ping: () => client.ping(),
        watch: legacyWatch(client),
        expand: (template, values) => new Template1(template).expand(values),
    };
}

async function open2(command, args, mode) {
    const transport = new Stdio2({ command, args, stderr: 'pipe' });
    const client = new Client2(info, { versionNegotiation: { mode } });
    const wire = tap(transport);
    const events = [];
    for (const method of ['notifications/resources/updated', 'notifications/resources/list_changed']) {
        client.setNotificationHandler(method, n => void events.push(n));
    }
    await client.connect(transport);
    return {
        ...commonCalls(client), wire, events, transport, client,
        // listResources() without a cursor would walk all pages itself.
        page: cursor => client.request({ method: 'resources/list', params: cursor === undefined ? {} : { cursor } }),
        walk: async () => (await client.listResources(undefined, { cacheMode: 'bypass' })).resources,
        read: uri => client.readResource({ uri }, { cacheMode: 'bypass' }).then(r => r.contents),
        ping: () => client.ping(),
        watch: mode === 'legacy' ? legacyWatch(client) : ({ uris, list }) => client.listen({
            ...(uris && { resourceSubscriptions: uris }),
            ...(list && { resourcesListChanged: true }),
        }),
        expand: (template, values) => new Template2(template).expand(values),
    };
}

const MODERN = '2026-07-28';

export const peers = [
    { name: 'sdk 1.32.2', era: 'legacy', open: open1 },
    { name: 'client 2.4.0, legacy', era: 'legacy', open: (command, args) => open2(command, args, 'legacy') },
    { name: `client 2.4.0, pinned to ${MODERN}`, era: 'modern', open: (command, args) => open2(command, args, { pin: MODERN }) },
];
