// mcpd as a resource server of OAuth: challenges, metadata, tokens, scopes; the code flow step by step, and as the
// official clients do it. The authorization server is oidc-provider.
//
// The checks of a server from drafts of the conformance suite are here too: token audiences
// (modelcontextprotocol/conformance, branch claude/issue-78-token-audience-validation), answers without a token and
// metadata (pull request 64), registration and step-up (branches server-auth-conformance, server-auth-step-up).

import assert from 'node:assert/strict';
import { createPublicKey, createSecretKey } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { CLIENT, startIssuer } from './support/issuer.mjs';
import { challengeOf, encode, getJson, logIn, refresh, register, serverMetadata, unsigned } from './support/oauth.mjs';
import { clients, dial } from './support/peers.mjs';
import { protect } from './support/protected.mjs';
import { MemoryProvider } from './support/provider.mjs';
import { ask, initialize, send, textOf } from './support/raw.mjs';

const READ = 'mcp:read';
const BOTH = 'mcp:read mcp:write';
const bearer = token => ({ Authorization: `Bearer ${token}` });
const scopesOf = text => new Set(text?.split(' '));

// Where the metadata of a resource is (RFC 9728, section 3.1): for its path, and for all of the host.
function metadataUrls(resource) {
    const { origin, pathname } = new URL(resource);
    const place = '/.well-known/oauth-protected-resource';
    return [`${origin}${place}${pathname}`, `${origin}${place}`];
}

describe('a resource server', { timeout: 120_000 }, () => {
    let issuer, server, read;
    before(async () => {
        issuer = await startIssuer();
        server = await protect(issuer);
        read = (token, name = 'open.txt') => ask(server.url, 'resources/read', { uri: server.uri(name) }, bearer(token));
    });
    after(async () => {
        await server?.stop();
        await issuer?.close();
    });

    it('answers requests without a token with 401 and where to get one', async () => {
        const inQuery = await issuer.mint({ aud: server.url, scope: READ });
        const requests = {
            'server/discover': () => ask(server.url, 'server/discover'),
            'resources/list': () => ask(server.url, 'resources/list'),
            '2025-03-26': () => initialize(server.url, '2025-03-26'),
            '2025-11-25': () => initialize(server.url, '2025-11-25'),
            GET: () => send(server.url, { method: 'GET', headers: { Accept: 'text/event-stream' } }),
            DELETE: () => send(server.url, { method: 'DELETE', headers: { 'Mcp-Session-Id': 'nobody' } }),
            'other scheme': () => ask(server.url, 'server/discover', {}, { Authorization: 'Basic YTpi' }),
            'token in the query': () => ask(`${server.url}?access_token=${inQuery}`, 'server/discover'),
        };
        for (const [what, request] of Object.entries(requests)) {
            const response = await request();
            assert.equal(response.status, 401, what);
            assert.equal(typeof response.json(), 'object', what);
            const { params } = challengeOf(response);
            assert.equal(params.resource_metadata, metadataUrls(server.url)[0], what);
            assert.deepEqual(scopesOf(params.scope), new Set([READ]), what);
            assert.equal(params.error, undefined, `${what}: RFC 6750, section 3.1`);
        }
    });

    it('describes itself at the path and at the root, from its configuration', async () => {
        for (const url of metadataUrls(server.url)) {
            for (const headers of [{}, { Host: `localhost:${new URL(url).port}`, 'X-Forwarded-Host': 'evil.example' }]) {
                const response = await send(url, { method: 'GET', headers: { ...headers, Origin: 'http://localhost:1' } });
                assert.equal(response.status, 200, url);
                assert.match(response.headers.get('content-type'), /^application\/json\b/);
                assert.equal(response.headers.get('access-control-allow-origin'), '*');
                const metadata = response.json();
                assert.equal(metadata.resource, server.url);
                assert.deepEqual(metadata.authorization_servers, [issuer.issuer]);
                assert.deepEqual(new Set(metadata.scopes_supported), new Set([READ, 'mcp:write']));
                assert.deepEqual(metadata.bearer_methods_supported, ['header']);
            }
        }
    });

    it('serves a client that follows the challenge, step by step', async () => {
        const refused = await ask(server.url, 'server/discover');
        const { resource_metadata: url, scope } = challengeOf(refused).params;
        const metadata = await getJson(url);
        assert.equal(metadata.resource, server.url);
        const [at] = metadata.authorization_servers;
        const redirect = 'http://127.0.0.1:4711/callback';
        const client = await register(at, redirect);
        const { access_token: token, refresh_token: next } =
            await logIn(at, { resource: metadata.resource, scope, client, redirect });
        assert.equal((await ask(server.url, 'server/discover', {}, bearer(token))).status, 200);
        assert.equal(textOf(await read(token)), 'open.txt\n');
        assert.equal((await initialize(server.url, '2025-11-25', bearer(token))).status, 200);
        const renewed = await refresh(at, next, { client, resource: metadata.resource });
        assert.notEqual(renewed.access_token, token);
        assert.equal(textOf(await read(renewed.access_token)), 'open.txt\n');
    });

    it('accepts tokens of each algorithm and form that the issuer may use', async () => {
        const more = {
            'several audiences': [{ aud: ['https://other.example/', server.url] }],
            'application/at+jwt': [{}, { typ: 'application/at+jwt' }],
            'type in capitals': [{}, { typ: 'AT+JWT' }],
            'a fraction of a second': [{ exp: Date.now() / 1000 + 60.5 }],
            'clocks that differ by half a minute': [{ exp: Math.floor(Date.now() / 1000) - 30 }],
            'scp as in Entra ID': [{ scope: undefined, scp: READ }],
            'scp as a list': [{ scope: undefined, scp: [READ] }],
        };
        for (const alg of ['ES256', 'RS256']) {
            issuer.settings.alg = alg;
            const { access_token: token } = await logIn(issuer.issuer, { resource: server.url, scope: READ });
            assert.equal(textOf(await read(token)), 'open.txt\n', alg);
            for (const [what, [claims, header]] of Object.entries(more)) {
                const made = await issuer.mint({ aud: server.url, scope: READ, ...claims }, header);
                assert.equal((await read(made)).status, 200, `${alg}: ${what}`);
            }
        }
        const token = await issuer.mint({ aud: server.url, scope: READ });
        assert.equal((await ask(server.url, 'server/discover', {}, { Authorization: `bEaReR ${token}` })).status, 200);
    });

    it('refuses tokens that are wrong in any way with 401 and invalid_token', async () => {
        for (const alg of ['ES256', 'RS256']) {
            issuer.settings.alg = alg;
            for (const [what, token] of Object.entries(await wrongTokens(issuer, server.url))) {
                const response = await read(token);
                assert.equal(response.status, 401, `${alg}: ${what}: ${response.text}`);
                const { params } = challengeOf(response);
                assert.equal(params.error, 'invalid_token', `${alg}: ${what}`);
                assert.equal(params.resource_metadata, metadataUrls(server.url)[0]);
            }
            assert.equal(textOf(await read(await issuer.mint({ aud: server.url, scope: READ }))), 'open.txt\n');
        }
    });

    it('does not guess which of two tokens counts', async () => {
        const token = await issuer.mint({ aud: server.url, scope: READ });
        const twice = await ask(server.url, 'server/discover', {}, { Authorization: [`Bearer ${token}`, `Bearer ${token}`] });
        assert.equal(twice.status, 400);
        for (const text of ['Bearer', 'Bearer ', `Bearer ${token} ${token}`, `Bearer ${token},`, token]) {
            const response = await ask(server.url, 'server/discover', {}, { Authorization: text });
            assert.ok([400, 401].includes(response.status), `${text}: ${response.status}`);
            assert.ok(challengeOf(response));
        }
    });

    it('names the scopes that are missing with 403', async () => {
        const poor = await issuer.mint({ aud: server.url, scope: 'mcp:write' });
        const refused = await read(poor);
        assert.equal(refused.status, 403);
        assert.equal(challengeOf(refused).params.error, 'insufficient_scope');
        assert.ok(scopesOf(challengeOf(refused).params.scope).has(READ));

        const token = await issuer.mint({ aud: server.url, scope: READ });
        assert.equal(textOf(await read(token)), 'open.txt\n');
        const deep = await read(token, 'deep.txt');
        assert.equal(deep.status, 403);
        const { params } = challengeOf(deep);
        assert.equal(params.error, 'insufficient_scope');
        assert.deepEqual(scopesOf(params.scope), new Set(BOTH.split(' ')), 'all scopes of the operation');
        assert.equal(params.resource_metadata, metadataUrls(server.url)[0]);
        assert.equal(textOf(await read(await issuer.mint({ aud: server.url, scope: BOTH }), 'deep.txt')), 'deep.txt\n');
    });

    for (const client of clients) {
        it(`${client.name}: logs in, steps up, renews`, async () => {
            const provider = new MemoryProvider('bob');
            await assert.rejects(dial(client, server.url, {}, undefined, provider), error =>
                error.name === 'UnauthorizedError' || /unauthorized/i.test(error.message));
            assert.equal(provider.logins.length, 1);
            const first = provider.logins[0].searchParams;
            assert.equal(first.get('resource'), server.url);
            assert.equal(first.get('code_challenge_method'), 'S256');
            assert.ok(scopesOf(first.get('scope')).has(READ));
            await finish(client, server.url, provider);

            const peer = await dial(client, server.url, {}, undefined, provider);
            assert.equal((await peer.read(server.uri('open.txt')))[0].text, 'open.txt\n');

            // 1.x would ask for the same scopes again with its refresh token.
            if (client.Http === clients[0].Http) provider.saveTokens({ ...provider.tokens(), refresh_token: undefined });
            await assert.rejects(peer.read(server.uri('deep.txt')));
            assert.equal(provider.logins.length, 2);
            assert.ok(scopesOf(provider.logins[1].searchParams.get('scope')).has('mcp:write'));
            await finish(client, server.url, provider, peer.transport);
            assert.equal((await peer.read(server.uri('deep.txt')))[0].text, 'deep.txt\n');
            assert.equal((await peer.read(server.uri('open.txt')))[0].text, 'open.txt\n');

            const old = provider.tokens();
            provider.saveTokens({ ...old, access_token: await issuer.mint({ aud: server.url, scope: BOTH, exp: 1 }) });
            assert.equal((await peer.read(server.uri('deep.txt')))[0].text, 'deep.txt\n');
            assert.equal(provider.logins.length, 2, 'renewed without the user');
            assert.notEqual(provider.tokens().access_token, old.access_token);
            await peer.close();
        });
    }
});

// Brings the code back to the transport that asked for it.
function finish({ Http }, url, provider, transport = new Http(new URL(url), { authProvider: provider })) {
    return transport.finishAuth(provider.back.get('code'), provider.back.get('iss')); // 1.x ignores the second
}

async function wrongTokens(issuer, aud) {
    const now = Math.floor(Date.now() / 1000);
    const good = { aud, scope: READ };
    const mint = (claims, header) => issuer.mint({ ...good, ...claims }, header);
    const token = await mint();
    const [header, payload, signature] = token.split('.');
    const { alg, kid } = issuer.keys().find(k => k.alg === issuer.settings.alg);
    const { privateKey } = await generateKeyPair(alg, { extractable: true });
    const stranger = { ...await exportJWK(privateKey), alg };
    const published = (await getJson((await serverMetadata(issuer.issuer)).jwks_uri)).keys.find(k => k.kid === kid);
    const pem = createPublicKey({ key: published, format: 'jwk' }).export({ type: 'spki', format: 'pem' });
    const claims = { iss: issuer.issuer, sub: 'alice', client_id: CLIENT, iat: now, exp: now + 300, ...good };
    const login = await logIn(issuer.issuer, { resource: aud, scope: `openid ${READ}` });
    const changed = encode({ ...claims, scope: BOTH });
    return {
        'another audience': await mint({ aud: 'https://another-resource.example.com/mcp' }),
        'an audience that begins like ours': await mint({ aud: `${aud}/more` }),
        'no audience': await mint({ aud: undefined }),
        'an empty audience': await mint({ aud: [] }),
        'expired ten minutes ago': await mint({ exp: now - 600 }),
        'no expiry': await mint({ exp: undefined }),
        'an expiry that is a text': await mint({ exp: `${now + 300}` }),
        'not valid yet': await mint({ nbf: now + 600 }),
        'another issuer': await mint({ iss: 'https://issuer.example' }),
        'an issuer with a slash more': await mint({ iss: `${issuer.issuer}/` }),
        'no issuer': await mint({ iss: undefined }),
        'no subject': await mint({ sub: undefined }),
        'the type of other tokens': await mint({}, { typ: 'JWT' }),
        'the type of proofs': await mint({}, { typ: 'dpop+jwt' }),
        'no type': await mint({}, { typ: undefined }),
        'a key that nobody published': await mint({}, { key: { ...stranger, kid: 'unknown' } }),
        'a key that nobody published, under a known name': await mint({}, { key: { ...stranger, kid } }),
        'a key of its own': await mint({}, { key: { ...stranger, kid: undefined }, jwk: published }),
        'a critical parameter': `${encode({ alg, kid, typ: 'at+jwt', crit: ['exp'], exp: 1 })}.${payload}.${signature}`,
        'no signature': unsigned({ alg: 'none', typ: 'at+jwt' }, claims),
        'its signature cut off': `${header}.${payload}.`,
        'a changed signature': `${header}.${payload}.${signature[0] === 'A' ? 'B' : 'A'}${signature.slice(1)}`,
        'changed claims': `${header}.${changed}.${signature}`,
        'the public key as a secret': await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid, typ: 'at+jwt' })
            .sign(createSecretKey(pem, 'utf8')),
        'an ID token': login.id_token,
        'a refresh token': login.refresh_token,
        'no token': 'letmein',
        'nine KiB': await mint({ padding: 'x'.repeat(6800) }),
    };
}
