// One mcpd with one configuration file: two folders, a database, prompts and command tools, for two
// principals with different rights, over stdio and HTTP, with every client and mcpctl; and the file
// is reloaded meanwhile.

import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { clients, dial, peers } from './support/peers.mjs';
import { serve } from './support/server.mjs';
import { listChanged, settle, until, updatedFor, waitFor } from './support/wait.mjs';

const mcpd = process.env.MCPD, mcpctl = process.env.MCPCTL;
const run = promisify(execFile);
const tokens = { alice: 'token-of-alice', guest: 'token-of-guest' };
const bearer = name => ({ Authorization: `Bearer ${tokens[name]}` });

const configuration = rights => `// made by the test
{
  "sources": [
    "docs",
    {"path": "code"},
    {"module": "sqlite", "source": "shop.db", "name": "shop",
     "options": {"queries": [{"name": "cheap", "sql": "SELECT name FROM item WHERE price < :most ORDER BY name",
                              "parameters": [{"name": "most", "type": "number"}]}]}},
  ],
  "prompts": "prompts",
  "tokens": ${JSON.stringify(tokens)},
  "annotations": [{"match": "docs/*.md", "priority": 0.75, "title": "A page"}],
  "tools": [
    {"name": "count", "command": ["wc", "-l", "--", "{file}"], "folder": "docs", "read-only": true,
     "input-schema": {"type": "object", "required": ["file"], "properties": {"file": {"type": "string"}}}},
    {"name": "wait", "command": ["sleep", "{seconds}"],
     "input-schema": {"type": "object", "properties": {"seconds": {"type": "number"}}}},
  ],
  "access": [
    {"principal": "guest", "effect": "deny"},
    ${rights}
    {"effect": "deny", "resources": "docs/private"},
  ],
}
`;
const guestRights = '{"principal": "guest", "effect": "allow", "resources": ["docs", "sqlite://shop/item**"], "prompts": "hello"},';

function makePlace() {
    const root = realpathSync(mkdtempSync(join(tmpdir(), 'mcpd-config-')));
    for (const folder of ['docs/private', 'code', 'prompts']) mkdirSync(join(root, folder), { recursive: true });
    writeFileSync(join(root, 'docs/page.md'), 'one\ntwo\n');
    writeFileSync(join(root, 'docs/private/plan.md'), 'secret plan\n');
    writeFileSync(join(root, 'code/main.c'), 'int main(void);\n');
    writeFileSync(join(root, 'prompts/hello.md'), 'Say hello.\n');
    writeFileSync(join(root, 'prompts/other.md'), 'Say something else.\n');
    execFileSync('sqlite3', [join(root, 'shop.db'), `
        CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, price REAL);
        CREATE TABLE wage(id INTEGER PRIMARY KEY, amount REAL);
        INSERT INTO item VALUES (1, 'pear', 1.5), (2, 'melon', 4); INSERT INTO wage VALUES (1, 5000)`]);
    const file = join(root, 'mcpd.json');
    writeFileSync(file, configuration(guestRights));
    return { root, file, uri: path => `file://${join(root, path)}`, remove: () => rmSync(root, { recursive: true }) };
}

const names = list => list.map(one => one.name).sort();

async function sees(peer, place) {
    const { resources } = await peer.page();
    return {
        resources: resources.map(r => r.uri.replace(`file://${place.root}/`, '')).sort(),
        prompts: names(await peer.prompts().catch(() => [])),
        tools: names(await peer.tools().catch(() => [])),
    };
}

const all = {
    resources: ['code', 'code/main.c', 'docs', 'docs/page.md', 'sqlite://shop/', 'sqlite://shop/$query/cheap',
        'sqlite://shop/item', 'sqlite://shop/item/rows', 'sqlite://shop/wage', 'sqlite://shop/wage/rows'],
    prompts: ['hello', 'other'],
    tools: ['count', 'query_sqlite_shop', 'wait'],
};
const guests = { resources: ['docs', 'docs/page.md', 'sqlite://shop/item', 'sqlite://shop/item/rows'], prompts: ['hello'], tools: [] };

async function usesAll(peer, place) {
    assert.equal((await peer.read(place.uri('docs/page.md')))[0].text, 'one\ntwo\n');
    assert.equal((await peer.read(`${place.uri('docs/page.md')}?line=2&lines=1`))[0].text, 'two\n');
    assert.equal((await peer.read(place.uri('code/main.c')))[0].text, 'int main(void);\n');
    assert.match((await peer.read('sqlite://shop/item/row/2'))[0].text, /melon/);
    assert.match((await peer.read('sqlite://shop/$query/cheap?most=2'))[0].text, /pear/);
    assert.equal((await peer.prompt('hello')).messages[0].content.text.trim(), 'Say hello.');
    assert.equal((await peer.call('count', { file: 'page.md' })).content[0].text, '2 page.md\n');
    assert.equal((await peer.call('count', { file: '$(rm -rf .)' })).isError, true);
    await assert.rejects(peer.read(place.uri('docs/private/plan.md')));
    const { resources } = await peer.page();
    const page = resources.find(r => r.uri === place.uri('docs/page.md'));
    assert.equal(page.annotations.priority, 0.75);
}

for (const peerKind of peers.filter(p => p.name.endsWith('stdio'))) {
    it(`${peerKind.name}: one file for everything`, { timeout: 60_000 }, async () => {
        const place = makePlace();
        const peer = await peerKind.open(mcpd, ['--config', place.file]);
        try {
            assert.deepEqual(await sees(peer, place), all);
            await usesAll(peer, place);
        } finally {
            await peer.close();
            place.remove();
        }
        assert.doesNotMatch(peer.stderr(), /Sanitizer|runtime error/);
    });
}

for (const client of clients) {
    describe(`${client.name}, HTTP: two principals`, { timeout: 60_000 }, () => {
        let place, server, alice, guest;
        before(async () => {
            place = makePlace();
            server = await serve(mcpd, ['--config', place.file]);
            alice = await dial(client, server.url, bearer('alice'));
            guest = await dial(client, server.url, bearer('guest'));
        });
        after(async () => {
            await alice?.close();
            await guest?.close();
            await server?.stop();
            place?.remove();
            assert.doesNotMatch(server.stderr, /Sanitizer|runtime error/);
        });

        it('each sees what is his', async () => {
            assert.deepEqual(await sees(alice, place), all);
            assert.deepEqual(await sees(guest, place), guests);
            await assert.rejects(dial(client, server.url, { Authorization: 'Bearer nobody' }));
        });

        it('one uses everything', () => usesAll(alice, place));

        it('for the other the rest does not exist', async () => {
            assert.equal((await guest.read(place.uri('docs/page.md')))[0].text, 'one\ntwo\n');
            assert.match((await guest.read('sqlite://shop/item/row/2'))[0].text, /melon/);
            for (const uri of [place.uri('code/main.c'), place.uri('docs/private/plan.md'), 'sqlite://shop/wage',
                'sqlite://shop/wage/row/1', 'sqlite://shop/$query/cheap?most=2', 'sqlite://shop/'])
                await assert.rejects(guest.read(uri), undefined, uri);
            await assert.rejects(guest.prompt('other'));
            await assert.rejects(guest.call('count', { file: 'page.md' }));
            assert.doesNotMatch((await guest.read(`${place.uri('docs')}?depth=5`))[0].text, /plan/);
            assert.match(JSON.stringify(await guest.prompt('hello')), /Say hello/);
        });

        it('is told of changes to what he may see, and of nothing else', async () => {
            const uris = [place.uri('docs/page.md')];
            const watches = [await alice.watch({ uris: [...uris, place.uri('code/main.c')] }), await guest.watch({ uris })];
            await settle(guest.events);
            await settle(alice.events);
            writeFileSync(join(place.root, 'code/main.c'), 'int main(void) { return 0; }\n');
            await waitFor(alice.events, updatedFor(place.uri('code/main.c')), 'alice and the code');
            writeFileSync(join(place.root, 'docs/page.md'), 'one\ntwo\n');
            await waitFor(guest.events, updatedFor(uris[0]), 'the guest and the page');
            assert.ok(!guest.events.some(updatedFor(place.uri('code/main.c'))));
            for (const watch of watches) await watch.close();
        });

        it('reads the file again: other rights at once, told once, and no request is lost', async () => {
            const watch = await guest.watch({ list: true, tools: true, prompts: true });
            await settle(guest.events);
            const slow = alice.call('wait', { seconds: 1 });
            const reads = [];
            const pump = setInterval(() => reads.push(alice.read(place.uri('docs/page.md'))), 5);
            writeFileSync(place.file, configuration(guestRights.replace('"prompts"', '"tools": "count", "prompts"')));
            process.kill(server.pid, 'SIGHUP');
            await waitFor(guest.events, listChanged, 'the lists changed');
            await until(async () => (await guest.tools()).length === 1, 'the guest has a tool');
            clearInterval(pump);
            for (const contents of await Promise.all(reads)) assert.equal(contents[0].text, 'one\ntwo\n');
            assert.ok(reads.length > 5);
            assert.ok(!(await slow).isError);
            assert.equal(guest.events.filter(listChanged).length, 1);
            assert.equal((await guest.call('count', { file: 'page.md' })).content[0].text, '2 page.md\n');
            await watch.close();
        });
    });
}

describe('mcpctl', { timeout: 60_000 }, () => {
    let place, server;
    const ask = (who, ...args) =>
        run(mcpctl, [...args, '-s', server.url, '-H', `Authorization: Bearer ${tokens[who]}`]).then(r => r.stdout);
    before(async () => {
        place = makePlace();
        server = await serve(mcpd, ['--config', place.file]);
    });
    after(async () => {
        await server?.stop();
        place?.remove();
    });

    it('tree and find show each what is his', async () => {
        assert.match(await ask('alice', 'tree'), /main\.c/);
        const tree = await ask('guest', 'tree');
        assert.match(tree, /page\.md/);
        assert.doesNotMatch(tree, /main\.c|plan|wage/);
        assert.match(await ask('alice', 'find', 'main'), /main\.c/);
        assert.doesNotMatch(await ask('guest', 'find', 'main').catch(e => e.stdout), /main\.c/);
    });

    it('watch tells of a change', async () => {
        const child = spawn(mcpctl, ['watch', place.uri('docs/page.md'), '-s', server.url,
            '-H', `Authorization: Bearer ${tokens.guest}`]);
        let out = '', err = '';
        child.stdout.on('data', chunk => (out += chunk));
        child.stderr.on('data', chunk => (err += chunk));
        try {
            let n = 0;
            await until(() => {
                writeFileSync(join(place.root, 'docs/page.md'), `${n++}\n`);
                return out.includes('page.md');
            }, () => `${out}; ${err}`, 15_000);
        } finally {
            child.kill();
        }
    });
});
