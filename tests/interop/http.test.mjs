// Features of HTTP: sessions and their end, interrupted streams, concurrent clients, tokens.
// resources.test.mjs tests the server's answers, also over HTTP.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { clients, dial } from './support/peers.mjs';
import { serve } from './support/server.mjs';
import { LINE_COUNT, TEXT, line, makeTree } from './support/tree.mjs';
import { settle, until, updatedFor, waitFor } from './support/wait.mjs';

const mcpd = process.env.MCPD;

// Sends a raw request, with headers that a client would not send.
const raw = (url, method, headers, message) =>
    fetch(url, {
        method,
        headers: {
            'Content-Type': 'application/json',
            Accept: method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream',
            ...headers,
        },
        ...(message && { body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }) }),
    });

async function metric(url, name) {
    const text = await (await fetch(new URL('/metrics', url))).text();
    return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)[1]);
}

for (const client of clients) {
    describe(`${client.name}, HTTP`, { timeout: 60_000 }, () => {
        let tree, server, peer;
        before(async () => {
            tree = makeTree();
            server = await serve(mcpd, [tree.root]);
            peer = await dial(client, server.url);
        });
        after(async () => {
            await peer?.close();
            await server?.stop();
            tree?.remove();
            assert.doesNotMatch(server.stderr, /Sanitizer|runtime error/);
        });

        it('answers two clients that use the same ids, at once, each its own', async () => {
            const other = await dial(client, server.url);
            const from = [peer.wire.replies.length, other.wire.replies.length];
            const calls = [];
            for (let i = 0; i < 50; i++) {
                calls.push(peer.read(tree.uri('README.md')).then(([c]) => assert.equal(c.text, TEXT)));
                calls.push(other.read(tree.uri('data/lines.txt')).then(([c]) =>
                    assert.ok(c.text.endsWith(line(LINE_COUNT) + '\n'))));
            }
            await Promise.all(calls);
            const ids = [peer, other].map((p, i) => new Set(p.wire.replies.slice(from[i]).map(r => r.id)));
            assert.ok([...ids[0]].filter(id => ids[1].has(id)).length >= 40, 'the same ids');
            await other.close();
        });

        it('tells each client of what it subscribed to', async () => {
            const other = await dial(client, server.url);
            const uris = [tree.uri('live/watched.txt'), tree.uri('live/other.txt')];
            const watches = [await peer.watch({ uris: [uris[0]] }), await other.watch({ uris: [uris[1]] })];
            await Promise.all([settle(peer.events), settle(other.events)]);
            writeFileSync(tree.path('live/watched.txt'), 'changed\n');
            writeFileSync(tree.path('live/other.txt'), 'changed\n');
            await waitFor(peer.events, updatedFor(uris[0]), 'the first client');
            await waitFor(other.events, updatedFor(uris[1]), 'the second client');
            assert.ok(!peer.events.some(updatedFor(uris[1])));
            assert.ok(!other.events.some(updatedFor(uris[0])));
            for (const watch of watches) await watch.close();
            await other.close();
        });

        if (client.era === 'legacy') it('tells what happened while the stream was broken', async () => {
            const uri = tree.uri('live/watched.txt');
            const watch = await peer.watch({ uris: [uri] });
            await settle(peer.events);
            writeFileSync(tree.path('live/watched.txt'), 'while it was whole\n');
            await waitFor(peer.events, updatedFor(uri), 'before');
            await settle(peer.events);
            const streams = peer.streams();
            peer.cut();
            writeFileSync(tree.path('live/watched.txt'), 'while it was broken\n');
            await waitFor(peer.events, updatedFor(uri), 'after it came back');
            assert.equal(peer.streams(), streams + 1);
            await watch.close();
        });

        if (client.era === 'legacy') it('ends a session, and knows it no longer', async () => {
            const other = await dial(client, server.url);
            const session = other.transport.sessionId;
            assert.match(session, /^[\x21-\x7e]{22,}$/);
            assert.notEqual(session, peer.transport.sessionId);
            await other.transport.terminateSession();
            assert.ok([200, 202, 204].includes(other.exchanges.at(-1).status));
            const headers = { 'Mcp-Session-Id': session, 'MCP-Protocol-Version': '2025-11-25' };
            for (const method of ['POST', 'GET', 'DELETE']) {
                const response = await raw(server.url, method, headers, method === 'POST' && { method: 'ping' });
                assert.equal(response.status, 404, method);
                await response.body?.cancel();
            }
            await other.close();
            assert.equal((await peer.read(tree.uri('README.md')))[0].text, TEXT);
        });

        if (client.era === 'modern') it('needs no session, and POST only', async () => {
            assert.ok(peer.exchanges.every(e => e.method === 'POST' && !e.headers.has('mcp-session-id')));
            for (const method of ['GET', 'DELETE']) {
                const response = await raw(server.url, method, { 'MCP-Protocol-Version': '2026-07-28' });
                assert.equal(response.status, 405);
                assert.equal(response.headers.get('allow'), 'POST');
            }
        });

        if (client.era === 'modern') it('lets go of a subscription that is closed', async () => {
            const watch = await peer.watch({ uris: [tree.uri('README.md')] });
            assert.equal(await metric(server.url, 'mcp_streams'), 1);
            await watch.close();
            await until(async () => (await metric(server.url, 'mcp_streams')) === 0, 'the end of the stream');
        });
    });

    describe(`${client.name}, HTTP: --token-file`, { timeout: 60_000 }, () => {
        let folder, server;
        const as = token => dial(client, server.url, { Authorization: `Bearer ${token}` });
        before(async () => {
            folder = mkdtempSync(join(tmpdir(), 'mcp-interop-'));
            writeFileSync(join(folder, 'tokens'), 'ada:sesame-of-ada\nbob:sesame-of-bob\n', { mode: 0o600 });
            writeFileSync(join(folder, 'only.txt'), 'for who has a token\n');
            server = await serve(mcpd, ['--token-file', join(folder, 'tokens'), folder]);
        });
        after(async () => {
            await server?.stop();
            rmSync(folder, { recursive: true });
        });

        it('refuses who has none, or a wrong one', async () => {
            for (const attempt of [dial(client, server.url), as('sesame-of-eve')]) {
                const error = await attempt.then(() => assert.fail('it came in'), e => e);
                assert.equal(error.exchanges?.[0]?.status, 401, error);
                assert.match(error.exchanges[0].headers.get('www-authenticate'), /^Bearer/);
            }
        });

        it('lets in who has one', async () => {
            const [ada, bob] = [await as('sesame-of-ada'), await as('sesame-of-bob')];
            for (const peer of [ada, bob]) {
                const { resources } = await peer.page();
                const { uri } = resources.find(r => r.name.endsWith('only.txt'));
                assert.equal((await peer.read(uri))[0].text, 'for who has a token\n');
            }
            const session = ada.transport.sessionId;
            if (client.era === 'legacy') {
                // A session belongs to the token that opened it.
                const headers = { 'Mcp-Session-Id': session, 'MCP-Protocol-Version': '2025-11-25' };
                const ping = token =>
                    raw(server.url, 'POST', { ...headers, Authorization: `Bearer ${token}` }, { method: 'ping' });
                assert.equal((await ping('sesame-of-bob')).status, 404);
                assert.equal((await ping('sesame-of-ada')).status, 200);
            }
            await ada.close();
            await bob.close();
        });
    });

    describe(`${client.name}, HTTP: the end`, { timeout: 60_000 }, () => {
        it('ends at once while a client still listens', async () => {
            const tree = makeTree();
            const server = await serve(mcpd, [tree.root]);
            const peer = await dial(client, server.url);
            await peer.watch({ uris: [tree.uri('README.md')] });
            const begun = Date.now();
            await server.stop();
            assert.ok(Date.now() - begun < 5000, `${Date.now() - begun} ms`);
            await peer.transport.close();
            tree.remove();
        });
    });
}
