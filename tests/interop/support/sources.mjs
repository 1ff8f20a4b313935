// A folder, two git repositories, a SQLite file and a PostgreSQL database, which one mcpd serves at once, and how each
// of them changes. The two databases have one name, so that only the scheme tells them apart.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { makeBare, makeRepository } from './git.mjs';

const SQLITE = `
    CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT, photo BLOB);
    CREATE TABLE invoice(id INTEGER PRIMARY KEY, status TEXT);
    INSERT INTO customer VALUES (1, 'Ada', x'00ff80'), (2, 'Grace', NULL), (20, 'Barbara', NULL);
    INSERT INTO invoice VALUES (1, 'open'), (2, 'paid')`;

// As docs/postgres.md has the trigger.
const POSTGRES = `
    CREATE TABLE customer(id integer PRIMARY KEY, name text, photo bytea);
    CREATE TABLE sale(id integer PRIMARY KEY, status text, total numeric);
    INSERT INTO customer VALUES (1, 'Ida', '\\x00ff80'), (2, 'Gerda', NULL), (20, 'Berta', NULL);
    INSERT INTO sale VALUES (1, 'open', 9.5), (2, 'paid', 20);
    CREATE FUNCTION total(wanted text) RETURNS numeric LANGUAGE sql STABLE
        AS $$ SELECT sum(total) FROM sale WHERE status = wanted $$;
    CREATE FUNCTION mcp_notify() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        PERFORM pg_notify('mcp_changes', json_build_object('schema', TG_TABLE_SCHEMA, 'table', TG_TABLE_NAME)::text);
        RETURN NULL;
    END $$;
    CREATE TRIGGER mcp_notify AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON sale
        FOR EACH STATEMENT EXECUTE FUNCTION mcp_notify();
    ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO reader;
    GRANT SELECT ON customer, sale TO reader`;

export const README = '# Everything\n\nGrüße.\n';
const DEEP = 'sub folder/tief é #1.txt';

const databases = new WeakMap(); // how many each server has

function makeDatabase(postgres) {
    const number = databases.get(postgres) ?? 0;
    databases.set(postgres, number + 1);
    if (!number) postgres.sql('postgres', 'CREATE ROLE reader LOGIN');
    const name = `shop_${number}`;
    postgres.sql('postgres', `CREATE DATABASE ${name}`);
    postgres.sql(name, POSTGRES);
    return name;
}

export function makeSources(postgres, options = '') {
    const root = realpathSync(mkdtempSync(join(tmpdir(), 'mcp-everything-')));
    const docs = join(root, 'docs'), file = join(root, 'shop.db');
    mkdirSync(join(docs, 'sub folder'), { recursive: true });
    writeFileSync(join(docs, 'readme.md'), README);
    writeFileSync(join(docs, DEEP), 'deep\n');
    const code = makeRepository(join(root, 'code'), { 'list.txt': 'one\ntwo\n', 'src/x y.c': 'int x;\n' });
    code.git('tag', 'v1');
    code.git('branch', 'feature/new');
    const head = code.commit({ 'list.txt': 'one\n2\nthree\n' }, 'second');
    const lib = makeRepository(join(root, 'lib'), { 'gadget.h': 'int gadget(void);\n' });
    makeBare(lib, join(root, 'lib.git'));
    execFileSync('sqlite3', [file, SQLITE]);
    const database = makeDatabase(postgres);
    const uri = path => pathToFileURL(join(docs, path)).href;
    const sql = text => execFileSync('sqlite3', ['-cmd', '.timeout 10000', file, text]);
    const push = (...args) => {
        const id = lib.commit(...args);
        lib.git('push', '-q', 'origin', 'main');
        return id;
    };
    return {
        root, code, lib, head, uri, deep: DEEP,
        path: name => join(docs, name),
        arguments: [docs, `git:${code.folder}`, `git:${join(root, 'lib.git')}`, `sqlite:${file}`,
            postgres.source(database, `name=shop&poll_ms=200${options}`)],
        // All that the list has.
        uris: [
            docs, join(docs, 'readme.md'), join(docs, 'sub folder'), join(docs, DEEP)].map(path => pathToFileURL(path).href).concat([
            'git://code/', ...['branches', 'log/HEAD', 'status', 'tags'].map(entry => `git://code/-/${entry}`),
            'git://code/HEAD/list.txt', 'git://code/HEAD/src', 'git://code/HEAD/src/x%20y.c',
            'git://lib/', ...['branches', 'log/HEAD', 'tags'].map(entry => `git://lib/-/${entry}`),
            'git://lib/HEAD/gadget.h',
            'sqlite://shop/', ...['customer', 'invoice'].flatMap(t => [`sqlite://shop/${t}`, `sqlite://shop/${t}/rows`]),
            'postgres://shop/', 'postgres://shop/public',
            ...['customer', 'sale'].flatMap(t => [`postgres://shop/public/${t}`, `postgres://shop/public/${t}/rows`]),
            'postgres://shop/public/$function/mcp_notify%28%29', 'postgres://shop/public/$function/total%28wanted%20text%29',
        ]),
        write: (path, text) => writeFileSync(join(docs, path), text),
        push, sqlite: sql,
        postgres: text => postgres.sql(database, text),
        remove: () => rmSync(root, { recursive: true, force: true }),
    };
}

// What is the same whichever client asks: a URI of each source and what has to be read there.
export const samples = sources => [
    { source: 'folder', uri: sources.uri('readme.md'), check: text => assert.equal(text, README) },
    { source: 'repository', uri: 'git://code/v1/list.txt', check: text => assert.equal(text, 'one\ntwo\n') },
    { source: 'bare repository', uri: 'git://lib/-/log/main', check: text => assert.match(text, /"first"/) },
    {
        source: 'SQLite', uri: 'sqlite://shop/customer/row/1',
        check: text => assert.equal(JSON.parse(text).name, 'Ada'),
    },
    {
        source: 'PostgreSQL', uri: 'postgres://shop/public/customer/row/1',
        check: text => assert.equal(JSON.parse(text).name, 'Ida'),
    },
];
