// `mcpd --resource-tools DIR`: the resources for hosts that know only tools.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { peers } from './support/peers.mjs';
import { LINE_COUNT, TEXT, line, makeTree } from './support/tree.mjs';

const textOf = result =>
    result.content.map(c => c.text ?? c.uri ?? c.resource?.text ?? c.resource?.uri ?? '').join('\n');

describe('mcpd --resource-tools DIR', { concurrency: 3 }, () => {
    for (const { name, open } of peers) {
        describe(name, { timeout: 60_000, concurrency: false }, () => {
            let tree, peer;
            before(async () => {
                tree = makeTree();
                peer = await open(process.env.MCPD, ['--resource-tools', tree.root]);
            });
            after(async () => {
                await peer?.close();
                tree?.remove();
            });

            it('offers two tools that only read', async () => {
                const tools = await peer.tools();
                assert.deepEqual(tools.map(t => t.name).sort(), ['list_resources', 'read_resource']);
                for (const tool of tools) {
                    assert.equal(tool.inputSchema.type, 'object');
                    assert.equal(tool.annotations?.readOnlyHint, true, tool.name);
                }
            });

            it('lists resources', async () => {
                const result = await peer.call('list_resources', {});
                assert.ok(!result.isError, textOf(result));
                assert.ok(textOf(result).includes(tree.uri('README.md')));
            });

            it('reads a resource', async () => {
                const result = await peer.call('read_resource', { uri: tree.uri('README.md') });
                assert.ok(!result.isError, textOf(result));
                assert.ok(textOf(result).includes(TEXT));
            });

            it('reads ranges', async () => {
                const uri = tree.uri('data/lines.txt');
                const ranges = [
                    [{ offset: 5, length: 3 }, (line(1) + '\n').slice(5, 8)],
                    [{ line: 500, lines: 1 }, line(500)],
                    [{ tail: 1 }, line(LINE_COUNT)],
                ];
                for (const [range, text] of ranges) {
                    const result = await peer.call('read_resource', { uri, ...range });
                    assert.ok(!result.isError, textOf(result));
                    assert.equal(textOf(result).trimEnd(), text.trimEnd(), JSON.stringify(range));
                }
            });

            it('says in a result that a resource is not there', async () => {
                const result = await peer.call('read_resource', { uri: tree.uri('no/such/file') });
                assert.equal(result.isError, true);
            });

            it('refuses an unknown tool', async () => {
                await assert.rejects(peer.call('nothing', {}), { code: -32602 });
            });
        });
    }
});
