// `mcpd --resource-tools DIR`: the resources for hosts that know only tools.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { makeRepository } from './support/git.mjs';
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

            it('offers four tools that only read', async () => {
                const tools = await peer.tools();
                assert.deepEqual(tools.map(t => t.name).sort(),
                    ['find_resources', 'list_resources', 'read_resource', 'search_resources']);
                for (const tool of tools) {
                    assert.equal(tool.inputSchema.type, 'object');
                    assert.equal(tool.annotations?.readOnlyHint, true, tool.name);
                }
            });

            it('lists resources', async () => {
                const result = await peer.call('list_resources', {});
                assert.ok(!result.isError, textOf(result));
                assert.ok(textOf(result).includes(tree.uri('README.md')));
                assert.ok(result.structuredContent.entries.some(e => e.uri === tree.uri('README.md') && e.kind === 'file'));
            });

            it('goes on where it ended', async () => {
                const seen = [];
                let cursor;
                do {
                    const args = { pattern: 'names/*', limit: 3, ...(cursor && { cursor }) };
                    const { structuredContent } = await peer.call('list_resources', args);
                    assert.ok(structuredContent.entries.length <= 3);
                    seen.push(...structuredContent.entries.map(e => e.uri));
                    cursor = structuredContent.cursor;
                } while (cursor);
                assert.equal(seen.length, new Set(seen).size);
                assert.equal(seen.length, Object.keys(tree.files).filter(path => path.startsWith('names/')).length);
            });

            it('finds resources by name', async () => {
                for (const [args, path] of [
                    [{ name: 'readme' }, 'README.md'],
                    [{ name: 'GRöße' }, 'names/größe.txt'],
                    [{ name: 'data/blob' }, 'data/blob.bin'],
                    [{ name: '**/lines.*', kind: 'file' }, 'data/lines.txt'],
                ]) {
                    const result = await peer.call('find_resources', args);
                    assert.ok(!result.isError, textOf(result));
                    assert.deepEqual(result.structuredContent.entries.map(e => e.uri), [tree.uri(path)], args.name);
                }
            });

            it('searches in files', async () => {
                const uri = tree.uri('data/lines.txt');
                const result = await peer.call('search_resources', { query: '^line 50[0-2] ', regex: true });
                assert.ok(!result.isError, textOf(result));
                const { files, skipped } = result.structuredContent;
                assert.deepEqual(files, [{ uri, matches: [500, 501, 502].map(n => ({ line: n, text: line(n) })) }]);
                assert.ok(skipped.binary >= 1);
                assert.ok(textOf(result).includes(`501: ${line(501)}\n`));
                assert.ok(result.content.some(c => c.type === 'resource_link' && c.uri === uri));
                const other = await peer.call('search_resources', { query: 'GRÜßE', ignore_case: true });
                assert.deepEqual(other.structuredContent.files.map(f => f.uri), [tree.uri('README.md')]);
            });

            it('says in a result what is wrong with an expression', async () => {
                const result = await peer.call('search_resources', { query: '(', regex: true });
                assert.equal(result.isError, true);
                assert.match(textOf(result), /regular expression/);
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

describe('mcpd --resource-tools DIR git:DIR', { concurrency: 3 }, () => {
    for (const { name, open } of peers) {
        describe(name, { timeout: 60_000, concurrency: false }, () => {
            let tree, folder, peer;
            before(async () => {
                tree = makeTree();
                folder = mkdtempSync(join(tmpdir(), 'mcp-tools-'));
                const app = makeRepository(join(folder, 'app'), { 'src/gadget.c': 'int gadget;\n' });
                app.git('tag', 'v1');
                app.commit({ 'src/gadget.c': 'long gadget;\n' }, 'wider');
                peer = await open(process.env.MCPD, ['--resource-tools', tree.root, `git:${app.folder}`]);
            });
            after(async () => {
                await peer?.close();
                tree?.remove();
                rmSync(folder, { recursive: true, force: true });
            });

            it('lists every source, and the templates', async () => {
                const all = await peer.call('list_resources', { limit: 1 });
                assert.equal(all.structuredContent.entries.length, 1);
                assert.ok(all.structuredContent.templates.some(t => t.uriTemplate === 'file://{+path}{?tail}'));
                const { structuredContent } = await peer.call('list_resources', { under: 'git://app/' });
                const uris = structuredContent.entries.map(e => e.uri);
                assert.ok(uris.includes('git://app/HEAD/src/gadget.c'), uris.join());
                assert.ok(uris.every(uri => uri.startsWith('git://app')));
                assert.ok(structuredContent.templates.some(t => t.uriTemplate.startsWith('git://app/-/log/{rev}')));
            });

            it('finds and searches in every source', async () => {
                const found = await peer.call('find_resources', { name: 'gadget' });
                assert.deepEqual(found.structuredContent.entries.map(e => e.uri), ['git://app/HEAD/src/gadget.c']);
                const searched = await peer.call('search_resources', { query: 'long gadget' });
                assert.deepEqual(searched.structuredContent.files,
                    [{ uri: 'git://app/HEAD/src/gadget.c', matches: [{ line: 1, text: 'long gadget;' }] }]);
            });

            it('reads what a template stands for, and text as text', async () => {
                const old = await peer.call('read_resource', { uri: 'git://app/v1/src/gadget.c' });
                assert.deepEqual(old.content, [{ type: 'text', text: 'int gadget;\n' }]);
                const log = await peer.call('read_resource', { uri: 'git://app/-/log/HEAD?limit=1' });
                assert.ok(!log.isError, textOf(log));
                assert.equal(log.content[0].type, 'text');
                assert.ok(textOf(log).includes('wider'));
            });

            it('says what a wrong name may have meant', async () => {
                const result = await peer.call('read_resource', { uri: 'git://app/HEAD/src/gagdet.c' });
                assert.equal(result.isError, true);
                assert.match(textOf(result), /Did you mean git:\/\/app\/HEAD\/src\/gadget\.c\?/);
            });
        });
    }
});
