// `mcpd --prompts DIR`: Markdown files as prompts.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { peers } from './support/peers.mjs';
import { BINARY, TEXT, makeTree } from './support/tree.mjs';
import { until } from './support/wait.mjs';

const review = tree => `---
title: Review
description: "Looks at a file: closely"
arguments:
  - name: language
    title: Language
    description: What it is written in
    required: true
    complete: [c, cpp, rust]
  - name: focus
---
Review this {{language}}. {{focus}}
{{resource: ${tree.uri('README.md')}}}
<!-- assistant -->
{{resource: ${tree.uri('data/blob.bin')}}}
I see.
`;

const changes = peer => peer.events.filter(n => n.method === 'notifications/prompts/list_changed').length;

describe('mcpd --prompts DIR', { concurrency: 3 }, () => {
    for (const { name, open } of peers) {
        describe(name, { timeout: 60_000, concurrency: false }, () => {
            let tree, folder, peer;
            before(async () => {
                tree = makeTree();
                folder = mkdtempSync(join(tmpdir(), 'mcp-prompts-'));
                writeFileSync(join(folder, 'review.md'), review(tree));
                writeFileSync(join(folder, 'broken.md'), '{{nobody}}');
                peer = await open(process.env.MCPD, ['--prompts', folder, tree.root]);
            });
            after(async () => {
                await peer?.close();
                tree?.remove();
                rmSync(folder, { recursive: true, force: true });
            });

            it('lists them', async () => {
                // One of the clients drops the titles of arguments.
                const shown = (await peer.prompts()).map(({ arguments: list, ...rest }) =>
                    ({ ...rest, arguments: list.map(({ title, ...argument }) => argument) }));
                assert.deepEqual(shown, [{
                    name: 'review',
                    title: 'Review',
                    description: 'Looks at a file: closely',
                    arguments: [
                        { name: 'language', description: 'What it is written in', required: true },
                        { name: 'focus' },
                    ],
                }]);
            });

            it('gets one, with its resources', async () => {
                const { messages, description } = await peer.prompt('review', { language: 'C', focus: '{{language}}' });
                assert.equal(description, 'Looks at a file: closely');
                assert.deepEqual(messages.map(m => [m.role, m.content.type]),
                    [['user', 'text'], ['user', 'resource'], ['assistant', 'resource'], ['assistant', 'text']]);
                assert.equal(messages[0].content.text, 'Review this C. {{language}}');
                assert.equal(messages[1].content.resource.text, TEXT);
                assert.equal(messages[1].content.resource.uri, tree.uri('README.md'));
                assert.deepEqual(Buffer.from(messages[2].content.resource.blob, 'base64'), BINARY);
                assert.equal(messages[3].content.text, 'I see.');
            });

            it('refuses what is missing and what is unknown', async () => {
                await assert.rejects(peer.prompt('review', {}), { code: -32602 });
                await assert.rejects(peer.prompt('broken', {}), { code: -32602 });
            });

            it('completes arguments', async () => {
                const ref = { type: 'ref/prompt', name: 'review' };
                const { values } = await peer.complete({ ref, argument: { name: 'language', value: 'C' } });
                assert.deepEqual(values, ['c', 'cpp']);
            });

            it('tells of changes', async () => {
                const watch = await peer.watch({ prompts: true });
                writeFileSync(join(folder, 'another.md'), 'Say hello.');
                await until(() => changes(peer) > 0);
                assert.deepEqual((await peer.prompts()).map(p => p.name), ['another', 'review']);
                unlinkSync(join(folder, 'another.md'));
                await until(() => changes(peer) > 1);
                await watch.close();
            });
        });
    }
});
