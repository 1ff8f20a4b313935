// The life of access tokens at mcpd: opaque tokens about which the issuer is asked, revocation, keys that
// change, streams whose tokens expire.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { INTROSPECTOR, startIssuer } from './support/issuer.mjs';
import { challengeOf, logIn, makePair, prove, revoke } from './support/oauth.mjs';
import { protect } from './support/protected.mjs';
import { ask, listen, textOf } from './support/raw.mjs';
import { sleep, until } from './support/wait.mjs';

const READ = 'mcp:read';
const bearer = token => ({ Authorization: `Bearer ${token}` });
const readWith = (server, token, name = 'open.txt') =>
    ask(server.url, 'resources/read', { uri: server.uri(name) }, bearer(token));
const invalid = (response, what) => {
    assert.equal(response.status, 401, `${what}: ${response.text}`);
    assert.equal(challengeOf(response).params.error, 'invalid_token', what);
};

describe('opaque tokens', { timeout: 60_000 }, () => {
    let issuer, server, get;
    const questions = () => issuer.requests.filter(r => r === 'POST /token/introspection').length;
    before(async () => {
        issuer = await startIssuer({ format: 'opaque' });
        server = await protect(issuer, {
            introspection: { url: `${issuer.issuer}/token/introspection`, ...INTROSPECTOR },
        });
        get = more => logIn(issuer.issuer, { resource: server.url, scope: READ, ...more });
    });
    after(async () => {
        await server?.stop();
        await issuer?.close();
    });

    it('are accepted after the issuer was asked', async () => {
        const { access_token: token } = await get();
        assert.doesNotMatch(token, /\./);
        const all = await Promise.all(Array.from({ length: 8 }, () => readWith(server, token)));
        for (const response of all) assert.equal(textOf(response), 'open.txt\n');
        assert.equal(questions(), 1, 'once for all');
    });

    it('are refused if the issuer does not know them, or they are for others', async () => {
        const { refresh_token: other } = await get();
        const elsewhere = await get({ resource: 'https://other.example/mcp' });
        invalid(await readWith(server, 'x'.repeat(43)), 'unknown');
        invalid(await readWith(server, other), 'a refresh token');
        invalid(await readWith(server, elsewhere.access_token), 'another audience');
        issuer.settings.lifetime = 1;
        const brief = await get();
        issuer.settings.lifetime = 300;
        await sleep(1500);
        invalid(await readWith(server, brief.access_token), 'expired');
    });

    it('lack scopes like others', async () => {
        const { access_token: token } = await get({ scope: 'mcp:write' });
        const response = await readWith(server, token);
        assert.equal(response.status, 403);
        assert.equal(challengeOf(response).params.error, 'insufficient_scope');
    });

    it('are refused after they were revoked', async () => {
        const { access_token: token } = await get();
        await revoke(issuer.issuer, token);
        invalid(await readWith(server, token), 'revoked');
    });

    it('can be bound to a key', async () => {
        const pair = await makePair();
        const { access_token: token } = await get({ pair });
        const proof = { DPoP: await prove(pair, { htm: 'POST', htu: server.url, token }) };
        const discover = headers => ask(server.url, 'server/discover', {}, headers);
        assert.equal((await discover({ Authorization: `DPoP ${token}`, ...proof })).status, 200);
        assert.equal((await discover(bearer(token))).status, 401);
    });

    it('get 503 while the issuer is away', async () => {
        issuer.settings.answer = (_, response) => response.writeHead(500).end('<p>Sorry');
        const response = await readWith(server, 'y'.repeat(43));
        issuer.settings.answer = () => false;
        assert.equal(response.status, 503);
        assert.ok(Number(response.headers.get('retry-after')) > 0);
        await until(async () => (await readWith(server, (await get()).access_token)).status === 200, 'the issuer', 30_000);
    });
});

describe('keys', { timeout: 60_000 }, () => {
    let issuer, server;
    before(async () => {
        issuer = await startIssuer();
        server = await protect(issuer);
    });
    after(async () => {
        await server?.stop();
        await issuer?.close();
    });

    it('may change while clients read: no good token is refused', async () => {
        const fetches = () => issuer.requests.filter(r => r === 'GET /jwks').length;
        let token = await issuer.mint({ aud: server.url, scope: READ });
        let done = false, reads = 0;
        const reader = async () => {
            for (; !done; reads++) assert.equal(textOf(await readWith(server, token)), 'open.txt\n');
        };
        const readers = Promise.all(Array.from({ length: 8 }, reader));
        const more = from => Promise.race([readers, until(() => reads > from + 20, 'reads', 30_000)]);
        await more(0);
        assert.equal(fetches(), 1, 'one for all');
        for (const alg of ['ES256', 'RS256']) {
            issuer.settings.alg = alg;
            await issuer.rotate({ keep: true });
            token = await issuer.mint({ aud: server.url, scope: READ });
            await more(reads);
        }
        done = true;
        await readers;
        assert.equal(fetches(), 3);
    });
});

describe('streams', { timeout: 180_000 }, () => {
    const COUNT = Number(process.env.MCP_STREAMS ?? 1000);
    const SKEW = 60; // seconds that a token counts for longer
    let issuer, server;
    before(async () => {
        issuer = await startIssuer();
        server = await protect(issuer);
    });
    after(async () => {
        await server?.stop();
        await issuer?.close();
    });

    // A client that listens, and reads after the acknowledgement and after each notification. When its stream has
    // ended it comes back with a new token. `ends` has the last message of each stream that ended.
    async function follow(state, first) {
        const uri = server.uri('live.txt');
        const claims = { aud: server.url, scope: READ, sub: state.user };
        const lasting = await issuer.mint(claims);
        for (let exp = first; !state.done; exp = undefined) {
            const token = exp ? await issuer.mint({ ...claims, exp }) : lasting;
            state.stream = await listen(server.url, uri, bearer(token));
            if (state.stream.status === 401 && exp) continue; // a slow machine: it has expired already
            assert.equal(state.stream.status, 200);
            let last;
            for await (last of state.stream.messages) {
                if (last.method) state.text = textOf(await readWith(server, lasting, 'live.txt'));
                state.opened = true;
                state.returned ||= !exp;
            }
            if (!state.done) state.ends.push(last);
        }
    }

    it(`come back when ${COUNT} tokens expire in one second, and none stays stale`, async () => {
        const path = server.path('live.txt');
        const make = user => ({ user, opened: false, returned: false, ends: [] });
        const expiry = Math.ceil(Date.now() / 1000) + 5 + COUNT / 100;
        const states = Array.from({ length: COUNT }, (_, i) => make(`user-${i % 50}`));
        const other = make('lasting');
        const all = [other, ...states];
        const failed = Promise.all([follow(other), ...states.map(state => follow(state, expiry - SKEW))]);
        const everybody = (so, what, whom = all) => Promise.race([failed, until(() => whom.every(so),
            () => `${what}: ${whom.filter(state => !so(state)).length} are missing`, 120_000)]);

        await everybody(state => state.opened, 'streams');
        for (let n = 0; Date.now() / 1000 < expiry + 1; n++) {
            writeFileSync(path, `change ${n}\n`);
            await sleep(500);
        }
        await everybody(state => state.returned, 'streams that come back', states);
        writeFileSync(path, 'the last change\n');
        await everybody(state => state.text === 'the last change\n', 'the last change');
        for (const { ends } of states) {
            assert.ok(ends.length <= 1);
            assert.ok(ends.every(message => message?.result), 'a stream ends with a result');
        }
        assert.deepEqual(other.ends, [], 'a stream with another token stays');
        for (const state of all) {
            state.done = true;
            state.stream.close();
        }
        await failed;
    });
});
