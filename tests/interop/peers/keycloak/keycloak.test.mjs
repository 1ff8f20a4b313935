// mcpd with tokens of Keycloak. See run.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { INTROSPECTOR } from './support/issuer.mjs';
import { RESOURCE, startKeycloak } from './support/keycloak.mjs';
import { challengeOf, logIn, makePair, prove, refresh, revoke } from './support/oauth.mjs';
import { clients, dial } from './support/peers.mjs';
import { protect } from './support/protected.mjs';
import { MemoryProvider } from './support/provider.mjs';
import { ask, textOf } from './support/raw.mjs';

const BOTH = 'mcp:read mcp:write';

describe('Keycloak', { timeout: 600_000 }, () => {
    let keycloak, server;
    const others = [];
    const start = async oauth => {
        const other = await protect(keycloak, { audiences: [RESOURCE], ...oauth });
        others.push(other);
        return other;
    };
    const get = (more = {}) =>
        logIn(keycloak.issuer, { scope: BOTH, user: 'alice', password: more.user ?? 'alice', ...more });
    const read = (token, name = 'open.txt') =>
        ask(server.url, 'resources/read', { uri: server.uri(name) }, { Authorization: `Bearer ${token}` });
    const refused = (response, error) => assert.equal(challengeOf(response)?.params.error, error, response.text);

    before(async () => {
        keycloak = await startKeycloak();
        server = await start();
    });
    after(async () => {
        for (const other of others) await other.stop();
        await keycloak?.stop();
    });

    it('gives tokens that are accepted', async () => {
        const { access_token: token, refresh_token: next } = await get();
        assert.equal(decodeProtectedHeader(token).typ, 'at+jwt');
        const claims = decodeJwt(token);
        assert.ok([claims.aud].flat().includes(RESOURCE), `${claims.aud}`);
        assert.deepEqual(claims.groups.toSorted(), ['admins', 'staff']);
        assert.equal(textOf(await read(token)), 'open.txt\n');
        assert.equal(textOf(await read(token, 'deep.txt')), 'deep.txt\n');
        const renewed = (await refresh(keycloak.issuer, next)).access_token;
        assert.equal(textOf(await read(renewed)), 'open.txt\n');
    });

    it('gives tokens that are refused: without a scope, for others, of another type', async () => {
        const { access_token: poor } = await get({ user: 'bob', scope: 'mcp:read' });
        const response = await read(poor, 'deep.txt');
        assert.equal(response.status, 403);
        refused(response, 'insufficient_scope');
        refused(await read((await get({ scope: 'mcp:write' })).access_token), 'invalid_token'); // has no audience
        const plain = await get({ client: 'plain', scope: `openid ${BOTH}` });
        assert.equal(decodeProtectedHeader(plain.access_token).typ, 'JWT');
        refused(await read(plain.access_token), 'invalid_token');
        refused(await read(plain.id_token), 'invalid_token');
    });

    it('gives tokens of the type JWT that are accepted where they are told from ID tokens', async () => {
        const other = await start({ type: { type: 'JWT', claim: 'typ', value: 'Bearer' } });
        const plain = await get({ client: 'plain', scope: `openid ${BOTH}` });
        const uri = other.uri('open.txt');
        const answer = token => ask(other.url, 'resources/read', { uri }, { Authorization: `Bearer ${token}` });
        assert.equal(textOf(await answer(plain.access_token)), 'open.txt\n');
        refused(await answer(plain.id_token), 'invalid_token');
    });

    it('binds tokens to keys', async () => {
        const pair = await makePair();
        const { access_token: token } = await get({ client: 'bound', pair });
        const discover = headers => ask(server.url, 'server/discover', {}, headers);
        const proof = await prove(pair, { htm: 'POST', htu: server.url, token });
        assert.equal((await discover({ Authorization: `DPoP ${token}`, DPoP: proof })).status, 200);
        assert.equal((await discover({ Authorization: `DPoP ${token}`, DPoP: proof })).status, 401);
        assert.equal((await discover({ Authorization: `Bearer ${token}` })).status, 401);
    });

    it('is asked about tokens', async () => {
        const other = await start({
            introspection: { url: `${keycloak.issuer}/protocol/openid-connect/token/introspect`, ...INTROSPECTOR },
        });
        const uri = other.uri('open.txt');
        const answer = token => ask(other.url, 'resources/read', { uri }, { Authorization: `Bearer ${token}` });
        assert.equal(textOf(await answer((await get()).access_token)), 'open.txt\n');
        const { access_token: token } = await get();
        await revoke(keycloak.issuer, token);
        refused(await answer(token), 'invalid_token');
    });

    for (const client of clients) {
        it(`logs ${client.name} in`, async () => {
            const provider = new MemoryProvider('alice', { password: 'alice', client: 'interop', issuer: keycloak.issuer });
            await assert.rejects(dial(client, server.url, {}, undefined, provider));
            const transport = new client.Http(new URL(server.url), { authProvider: provider });
            await transport.finishAuth(provider.back.get('code'), provider.back.get('iss'));
            const peer = await dial(client, server.url, {}, undefined, provider);
            assert.equal((await peer.read(server.uri('open.txt')))[0].text, 'open.txt\n');
            await peer.close();
        });
    }
});
