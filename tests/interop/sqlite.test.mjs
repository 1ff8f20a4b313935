// `mcpd sqlite:FILE` with the official clients, in both eras and over both transports.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { peers } from './support/peers.mjs';
import { listChanged, updatedFor, waitFor } from './support/wait.mjs';

const SCHEMA = `
    CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT NOT NULL, photo BLOB);
    CREATE TABLE "odd name/%é?#" (a TEXT, b INTEGER, note TEXT, PRIMARY KEY(a, b)) WITHOUT ROWID;
    CREATE VIEW names AS SELECT name FROM customer;
    INSERT INTO customer VALUES (1, 'Ada', x'00ff80'), (2, 'Grace', NULL), (20, 'Barbara', NULL);
    INSERT INTO "odd name/%é?#" VALUES ('x/y z', 1, 'found');`;

describe('mcpd sqlite:FILE', { concurrency: 3 }, () => {
    for (const { name, open } of peers) {
        describe(name, { timeout: 60_000, concurrency: false }, () => {
            let folder, file, peer;
            const sql = text => execFileSync('sqlite3', ['-cmd', '.timeout 5000', file, text]);
            const json = async uri => JSON.parse((await peer.read(uri))[0].text);
            before(async () => {
                folder = mkdtempSync(join(tmpdir(), 'mcp-interop-sqlite-'));
                file = join(folder, 'shop.db');
                sql(SCHEMA);
                peer = await open(process.env.MCPD, [`sqlite:${file}`]);
            });
            after(async () => {
                await peer?.close();
                rmSync(folder, { recursive: true, force: true });
            });

            it('lists the schema, tables, views and their rows, all of which can be read', async () => {
                const { resources } = await peer.page();
                assert.deepEqual(resources.map(r => r.name),
                    ['shop', 'customer', 'customer/rows', 'names', 'names/rows', 'odd name/%é?#', 'odd name/%é?#/rows']);
                for (const { uri } of resources) assert.ok(await json(uri), uri);
                assert.match((await peer.read('sqlite://shop/?format=text'))[0].text, /CREATE TABLE customer/);
            });

            it('expands templates to rows and cells', async () => {
                const templates = await peer.templates();
                const template = end => templates.find(t => t.uriTemplate.endsWith(end)).uriTemplate;
                const row = peer.expand(template('/row{/key*}{?format}'), { table: 'odd name/%é?#', key: ['x/y z', '1'] });
                assert.deepEqual(await json(row), { a: 'x/y z', b: 1, note: 'found' });
                const rows = peer.expand(template('/rows{?contains,icontains,limit,offset,format}'), { table: 'customer', limit: '1', offset: '1' });
                const page = await json(rows);
                assert.deepEqual(page.rows, [[2, 'Grace', null]]);
                assert.deepEqual((await json(page.next)).rows, [[20, 'Barbara', null]]);
                const { photo } = await json('sqlite://shop/customer/row/1');
                assert.equal(photo.size, 3);
                assert.equal((await peer.read(photo.uri))[0].blob, 'AP+A');
            });

            it('completes tables, and keys of a table', async () => {
                const uri = 'sqlite://shop/{table}/row{/key*}{?format}';
                const ask = (name, value, known) => peer.complete({
                    ref: { type: 'ref/resource', uri }, argument: { name, value }, ...(known && { context: { arguments: known } }),
                });
                assert.deepEqual((await ask('table', 'c')).values, ['customer']);
                assert.deepEqual((await ask('key', '2', { table: 'customer' })).values, ['2', '20']);
            });

            it('answers queries that read, and no others', async () => {
                const [tool] = await peer.tools();
                assert.equal(tool.annotations.readOnlyHint, true);
                const good = await peer.call('query_sqlite_shop', { sql: 'SELECT name FROM customer WHERE id = ?', parameters: ['2'] });
                assert.deepEqual(good.structuredContent, { columns: ['name'], rows: [['Grace']], truncated: false });
                for (const bad of ['DELETE FROM customer', 'SELECT 1; SELECT 2', 'PRAGMA writable_schema = 1', "ATTACH 'x' AS x"])
                    assert.equal((await peer.call('query_sqlite_shop', { sql: bad })).isError, true, bad);
            });

            it('says what is not there', async () => {
                for (const uri of ['sqlite://shop/none', 'sqlite://shop/customer/row/99', 'sqlite://shop/sqlite_schema'])
                    await assert.rejects(peer.read(uri), uri);
            });

            it('tells of changes', async () => {
                const uri = 'sqlite://shop/customer/row/2';
                const watch = await peer.watch({ uris: [uri], list: true });
                peer.events.length = 0;
                sql("UPDATE customer SET name = 'Hopper' WHERE id = 2");
                await waitFor(peer.events, updatedFor(uri), 'the row');
                assert.equal((await json(uri)).name, 'Hopper');
                sql('CREATE TABLE later(x)');
                await waitFor(peer.events, listChanged, 'the list');
                await watch.close();
            });
        });
    }
});
