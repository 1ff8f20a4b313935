// What a host does with `mcpd DIR`, done by each client: list, read, templates, completion, changes,
// errors. The last test of each peer checks all messages on the wire in its era.

import assert from 'node:assert/strict';
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { relative } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { peers } from './support/peers.mjs';
import { BINARY, CROWD, LINE_COUNT, TEXT, line, makeTree } from './support/tree.mjs';
import { listChanged, settle, sleep, updatedFor, waitFor } from './support/wait.mjs';

const mcpd = process.env.MCPD;
const META = 'io.modelcontextprotocol/';
const UNKNOWN = { legacy: -32002, modern: -32602 };
const CACHEABLE = ['server/discover', 'resources/list', 'resources/templates/list', 'resources/read'];

async function allPages(peer) {
    const pages = [];
    const cursors = new Set();
    for (let cursor; ; ) {
        const page = await peer.page(cursor);
        pages.push(page.resources);
        cursor = page.nextCursor;
        if (cursor === undefined) return pages;
        assert.ok(!cursors.has(cursor), 'a cursor came twice');
        cursors.add(cursor);
    }
}

// The variables of a URI template, without operators and modifiers.
const variables = template =>
    [...template.matchAll(/\{[+#./;?&]?([^}]*)\}/g)].flatMap(m => m[1].split(',')).map(v => v.replace(/[*:].*/, ''));

// The one template with this variable, and the name of its path variable.
async function templateWith(peer, variable) {
    const found = (await peer.templates()).filter(t => variables(t.uriTemplate).includes(variable));
    assert.equal(found.length, 1, `templates with {${variable}}`);
    return { template: found[0].uriTemplate, path: variables(found[0].uriTemplate)[0] };
}

async function readPart(peer, tree, file, values) {
    const { template, path } = await templateWith(peer, Object.keys(values)[0]);
    const uri = peer.expand(template, { [path]: tree.path(file), ...values });
    const contents = await peer.read(uri);
    assert.equal(contents.length, 1);
    assert.equal(contents[0].uri, uri);
    return contents[0];
}

const completePath = async (peer, value) => {
    const { template, path } = await templateWith(peer, 'offset');
    return peer.complete({ ref: { type: 'ref/resource', uri: template }, argument: { name: path, value } });
};

// Fails with the error as it was on the wire, not as the SDK rewrites it.
async function wireError(peer, call) {
    const from = peer.wire.replies.length;
    await assert.rejects(call);
    const reply = peer.wire.replies.slice(from).find(r => r.error);
    assert.ok(reply, 'an error reply crossed the wire');
    return reply.error;
}

// They spend most of their time waiting.
describe('mcpd DIR', { concurrency: 3 }, () => {
    for (const { name, era, open } of peers) {
        describe(name, { timeout: 120_000, concurrency: false }, () => {
            let tree, peer;
            before(async () => {
                tree = makeTree();
                peer = await open(mcpd, [tree.root]);
            });
            after(async () => {
                await peer?.close();
                tree?.remove();
            });

            it('introduces itself', () => {
                assert.ok(peer.version()?.name);
                assert.ok(peer.version()?.version);
                const { resources, completions } = peer.capabilities();
                assert.equal(resources.subscribe, true);
                assert.equal(resources.listChanged, true);
                assert.ok(completions);
            });

            it('lists everything once, in three pages', async () => {
                const pages = await allPages(peer);
                assert.deepEqual(pages.map(p => p.length).slice(0, 2), [1000, 1000]);
                assert.equal(pages.length, 3);
                const uris = pages.flat().map(r => r.uri);
                assert.equal(new Set(uris).size, uris.length, 'no URI comes twice');
                const paths = new Set(uris.map(u => relative(tree.root, fileURLToPath(u))));
                const wanted = [...Object.keys(tree.files), ...tree.folders];
                assert.deepEqual(wanted.filter(p => !paths.has(p)), [], 'nothing is missing');
                wanted.forEach(p => paths.delete(p));
                paths.delete(''); // the root itself may be listed
                assert.deepEqual([...paths], [], 'nothing that is left out by default is listed');
                if (peer.walk) assert.deepEqual((await peer.walk()).map(r => r.uri), uris);
            });

            it('describes what it lists', async () => {
                const resources = (await allPages(peer)).flat();
                const at = new Map(resources.map(r => [relative(tree.root, fileURLToPath(r.uri)), r]));
                for (const r of resources) {
                    assert.ok(r.name.length > 0, r.uri);
                    // A list does not read files, so a name without a known extension has no type.
                    if (!r.uri.endsWith('/blob.bin')) assert.match(r.mimeType, /^[\w.+-]+\/[\w.+-]+$/, r.uri);
                    assert.match(r.annotations.lastModified, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/, r.uri);
                    const age = Date.now() - Date.parse(r.annotations.lastModified);
                    assert.ok(age > -2000 && age < 600_000, `${r.uri} was modified ${age} ms ago`);
                }
                for (const [path, content] of Object.entries(tree.files)) {
                    assert.equal(at.get(path).size, Buffer.byteLength(content), path);
                    assert.ok(path.endsWith(at.get(path).name), `${path} is named ${at.get(path).name}`);
                }
                for (const path of tree.folders) assert.equal(at.get(path).mimeType, 'inode/directory');
                assert.equal(at.get('empty.txt').mimeType, 'text/plain');
                if (existsSync('/usr/share/mime/globs2')) {
                    assert.equal(at.get('README.md').mimeType, 'text/markdown');
                }
            });

            it('reads text, whatever the file is called', async () => {
                for (const [path, content] of Object.entries(tree.files)) {
                    if (path.startsWith('many/') || Buffer.isBuffer(content)) continue;
                    const contents = await peer.read(tree.uri(path));
                    assert.equal(contents.length, 1, path);
                    assert.equal(contents[0].text, content, path);
                    assert.equal(contents[0].uri, tree.uri(path));
                }
            });

            it('reads by the URIs that it lists', async () => {
                const resources = (await allPages(peer)).flat();
                for (const r of resources.filter(r => r.uri.includes('/names/'))) {
                    const [content] = await peer.read(r.uri);
                    assert.equal(content.uri, r.uri);
                    assert.equal(content.mimeType, r.mimeType);
                    assert.equal(content.text, tree.files[relative(tree.root, fileURLToPath(r.uri))]);
                }
            });

            it('reads binary as a blob', async () => {
                const [content] = await peer.read(tree.uri('data/blob.bin'));
                assert.equal(content.text, undefined);
                assert.deepEqual(Buffer.from(content.blob, 'base64'), BINARY);
            });

            it('reads a folder as its listing', async () => {
                const [content] = await peer.read(tree.uri('names'));
                const paths = [...content.text.matchAll(/file:\/\/\S+/g)].map(m => fileURLToPath(m[0]));
                for (const path of Object.keys(tree.files).filter(p => p.startsWith('names/'))) {
                    assert.ok(paths.includes(tree.path(path)), path);
                }
            });

            it('reads a range of bytes through a template', async () => {
                const part = await readPart(peer, tree, 'data/lines.txt', { offset: '5', length: '3' });
                assert.equal(part.text, (line(1) + '\n').slice(5, 8));
                const binary = await readPart(peer, tree, 'data/blob.bin', { offset: '512', length: '16' });
                const bytes = binary.blob ? Buffer.from(binary.blob, 'base64') : Buffer.from(binary.text);
                assert.deepEqual(bytes, BINARY.subarray(512, 528));
            });

            it('reads a range of lines through a template', async () => {
                const part = await readPart(peer, tree, 'data/lines.txt', { line: '500', lines: '2' });
                assert.equal(part.text, `${line(500)}\n${line(501)}\n`);
            });

            it('reads the tail through a template', async () => {
                const part = await readPart(peer, tree, 'data/lines.txt', { tail: '3' });
                const last = [2, 1, 0].map(n => line(LINE_COUNT - n) + '\n').join('');
                assert.equal(part.text, last);
            });

            it('lists a folder with a limit through a template', async () => {
                const part = await readPart(peer, tree, 'many', { depth: '1', limit: '3' });
                assert.equal([...part.text.matchAll(/file:\/\/\S+\/many\/d\d\d(?=\/?\s|$)/gm)].length, 3);
                assert.ok(!part.text.includes('/f000.txt'), 'depth 1 does not go into the folders');
            });

            it('completes a path segment by segment', async () => {
                const top = await completePath(peer, tree.path('da'));
                assert.deepEqual(top.values.map(v => v.replace(/\/$/, '')), [tree.path('data')]);
                const inside = await completePath(peer, tree.path('data/'));
                assert.deepEqual(inside.values, ['blob.bin', 'lines.txt'].map(f => tree.path(`data/${f}`)));
                assert.notEqual(inside.hasMore, true);
                const nothing = await completePath(peer, tree.path('data/nothing'));
                assert.deepEqual(nothing.values, []);
            });

            it('completes no more than 100, and says how many there are', async () => {
                const { values, total, hasMore } = await completePath(peer, tree.path('many/d00/f'));
                assert.equal(values.length, 100);
                assert.equal(total, CROWD);
                assert.equal(hasMore, true);
                assert.deepEqual(values, [...values].sort());
                assert.ok(values.every(v => v.startsWith(tree.path('many/d00/f'))));
            });

            it('tells of a subscribed file: written, replaced, deleted, created again', async () => {
                const file = tree.path('live/watched.txt');
                const uri = tree.uri('live/watched.txt');
                const steps = {
                    written: () => writeFileSync(file, 'second\n'),
                    'replaced by rename': () => {
                        writeFileSync(tree.path('live/.new'), 'third\n');
                        renameSync(tree.path('live/.new'), file);
                    },
                    'written after the rename': () => writeFileSync(file, 'fourth\n'),
                    deleted: () => rmSync(file),
                    'created again': () => writeFileSync(file, 'fifth\n'),
                    'written after its return': () => writeFileSync(file, 'sixth\n'),
                };
                const watch = await peer.watch({ uris: [uri] });
                for (const [what, step] of Object.entries(steps)) {
                    await settle(peer.events);
                    step();
                    await waitFor(peer.events, updatedFor(uri), what);
                }
                assert.equal((await peer.read(uri))[0].text, 'sixth\n');

                await settle(peer.events);
                writeFileSync(tree.path('live/other.txt'), 'still nobody\n');
                await sleep(600);
                assert.ok(!peer.events.some(updatedFor(tree.uri('live/other.txt'))), 'not subscribed');

                await watch.close();
                await settle(peer.events);
                writeFileSync(file, 'seventh\n');
                await sleep(600);
                assert.ok(!peer.events.some(updatedFor(uri)), 'not subscribed any longer');
            });

            it('tells of a burst once or twice, not a hundred times', async () => {
                const file = tree.path('live/watched.txt');
                const uri = tree.uri('live/watched.txt');
                const watch = await peer.watch({ uris: [uri] });
                await settle(peer.events);
                for (let i = 0; i < 100; i++) writeFileSync(file, `burst ${i}\n`);
                await waitFor(peer.events, updatedFor(uri), 'burst');
                await sleep(600);
                const count = peer.events.filter(updatedFor(uri)).length;
                assert.ok(count <= 10, `${count} notifications of one burst`);
                await watch.close();
            });

            it('tells of a changed list', async () => {
                const watch = await peer.watch({ list: true });
                await settle(peer.events);
                writeFileSync(tree.path('live/added.txt'), 'new\n');
                await waitFor(peer.events, listChanged, 'a file was added');
                const uris = (await allPages(peer)).flat().map(r => r.uri);
                assert.ok(uris.includes(tree.uri('live/added.txt')));
                await settle(peer.events);
                rmSync(tree.path('live/added.txt'));
                await waitFor(peer.events, listChanged, 'a file was removed');
                await watch.close();
            });

            if (era === 'modern') it('says nothing of a changed list to who did not ask', async () => {
                await settle(peer.events);
                writeFileSync(tree.path('live/quiet.txt'), 'new\n');
                await sleep(600);
                assert.deepEqual(peer.events, []);
            });

            it('refuses what is not there or not allowed, all in the same words', async () => {
                const refused = [
                    tree.uri('no/such/file'),
                    ...tree.left_out.map(tree.uri),
                    'file:///etc/passwd',
                    `${tree.uri('data')}/../../../etc/passwd`,
                    `${tree.uri('data')}/..%2f..%2fREADME.md`,
                    'mem:nothing',
                ];
                for (const uri of refused) {
                    const error = await wireError(peer, peer.read(uri));
                    assert.equal(error.code, UNKNOWN[era], uri);
                    assert.equal(error.data?.uri, uri);
                }
            });

            it('refuses a cursor that it did not make, and goes on', async () => {
                assert.equal((await wireError(peer, peer.page('bogus'))).code, -32602);
                assert.equal((await wireError(peer, peer.page(''))).code, -32602);
                assert.equal((await peer.read(tree.uri('README.md')))[0].text, TEXT);
            });

            if (era === 'legacy') it('answers ping', () => peer.ping());

            if (era === 'modern') it('discovers again', async () => {
                const found = await peer.client.discover();
                assert.ok(found.supportedVersions.includes('2026-07-28'));
            });

            it('sent each era only what that era knows', () => {
                const { replies, notifications } = peer.wire;
                assert.ok(replies.length > 50);
                for (const { method, result } of replies) {
                    if (!result) continue;
                    const meta = result._meta ?? {};
                    if (era === 'legacy') {
                        for (const field of ['resultType', 'ttlMs', 'cacheScope']) {
                            assert.ok(!(field in result), `${field} in ${method}`);
                        }
                        assert.ok(!(`${META}serverInfo` in meta), method);
                    } else {
                        assert.equal(result.resultType, 'complete', method);
                        assert.ok(meta[`${META}serverInfo`]?.name, method);
                        if (!CACHEABLE.includes(method)) continue;
                        assert.ok(Number.isInteger(result.ttlMs) && result.ttlMs >= 0, method);
                        assert.match(result.cacheScope, /^(public|private)$/, method);
                    }
                }
                for (const n of notifications.filter(n => /resources|subscriptions/.test(n.method))) {
                    assert.equal(`${META}subscriptionId` in (n.params?._meta ?? {}), era === 'modern', n.method);
                }
                assert.doesNotMatch(peer.stderr(), /Sanitizer|runtime error/);
            });
        });
    }
});
