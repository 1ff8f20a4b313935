// A client of the library that logs in at oidc-provider, and reads from mcpd with the token: the code flow with a browser,
// with each way to have a client id, the device flow, renewal, step-up, and proofs of possession.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CLIENT, startIssuer } from './support/issuer.mjs';
import { CALLBACK, startClient } from './support/oauth-client.mjs';
import { browse, getJson, serverMetadata } from './support/oauth.mjs';
import { protect } from './support/protected.mjs';

const DOCUMENT = 'https://client.example/metadata.json';

// A user who agrees to everything.
const agree = async ({ url, redirect_uri: redirect }) => `back ${(await browse(url, { redirect })).href}`;

// The same at another device.
const confirm = async ({ complete_url: url }) => {
    await browse(url, { redirect: null });
    return 'nothing';
};

const ok = outcomes => assert.deepEqual(outcomes.filter(({ rc }) => rc !== 0), []);

describe('a client that logs in at oidc-provider', { timeout: 120_000 }, () => {
    let issuer, server, open, deep;
    before(async () => {
        issuer = await startIssuer();
        server = await protect(issuer);
        open = `read ${server.uri('open.txt')}`;
        deep = `read ${server.uri('deep.txt')}`;
    });
    after(async () => {
        await server?.stop();
        await issuer?.close();
    });
    // Makes all tokens invalid that were given so far.
    const forget = async () => {
        await issuer.rotate();
        await server.restart();
    };
    const requested = path => issuer.requests.filter(request => request === path).length;
    const using = async (options, browser, play) => {
        issuer.requests.length = 0;
        const client = await startClient({ server: server.url, ...options }, browser);
        try {
            await play(client);
        } finally {
            await client.stop();
        }
        assert.equal(client.stderr, '');
    };

    it('registers, reads, steps up and logs out', () => using({}, agree, async client => {
        ok(await client.run(open));
        assert.equal(requested('POST /reg'), 1);
        assert.equal(client.visits.length, 1);
        ok(await client.run(deep));
        assert.equal(client.visits.length, 2);
        ok(await client.run(open, deep, open));
        assert.equal(client.visits.length, 2);
        ok(await client.run('logout'));
        assert.ok(requested('POST /token/revocation') >= 1);
    }));

    it('renews its token with a new refresh token each time', () => using({}, agree, async client => {
        ok(await client.run(open));
        for (let i = 0; i < 3; i++) {
            await forget();
            ok(await client.run(open));
        }
        assert.equal(client.visits.length, 1);
        assert.equal(requested('POST /token'), 4);
    }));

    it('has a client id from a metadata document', () => {
        issuer.settings.documents[DOCUMENT] = {
            client_id: DOCUMENT, client_name: 'A test', redirect_uris: [CALLBACK], application_type: 'native',
            grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'], token_endpoint_auth_method: 'none',
        };
        return using({ client_metadata_url: DOCUMENT }, agree, async client => {
            ok(await client.run(open, 'state'));
            assert.equal(client.state.client_id, DOCUMENT);
            assert.equal(requested('POST /reg'), 0);
        });
    });

    it('has a client id from its configuration', () => using(
        { client_id: CLIENT, issuer: issuer.issuer, redirect_uri: 'http://127.0.0.1:41416/callback' }, agree, async client => {
            ok(await client.run(open, 'state'));
            assert.equal(client.state.client_id, CLIENT);
            assert.equal(requested('POST /reg'), 0);
        }));

    it('logs in by another device', () => using({ grant: 'device' }, confirm, async client => {
        ok(await client.run(open, 'state'));
        assert.match(client.visits[0].user_code, /^[A-Z]{4}-[A-Z]{4}$/);
        assert.ok((await serverMetadata(issuer.issuer)).device_authorization_endpoint);
    }));

    it('binds its tokens to a key', () => using({ dpop: true }, agree, async client => {
        ok(await client.run(open, 'state'));
        assert.equal(client.state.is_bound, true);
        await forget();
        ok(await client.run(open, deep));
        assert.equal(client.visits.length, 2);
    }));

    it('logs in once for many requests', () => using({}, agree, async client => {
        ok(await client.run(open));
        await forget();
        ok(await client.run(...Array.from({ length: 12 }, () => open)));
        assert.equal(client.visits.length, 1);
        assert.equal(requested('POST /token'), 2);
    }));

    it('tells why a login failed', async () => {
        issuer.settings.answer = ({ url }, response) => url.startsWith('/token') && response.writeHead(503).end('later');
        try {
            await using({}, agree, async client => {
                const [outcome] = await client.run(open);
                assert.match(outcome.error, /503/);
            });
        } finally {
            issuer.settings.answer = () => false;
        }
    });
});

describe('a client that has to use nonces', { timeout: 60_000 }, () => {
    it('uses those of both servers', async () => {
        const issuer = await startIssuer({ nonces: true });
        const server = await protect(issuer, { nonces: true });
        try {
            assert.ok((await getJson(`${new URL(server.url).origin}/.well-known/oauth-protected-resource/mcp`)).resource);
            const client = await startClient({ server: server.url, dpop: true }, agree);
            const outcomes = await client.run(`read ${server.uri('open.txt')}`, 'state');
            await client.stop();
            ok(outcomes);
            assert.equal(client.visits.length, 1);
            assert.equal(client.state.is_bound, true);
        } finally {
            await server.stop();
            await issuer.close();
        }
    });
});
