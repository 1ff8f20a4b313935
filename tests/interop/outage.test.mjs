// One mcpd that serves a folder, repositories and two databases under load, while PostgreSQL is
// stopped, killed, disconnected and restarted: the other sources are served throughout, every
// request gets an answer, and afterwards everything works again.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { clients, dial } from './support/peers.mjs';
import { startPostgres } from './support/postgres.mjs';
import { serve } from './support/server.mjs';
import { makeSources, samples } from './support/sources.mjs';
import { listChanged, provoke, settle, until, updatedFor, waitFor } from './support/wait.mjs';

const mcpd = process.env.MCPD;
const MANY = { good: 10, bad: 3 }; // answers that are waited for, of each reader
const LONG = 60_000; // milliseconds that are "for ever"
const away = /cannot be reached now|cannot be read now|It took too long/;
const sales = 'postgres://shop/public/sale/rows';

// Reads the URI repeatedly until stop() is called. `good` and `bad` count the answers; `wrong` has
// the unexpected ones.
function startReader(peer, { source, uri, check }) {
    const reader = { source, good: 0, bad: 0, wrong: [], slowest: 0 };
    let on = true;
    const read = async () => {
        const begin = Date.now();
        try {
            check((await peer.read(uri))[0].text);
            reader.good++;
        } catch (error) {
            reader.bad++;
            if (source !== 'PostgreSQL' || !away.test(error.message)) reader.wrong.push(error);
            // Without this pause it would send a thousand requests a second.
            await new Promise(resolve => setTimeout(resolve, 20));
        }
        reader.slowest = Math.max(reader.slowest, Date.now() - begin);
    };
    const ended = (async () => {
        while (on) await read();
    })();
    reader.stop = () => {
        on = false;
        return ended;
    };
    return reader;
}

describe('under load, while the database goes and comes', { timeout: 240_000 }, () => {
    let postgres, sources, server, other, watches, readers;
    const peers = [];

    before(async () => {
        postgres = startPostgres();
        sources = makeSources(postgres, '&timeout_ms=1000');
        server = await serve(mcpd, sources.arguments);
        for (const client of clients) peers.push(await dial(client, server.url));
        const uris = [sales, 'git://code/main/list.txt', 'sqlite://shop/invoice/rows', sources.uri(sources.deep)];
        watches = await Promise.all(peers.map(peer => peer.watch({ uris, list: true })));
        // More readers of the database than it has connections.
        const all = samples(sources);
        all.push(all.at(-1));
        readers = peers.flatMap(peer => all.map(sample => startReader(peer, sample)));
    });
    after(async () => {
        postgres?.thaw();
        await other?.stop();
        await Promise.all(readers?.map(reader => reader.stop()) ?? []);
        for (const peer of peers) await peer.close();
        await server?.stop();
        postgres?.remove();
        sources?.remove();
    });

    const those = { database: r => r.source === 'PostgreSQL', rest: r => r.source !== 'PostgreSQL' };

    // Waits until each of these readers has got more answers of this kind.
    async function more(which, kind) {
        const before = new Map(readers.filter(which).map(reader => [reader, reader[kind]]));
        const late = () => [...before].filter(([reader, count]) => reader[kind] < count + MANY[kind]);
        await until(() => late().length === 0,
            () => `${kind}: ${JSON.stringify(late().map(([reader]) => reader))}; ${server.stderr}`, LONG);
    }
    const eachHears = (match, what) => Promise.all(peers.map(peer => waitFor(peer.events, match, what, LONG)));
    const settled = () => Promise.all(peers.map(peer => settle(peer.events)));

    // The rest continues: reads, lists, and notifications.
    async function restIsServed(round) {
        await more(those.rest, 'good');
        for (const peer of peers) {
            const { resources } = await peer.page();
            for (const wanted of [sources.uri('readme.md'), 'git://code/', 'git://lib/', 'sqlite://shop/', 'postgres://shop/'])
                assert.ok(resources.some(r => r.uri === wanted), wanted);
        }
        await settled();
        sources.code.commit({ 'list.txt': `${round}\n` }, round);
        await eachHears(updatedFor('git://code/main/list.txt'), 'a commit');
        sources.sqlite('INSERT INTO invoice(status) VALUES (NULL)');
        await eachHears(updatedFor('sqlite://shop/invoice/rows'), 'a row in SQLite');
        sources.write(sources.deep, round);
        await eachHears(updatedFor(sources.uri(sources.deep)), 'a file');
    }

    // What the time limit of a busy machine ended is asked again, as the readers do.
    async function good(ask, so) {
        let seen;
        await until(async () => {
            seen = await ask().catch(error => error);
            if (seen instanceof Error && !away.test(seen.message)) throw seen;
            return !(seen instanceof Error) && so(seen);
        }, () => JSON.stringify(seen?.message ?? seen), LONG);
        return seen;
    }

    async function databaseIsServed() {
        await more(those.database, 'good');
        const updated = updatedFor(sales);
        for (const peer of peers) peer.events.length = 0;
        await provoke(n => sources.postgres(`UPDATE sale SET total = ${n}`),
            () => peers.every(peer => peer.events.some(updated)), 'a row in PostgreSQL');
        const result = await good(() => peers[0].call('query_postgres_shop', { sql: 'SELECT count(*) FROM customer' }),
            ({ isError }) => !isError);
        assert.deepEqual(result.structuredContent.rows, [[3]]);
        const { resources } = await good(() => peers[0].page(),
            page => page.resources.length === sources.uris.length);
        assert.deepEqual(resources.map(r => r.uri).sort(), sources.uris.toSorted());
    }

    // Subscribers are notified, because changes may have been missed.
    async function comesBack(how) {
        await settled();
        await how();
        await eachHears(updatedFor(sales), 'it is back');
        await eachHears(listChanged, 'it is back');
        await databaseIsServed();
    }

    it('all of it is served', async () => {
        await more(() => true, 'good');
        await databaseIsServed();
    });

    for (const [how, end] of Object.entries({ stopped: p => p.stop(), killed: p => p.kill() })) {
        it(`it is ${how}, and started`, async () => {
            await Promise.all([end(postgres), more(those.rest, 'good')]);
            await more(those.database, 'bad');
            await restIsServed(how);
            await comesBack(postgres.start);
        });
    }

    it('it is stopped and started again at once', async () => {
        await comesBack(async () => {
            await postgres.stop();
            await postgres.start();
        });
    });

    // Meanwhile another process starts, serves the rest and ends in every case.
    it('it answers nothing, and goes on', async () => {
        const rest = samples(sources), database = rest.pop();
        postgres.freeze();
        // It waits for the log-in before it serves.
        const hasty = sources.arguments.map(source => source.replace('connect_timeout=60', 'connect_timeout=2'));
        other = await serve(mcpd, hasty);
        const peer = await dial(clients.at(-1), other.url);
        const refused = assert.rejects(peer.read(database.uri), away); // it may be while the rest is read
        for (const { uri, check } of rest) check((await peer.read(uri))[0].text);
        await refused;
        const late = assert.rejects(peer.read(database.uri));
        await other.stop();
        await late;
        await peer.close();

        await more(those.database, 'bad');
        await restIsServed('frozen');
        postgres.thaw();
        await databaseIsServed();
    });

    it('nothing was lost, nothing was wrong, and nothing took for ever', async () => {
        await Promise.all(readers.map(reader => reader.stop()));
        for (const { source, wrong, slowest } of readers) {
            assert.deepEqual(wrong, [], source);
            assert.ok(slowest < LONG, source);
        }
        for (const watch of watches) await watch.close();
        for (const { wire } of peers) {
            const ids = wire.replies.map(reply => reply.id);
            assert.equal(new Set(ids).size, ids.length, 'a request is answered once');
        }
        assert.doesNotMatch(server.stderr, /Sanitizer|runtime error/);
    });
});
