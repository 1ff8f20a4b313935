// HTTP+SSE, the transport of 2024-11-05, with the clients of the SDKs.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { SSEClientTransport as Sse1 } from '@modelcontextprotocol/sdk/client/sse.js';
import { SSEClientTransport as Sse2 } from '@modelcontextprotocol/client';
import { clients } from './support/peers.mjs';
import { serve } from './support/server.mjs';
import { TEXT, makeTree } from './support/tree.mjs';
import { updatedFor, waitFor } from './support/wait.mjs';

const mcpd = process.env.MCPD;
const transports = [Sse1, Sse2];

for (const [i, client] of clients.filter(c => c.era === 'legacy').entries()) {
    describe(`${client.name}, HTTP+SSE`, { timeout: 60_000 }, () => {
        let tree, server, folder;
        const open = token => client.connect(new transports[i](new URL('/sse', server.url), {
            requestInit: { headers: { Authorization: `Bearer ${token}` } },
            eventSourceInit: {
                fetch: (url, init) => fetch(url, {
                    ...init, headers: { ...init?.headers, Accept: 'text/event-stream', Authorization: `Bearer ${token}` },
                }),
            },
        }));
        before(async () => {
            tree = makeTree();
            folder = mkdtempSync(join(tmpdir(), 'mcp-interop-'));
            writeFileSync(join(folder, 'tokens'), 'ada:sesame-of-ada\nbob:sesame-of-bob\n', { mode: 0o600 });
            server = await serve(mcpd, ['--http-sse', '--token-file', join(folder, 'tokens'), tree.root]);
        });
        after(async () => {
            await server?.stop();
            tree?.remove();
            rmSync(folder, { recursive: true });
            assert.doesNotMatch(server.stderr, /Sanitizer|runtime error/);
        });

        it('reads, watches, and two at once get their own answers', async () => {
            const [ada, bob] = [await open('sesame-of-ada'), await open('sesame-of-bob')];
            const uri = tree.uri('README.md');
            await Promise.all(Array.from({ length: 40 }, async (_, n) => {
                const [content] = await (n % 2 ? ada : bob).read(uri);
                assert.equal(content.text, TEXT);
            }));
            await ada.watch({ uris: [uri] });
            writeFileSync(join(tree.root, 'README.md'), TEXT + 'more\n');
            await waitFor(ada.events, updatedFor(uri), 'the update');
            writeFileSync(join(tree.root, 'README.md'), TEXT);
            assert.deepEqual(bob.events.filter(updatedFor(uri)), []);
            await ada.ping();
            await ada.close();
            await bob.close();
        });

        it('needs a token', async () => {
            await assert.rejects(open('sesame-of-eve'));
        });
    });
}
