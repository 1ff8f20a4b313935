// One mcpd that serves a folder, two git repositories, a SQLite file and a PostgreSQL database,
// with every client over both transports, and with mcpctl. outage.test.mjs tests an outage of the
// database.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { peers } from './support/peers.mjs';
import { startPostgres } from './support/postgres.mjs';
import { serve } from './support/server.mjs';
import { README, makeSources } from './support/sources.mjs';
import { listChanged, provoke, quieten, settle, until } from './support/wait.mjs';

const { MCPD: mcpd, MCPCTL: mcpctl } = process.env;
const DAY = 24 * 3600 * 1000;
let postgres;
before(() => (postgres = startPostgres()));
after(() => postgres?.remove());

const options = ['--page-size', '7', '--resource-tools'];
const has = wanted => text => assert.ok(text.includes(wanted), `${text} lacks ${wanted}`);
const holds = wanted => text => assert.partialDeepStrictEqual(JSON.parse(text), wanted);
const is = wanted => text => assert.equal(text, wanted);

async function allResources(peer) {
    const all = [];
    let cursor, pages = 0;
    do {
        const page = await peer.page(cursor);
        all.push(...page.resources);
        cursor = page.nextCursor;
        pages++;
    } while (cursor !== undefined);
    return { all, pages };
}

// Every template: the values for its expansion, and the expected contents.
const throughTemplates = ({ path, head }) => [
    ['file://{+path}', { path: path('readme.md') }, is(README)],
    ['file://{+path}{?offset,length}', { path: path('readme.md'), offset: '2', length: '10' }, is('Everything')],
    ['file://{+path}{?line,lines}', { path: path('readme.md'), line: '3', lines: '1' }, is('Grüße.\n')],
    ['file://{+path}{?tail}', { path: path('readme.md'), tail: '1' }, is('Grüße.\n')],
    ['file://{+path}{?depth,limit}', { path: path(''), depth: '2', limit: '10' }, has('/sub%20folder/')],
    ['git://code/{rev}/{+path}{?offset,length,format}', { rev: 'feature/new', path: 'list.txt' }, is('one\ntwo\n')],
    ['git://code/{rev}/{+path}{?offset,length,format}', { rev: head, path: 'list.txt', offset: '4', length: '1' }, is('2')],
    ['git://code/{rev}/{+path}{?offset,length,format}', { rev: 'v1', path: 'src/x y.c' }, is('int x;\n')],
    ['git://code/-/commit/{rev}{?format}', { rev: head.slice(0, 12) }, holds({ id: head, message: 'second\n' })],
    ['git://code/-/log/{rev}/{+path}{?author,text,since,until,files,limit,format}', { rev: 'main', path: 'list.txt', limit: '1' }, holds({ commits: [{ id: head }] })],
    ['git://code/-/diff/{from}/{to}/{+path}', { from: 'v1', to: 'main', path: '' }, has('-two\n+2\n+three\n')],
    ['git://code/-/blame/{rev}/{+path}{?line,lines,format}', { rev: 'main', path: 'list.txt', line: '2', lines: '1' },
        holds({ ranges: [{ line: 2, commit: head }] })],
    ['git://lib/{rev}/{+path}{?offset,length,format}', { rev: 'main', path: 'gadget.h' }, has('gadget')],
    ['git://lib/-/commit/{rev}{?format}', { rev: 'HEAD' }, holds({ message: 'first\n', parents: [] })],
    ['git://lib/-/log/{rev}/{+path}{?author,text,since,until,files,limit,format}', { rev: 'main', path: '' }, holds({ commits: [{ subject: 'first' }] })],
    ['git://lib/-/diff/{from}/{to}/{+path}', { from: 'main', to: 'main', path: '' }, is('0 files changed\n')],
    ['git://lib/-/blame/{rev}/{+path}{?line,lines,format}', { rev: 'main', path: 'gadget.h' }, holds({ lines: 1 })],
    ['git://code/{rev}/{?limit,format}', { rev: 'main', format: 'text' }, has('list.txt')],
    ['git://code/-/branches{?limit,format}', { format: 'text' }, has('git://code/main/')],
    ['git://code/-/tags{?limit,format}', {}, has('"tags"')],
    ['git://code/-/log/{rev}{?author,text,since,until,files,limit,format}', { rev: 'main', limit: '1' }, has('"commits"')],
    ['git://code/-/diff/{range}{?path}', { range: 'main...main' }, is('0 files changed\n')],
    ['git://code/-/diff/{from}/{to}{?path}', { from: 'main', to: 'HEAD' }, is('0 files changed\n')],
    ['git://code/-/staged/{+path}', { path: 'list.txt' }, is('0 files changed\n')],
    ['git://code/-/unstaged/{+path}', { path: 'list.txt' }, is('0 files changed\n')],
    ['git://code/-/search/{rev}{?text,regex,path,limit,format}', { rev: 'main', text: 'one', path: 'list.txt' }, has('list.txt:1')],
    ['git://lib/{rev}/{?limit,format}', { rev: 'main', format: 'text' }, has('gadget.h')],
    ['git://lib/-/branches{?limit,format}', { format: 'text' }, has('git://lib/main/')],
    ['git://lib/-/tags{?limit,format}', {}, has('"tags"')],
    ['git://lib/-/log/{rev}{?author,text,since,until,files,limit,format}', { rev: 'main', limit: '1' }, has('"commits"')],
    ['git://lib/-/diff/{range}{?path}', { range: 'main...main' }, is('0 files changed\n')],
    ['git://lib/-/diff/{from}/{to}{?path}', { from: 'main', to: 'HEAD' }, is('0 files changed\n')],
    ['git://lib/-/staged/{+path}', { path: 'gadget.h' }, null], // a bare repository has no working tree
    ['git://lib/-/unstaged/{+path}', { path: 'gadget.h' }, null],
    ['git://lib/-/search/{rev}{?text,regex,path,limit,format}', { rev: 'main', text: 'gadget', path: 'gadget.h' }, has('gadget.h:1')],
    ['sqlite://shop/{?named,format}', { format: 'text' }, has('CREATE TABLE invoice')],
    ['sqlite://shop/{table}{?format}', { table: 'customer' }, holds({ key: ['id'] })],
    ['sqlite://shop/{table}/rows{?contains,icontains,limit,offset,format}', { table: 'customer', limit: '1', offset: '1' }, holds({ rows: [[2, 'Grace', null]] })],
    ['sqlite://shop/{table}/row{/key*}{?format}', { table: 'customer', key: ['2'] }, holds({ id: 2, name: 'Grace' })],
    ['sqlite://shop/{table}/cell/{column}{/key*}{?offset,length}', { table: 'customer', column: 'name', key: ['1'] }, is('Ada')],
    ['postgres://shop/{?named,format}', { format: 'text' }, has('CREATE TABLE public.sale')],
    ['postgres://shop/{schema}{?format}', { schema: 'public' }, has('postgres://shop/public/sale')],
    ['postgres://shop/{schema}/{table}{?format}', { schema: 'public', table: 'customer' }, holds({ columns: [{ name: 'id' }] })],
    ['postgres://shop/{schema}/{table}/rows{?contains,icontains,limit,offset,format}', { schema: 'public', table: 'customer', limit: '1', offset: '1' },
        holds({ rows: [[2, 'Gerda', null]] })],
    ['postgres://shop/{schema}/{table}/row{/key*}{?format}', { schema: 'public', table: 'customer', key: ['2'] }, holds({ id: 2, name: 'Gerda' })],
    ['postgres://shop/{schema}/{table}/cell/{column}{/key*}{?offset,length}',
        { schema: 'public', table: 'customer', column: 'name', key: ['1'] }, is('Ida')],
    ['postgres://shop/{schema}/$function/{function}{?format}', { schema: 'public', function: 'total(wanted text)', format: 'text' },
        has('SELECT sum(total)')],
];

// Template, argument, prefix, values of other arguments, expected completions.
const completions = ({ path }) => [
    ['file://{+path}{?tail}', 'path', path('re'), {}, [path('readme.md')]],
    ['git://code/{rev}/{+path}{?offset,length,format}', 'rev', 'fe', {}, ['feature/new']],
    ['git://code/{rev}/{+path}{?offset,length,format}', 'path', 'sr', { rev: 'v1' }, ['src/']],
    ['git://code/-/log/{rev}/{+path}{?author,text,since,until,files,limit,format}', 'path', 'src/', { rev: 'main' }, ['src/x y.c']],
    ['git://lib/-/commit/{rev}{?format}', 'rev', '', {}, ['HEAD', 'main']],
    ['sqlite://shop/{table}{?format}', 'table', '', {}, ['customer', 'invoice']],
    ['sqlite://shop/{table}/row{/key*}{?format}', 'key', '2', { table: 'customer' }, ['2', '20']],
    ['postgres://shop/{schema}{?format}', 'schema', 'pu', {}, ['public']],
    ['postgres://shop/{schema}/{table}{?format}', 'table', '', { schema: 'public' }, ['customer', 'sale']],
    ['postgres://shop/{schema}/{table}/row{/key*}{?format}', 'key', '2', { schema: 'public', table: 'customer' }, ['2', '20']],
    ['postgres://shop/{schema}/$function/{function}{?format}', 'function', 'tot', { schema: 'public' }, ['total(wanted text)']],
];

const invoices = 'sqlite://shop/invoice', sales = 'postgres://shop/public/sale';
const watched = ({ uri }) => [
    uri('readme.md'), uri('sub folder'), 'git://code/main/list.txt', 'git://code/v1/list.txt', 'git://code/-/branches',
    'git://lib/main/gadget.h', invoices, `${invoices}/rows`, sales, `${sales}/rows`, `${sales}/row/1`,
    'postgres://shop/public/customer/rows',
];

// The event, the resources that must be notified, and whether the list changes.
const changes = ({ uri, write, code, push, sqlite, postgres: pg }) => [
    ['a file is edited', () => write('readme.md', 'other\n'), [uri('readme.md')]],
    ['a file is new', () => write('new.txt', 'new\n'), [], true],
    ['a commit', () => code.commit({ 'list.txt': 'four\n' }, 'third'), ['git://code/main/list.txt', 'git://code/-/branches'], true],
    ['a branch', () => code.git('branch', 'later'), ['git://code/-/branches']],
    ['another branch is checked out', () => code.git('checkout', '-q', 'feature/new'), [], true],
    ['a push to the bare one', () => push({ 'gadget.h': 'int gadget;\n', 'more.h': '\n' }, 'second'), ['git://lib/main/gadget.h'], true],
    ['a row in SQLite', () => sqlite("INSERT INTO invoice VALUES (3, 'open')"), [`${invoices}/rows`]],
    ['a table in SQLite', () => sqlite('CREATE TABLE later(x)'), [invoices, `${invoices}/rows`], true],
    ['a row in PostgreSQL', () => pg("INSERT INTO sale VALUES (3, 'open', 7)"), [`${sales}/rows`, `${sales}/row/1`]],
    ['a notice of one row', () => pg(`NOTIFY mcp_changes, '{"schema": "public", "table": "sale", "key": ["2"]}'`), [`${sales}/rows`]],
    ['a notice of no concern', () => pg(`NOTIFY mcp_changes, '{"schema": "public", "table": "later"}'; NOTIFY others`), []],
    ['a table in PostgreSQL', () => pg('CREATE TABLE later(x integer)'),
        [sales, `${sales}/rows`, `${sales}/row/1`, 'postgres://shop/public/customer/rows'], true],
];
const added = sources => [
    sources.uri('new.txt'), 'git://lib/HEAD/more.h', 'sqlite://shop/later', 'sqlite://shop/later/rows',
    'postgres://shop/public/later', 'postgres://shop/public/later/rows',
];

const updatedUris = events =>
    [...new Set(events.filter(e => e.method === 'notifications/resources/updated').map(e => e.params.uri))].sort();

// ---- mcpctl ------------------------------------------------------------------------------------------------

const ways = {
    stdio: async sources => ({ to: ['--', mcpd, ...options, ...sources.arguments], stop: async () => {} }),
    HTTP: async sources => {
        const server = await serve(mcpd, [...options, ...sources.arguments]);
        return { to: ['-s', server.url], stop: server.stop };
    },
};

function urisOf(tree) {
    return tree.flatMap(({ resource, children = [] }) => [...(resource ? [resource.uri] : []), ...urisOf(children)]);
}

// ---- all of it ---------------------------------------------------------------------------------------------

describe('mcpd FOLDER git:A git:B sqlite:FILE postgres:DATABASE', { concurrency: 4 }, () => {
    for (const { name, era, open } of peers) {
        describe(name, { timeout: 120_000, concurrency: false }, () => {
            let sources, peer;
            before(async () => {
                sources = makeSources(postgres);
                peer = await open(mcpd, [...options, ...sources.arguments]);
            });
            after(async () => {
                await peer?.close();
                sources?.remove();
                assert.doesNotMatch(peer?.stderr() ?? '', /Sanitizer|runtime error/);
            });

            it('lists all of them over its pages, and all that it lists can be read', async () => {
                const { all, pages } = await allResources(peer);
                assert.ok(pages >= 4);
                assert.deepEqual(all.map(r => r.uri).sort(), sources.uris.toSorted());
                for (const { uri, mimeType } of all) {
                    const [content] = await peer.read(uri);
                    assert.equal(content.uri, uri);
                    if (!uri.startsWith('file:')) assert.equal(content.mimeType, mimeType, uri);
                    assert.ok(content.text.length > 0, uri);
                }
            });

            it('reads through every template', async () => {
                const table = throughTemplates(sources);
                const listed = (await peer.templates()).map(t => t.uriTemplate);
                assert.deepEqual(new Set(table.map(([template]) => template)), new Set(listed));
                for (const [template, values, check] of table) {
                    const uri = peer.expand(template, values);
                    if (!check) {
                        await assert.rejects(peer.read(uri), uri);
                        continue;
                    }
                    const [content] = await peer.read(uri);
                    assert.equal(content.uri, uri);
                    check(content.text);
                }
                const [photo] = await peer.read('postgres://shop/public/customer/cell/photo/1');
                assert.equal(photo.blob, 'AP+A');
            });

            it('completes paths, references, tables and keys', async () => {
                for (const [uri, argument, value, known, wanted] of completions(sources)) {
                    const { values } = await peer.complete({
                        ref: { type: 'ref/resource', uri }, argument: { name: argument, value },
                        ...(Object.keys(known).length && { context: { arguments: known } }),
                    });
                    assert.deepEqual(values, wanted, `${uri} ${argument}`);
                }
            });

            it('has the tools of all of them', async () => {
                const tools = await peer.tools();
                assert.deepEqual(tools.map(t => t.name).sort(),
                    ['find_resources', 'list_resources', 'query_postgres_shop', 'query_sqlite_shop', 'read_resource', 'search_resources']);
                for (const tool of tools) assert.equal(tool.annotations.readOnlyHint, true, tool.name);
                const sql = 'SELECT name FROM customer WHERE id = ';
                const rows = async (name, text) =>
                    (await peer.call(name, { sql: text, parameters: ['1'] })).structuredContent.rows;
                assert.deepEqual(await rows('query_sqlite_shop', `${sql}?1`), [['Ada']]);
                assert.deepEqual(await rows('query_postgres_shop', `${sql}$1`), [['Ida']]);
                for (const name of ['query_sqlite_shop', 'query_postgres_shop'])
                    assert.equal((await peer.call(name, { sql: 'DELETE FROM customer' })).isError, true, name);
                const found = await peer.call('search_resources', { query: 'Grüße' });
                assert.deepEqual(found.structuredContent.files.map(f => f.uri), [sources.uri('readme.md')]);
            });

            it('says what may be kept, to whom that means something', async () => {
                const answer = async uri => {
                    await peer.read(uri);
                    return peer.wire.replies.at(-1).result;
                };
                const whole = await answer(`git://code/${sources.head}/list.txt`);
                const moving = await answer('git://code/main/list.txt');
                if (era === 'legacy') {
                    for (const result of [whole, moving]) assert.ok(!('ttlMs' in result) && !('cacheScope' in result));
                    return;
                }
                assert.deepEqual([whole.ttlMs, whole.cacheScope], [30 * DAY, 'public']);
                assert.deepEqual([moving.ttlMs, moving.cacheScope], [1000, 'private']);
                for (const uri of ['sqlite://shop/customer/row/1', 'postgres://shop/public/customer/row/1'])
                    assert.equal((await answer(uri)).cacheScope, 'private', uri);
            });

            it('tells of every change who wants to know, and of nothing else', async () => {
                const watch = await peer.watch({ uris: watched(sources), list: true });
                // mcpd starts listening to PostgreSQL shortly after it reports so.
                await provoke(n => sources.postgres(`COMMENT ON TABLE sale IS '${n}'`), () => peer.events.some(listChanged), 'the database');
                await settle(peer.events);
                for (const [what, change, uris, list = false] of changes(sources)) {
                    peer.events.length = 0;
                    change();
                    await until(() => uris.every(uri => updatedUris(peer.events).includes(uri)) && (!list || peer.events.some(listChanged)),
                        () => `${what}; seen: ${JSON.stringify(peer.events)}`, 15_000);
                    await quieten(peer.events, 300);
                    assert.deepEqual(updatedUris(peer.events), uris.toSorted(), what);
                    assert.equal(peer.events.some(listChanged), list, `${what}: the list`);
                }
                await watch.close();
                const uris = (await allResources(peer)).all.map(r => r.uri);
                assert.deepEqual(uris.sort(), [...sources.uris, ...added(sources)].sort());
            });
        });
    }

    for (const [name, open] of Object.entries(ways)) {
        describe(`mcpctl, ${name}`, { timeout: 120_000, concurrency: false }, () => {
            let sources, way, env;
            const ask = (...words) =>
                promisify(execFile)(mcpctl, [...words, ...way.to], { env }).then(r => r.stdout);
            before(async () => {
                sources = makeSources(postgres);
                env = { ...process.env, HOME: sources.root, XDG_CONFIG_HOME: '', XDG_STATE_HOME: '' };
                way = await open(sources);
            });
            after(async () => {
                await way?.stop();
                sources?.remove();
            });

            it('tree has all sources, and all that is in them', async () => {
                const { tree } = JSON.parse(await ask('tree', '--json'));
                assert.deepEqual(urisOf(tree).sort(), sources.uris.toSorted());
                const text = await ask('tree');
                for (const root of [sources.uri('').replace(/\/$/, ''), 'git://code', 'git://lib', 'sqlite://shop', 'postgres://shop'])
                    assert.match(text, new RegExp(`^${root}$`, 'm'));
            });

            it('find finds in each of them', async () => {
                for (const [word, uris] of [
                    ['readme', [sources.uri('readme.md')]],
                    ['list', ['git://code/HEAD/list.txt']],
                    ['gadget', ['git://lib/HEAD/gadget.h']],
                    ['invoice', [invoices, `${invoices}/rows`]],
                    ['sale', [sales, `${sales}/rows`]],
                    ['customer', ['sqlite', 'postgres'].flatMap(s => {
                        const uri = `${s}://shop/${s === 'postgres' ? 'public/' : ''}customer`;
                        return [uri, `${uri}/rows`];
                    })],
                ]) {
                    const { resources } = JSON.parse(await ask('find', '--json', word));
                    assert.deepEqual(resources.map(r => r.uri).sort(), uris.sort(), word);
                }
            });

            it('watch shows the changes to each of them', async () => {
                const { uri, write, code, push, sqlite, postgres: pg } = sources;
                const steps = {
                    [uri('readme.md')]: n => write('readme.md', `${n}\n`),
                    'git://code/main/list.txt': n => code.commit({ 'list.txt': `${n}\n` }, `${n}`),
                    'git://lib/HEAD/gadget.h': n => push({ 'gadget.h': `${n}\n` }, `${n}`),
                    [`${invoices}/rows`]: () => sqlite('INSERT INTO invoice(status) VALUES (NULL)'),
                    [`${sales}/row/1`]: n => pg(`UPDATE sale SET total = ${n}`),
                };
                const child = spawn(mcpctl, ['watch', '--json', ...Object.keys(steps), ...way.to], { env, stdio: ['ignore', 'pipe', 'pipe'] });
                const ended = new Promise(resolve => child.on('exit', resolve));
                let out = '', err = '';
                child.stdout.on('data', chunk => (out += chunk));
                child.stderr.on('data', chunk => (err += chunk));
                const told = () => out.split('\n').slice(0, -1).map(line => JSON.parse(line));
                try {
                    for (const [changed, change] of Object.entries(steps)) {
                        const from = told().length;
                        await provoke(change, () => told().slice(from).some(line => line.uri === changed), () => `${changed}; ${out}; ${err}`);
                        assert.ok(told().every(line => line.changed === 'updated' && line.time));
                    }
                } finally {
                    child.kill();
                }
                assert.equal(await ended, 128 + 15);
            });
        });
    }
});
