// mcpd with tokens of Keycloak. See run.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { INTROSPECTOR } from './support/issuer.mjs';
import { challengeOf, logIn, makePair, prove, refresh, revoke } from './support/oauth.mjs';
import { clients, dial } from './support/peers.mjs';
import { protect } from './support/protected.mjs';
import { MemoryProvider } from './support/provider.mjs';
import { ask, textOf } from './support/raw.mjs';
import { freePort } from './support/server.mjs';
import { until } from './support/wait.mjs';

const home = process.env.KEYCLOAK;
const RESOURCE = 'http://127.0.0.1:8642/mcp';
const BOTH = 'mcp:read mcp:write';

// Runs Keycloak with the realm of realm.json and a new database.
async function startKeycloak() {
    rmSync(join(home, 'data'), { recursive: true, force: true });
    mkdirSync(join(home, 'data/import'), { recursive: true });
    writeFileSync(join(home, 'data/import/realm.json'),
        readFileSync('realm.json', 'utf8').replaceAll('@RESOURCE@', RESOURCE));
    const port = await freePort();
    const args = ['start-dev', '--import-realm', '--http-host=127.0.0.1', `--http-port=${port}`, '--features=dpop'];
    const child = spawn(join(home, 'bin/kc.sh'), args, { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', text => (output += text));
    const ended = once(child, 'exit');
    const issuer = `http://127.0.0.1:${port}/realms/mcp`;
    const stop = async () => {
        process.kill(-child.pid, 'SIGTERM');
        await ended;
    };
    const ready = async () => {
        assert.equal(child.exitCode, null, output);
        return fetch(issuer).then(response => response.ok, () => false);
    };
    try {
        await until(ready, () => `Keycloak: ${output}`, 300_000);
    } catch (error) {
        await stop();
        throw error;
    }
    return { issuer, stop };
}

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
