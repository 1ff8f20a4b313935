// Requests with headers that no client would send, and streams, one socket each.

import assert from 'node:assert/strict';
import { request } from 'node:http';

export const MODERN = '2026-07-28';
const accepted = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
const meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
};

// A header whose value is an array is sent once for each. Resolves when the head of the answer has come.
const open = (url, method, headers, body) => new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers, agent: false }, resolve).once('error', reject);
    outgoing.end(body);
});

const headersOf = response => {
    const headers = new Headers();
    const raw = response.rawHeaders;
    for (let i = 0; i < raw.length; i += 2) headers.append(raw[i], raw[i + 1]);
    return headers;
};

export async function send(url, { method = 'POST', headers = {}, body } = {}) {
    const response = await open(url, method, headers, body);
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) text += chunk;
    return { status: response.statusCode, headers: headersOf(response), text, json: () => JSON.parse(text) };
}

function modern(method, params, headers) {
    const name = params.uri ?? params.name;
    return {
        headers: {
            ...accepted, 'MCP-Protocol-Version': MODERN, 'Mcp-Method': method,
            ...(name && { 'Mcp-Name': name }), ...headers,
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }),
    };
}

export const ask = (url, method, params = {}, headers = {}) => send(url, modern(method, params, headers));

// The first request of a client of an older revision.
export const initialize = (url, protocolVersion, headers = {}) => send(url, {
    headers: { ...accepted, ...headers },
    body: JSON.stringify({
        jsonrpc: '2.0', id: 1, method: 'initialize',
        params: { protocolVersion, capabilities: {}, clientInfo: { name: 'raw', version: '1.0.0' } },
    }),
});

// Listens for changes to a resource. Returns the status, the messages as they come, and close().
export async function listen(url, uri, headers) {
    const asked = modern('subscriptions/listen', { notifications: { resourceSubscriptions: [uri] } }, headers);
    const response = await open(url, 'POST', asked.headers, asked.body);
    return { status: response.statusCode, messages: messagesOf(response), close: () => response.destroy() };
}

// The messages of an event stream, until it ends in any way.
async function* messagesOf(response) {
    let rest = '';
    try {
        for await (const chunk of response.setEncoding('utf8')) {
            const events = (rest + chunk).split('\n\n');
            rest = events.pop();
            for (const event of events) {
                const data = event.split('\n').filter(line => line.startsWith('data:')).map(line => line.slice(5));
                if (data.join('').trim()) yield JSON.parse(data.join('\n'));
            }
        }
    } catch (error) {
        if (error.code !== 'ECONNRESET' && error.code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
    }
}

export function textOf(response) {
    assert.equal(response.status, 200, response.text);
    return response.json().result.contents[0].text;
}
