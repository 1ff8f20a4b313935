// mcpd and access tokens that are bound to a key of the client (DPoP, RFC 9449), as oidc-provider issues them.
//
// These are the checks of a draft scenario of the conformance suite, auth/dpop-server-validation (pull request 395 of
// modelcontextprotocol/conformance), and more of RFC 9449, section 4.3.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { exportJWK, SignJWT } from 'jose';
import { startIssuer } from './support/issuer.mjs';
import { challengeOf, encode, logIn, makePair, prove, unsigned } from './support/oauth.mjs';
import { protect } from './support/protected.mjs';
import { ask, listen, send, textOf } from './support/raw.mjs';

const READ = 'mcp:read';
const now = () => Math.floor(Date.now() / 1000);

// What makes a proof wrong, one thing at a time: claims, `header`, `key`, `pair` or the whole `text`. `error` is the code
// of the challenge, by default invalid_dpop_proof.
async function wrongProofs(url, pair, token) {
    const stranger = await makePair();
    const claims = { htm: 'POST', htu: url, jti: 'once', iat: now() };
    const header = { alg: 'ES256', typ: 'dpop+jwt', jwk: pair.jwk };
    const valid = await prove(pair, { htm: 'POST', htu: url, token });
    const [, payload, signature] = valid.split('.');
    return {
        'a changed signature': { text: valid.replace(/[^.]+$/, text => (text[0] === 'A' ? 'B' : 'A') + text.slice(1)) },
        'no signature': { text: unsigned({ ...header, alg: 'none' }, claims) },
        'a secret instead of a key': {
            text: await new SignJWT(claims).setProtectedHeader({ ...header, alg: 'HS256' }).sign(new Uint8Array(32)),
        },
        'another header': { text: `${encode({ ...header, kid: 'x' })}.${payload}.${signature}` },
        'not a JWT': { text: 'this-is-not-a-jwt' },
        'an empty text': { text: '' },
        'two headers': { text: [valid, await prove(pair, { htm: 'POST', htu: url, token })] },
        'two proofs in a header': { text: `${valid}, ${valid}` },
        'no jti': { jti: undefined },
        'a jti that is a number': { jti: 1 },
        'another type': { header: { typ: 'jwt' } },
        'no type': { header: { typ: undefined } },
        'the type of access tokens': { header: { typ: 'at+jwt' } },
        'another URL': { htu: 'https://wrong.example.com/mcp' },
        'another path': { htu: `${url}/more` },
        'no URL': { htu: undefined },
        'another method': { htm: 'GET' },
        'the method in small letters': { htm: 'post' },
        'no method': { htm: undefined },
        'no time': { iat: undefined },
        'a time that is a text': { iat: `${now()}` },
        'too old': { iat: now() - 303 },
        'from the future': { iat: now() + 303 },
        'a private key in it': { header: { jwk: await exportJWK(pair.privateKey) } },
        'no key in it': { header: { jwk: undefined } },
        'a key elsewhere': { header: { jwk: undefined, jku: `${new URL(url).origin}/jwks` } },
        'a critical parameter': { header: { crit: ['x'], x: true } },
        'another token': { ath: 'not-the-right-hash' },
        'no token': { ath: undefined },
        'another key': { pair: stranger, error: 'invalid_token' }, // RFC 9449, section 7.1
        'the key of the token, signed with another': { key: stranger.privateKey },
    };
}

describe('tokens that are bound to a key', { timeout: 120_000 }, () => {
    let issuer, server, pair, token, resource, open;
    const proof = (more = {}) => prove(more.pair ?? pair, { htm: 'POST', htu: resource, token, ...more });
    const discover = (text, authorization = `DPoP ${token}`) =>
        ask(resource, 'server/discover', {}, { Authorization: authorization, ...(text !== undefined && { DPoP: text }) });
    const refused = (response, error, what) => {
        assert.equal(response.status, 401, `${what}: ${response.text}`);
        const challenge = challengeOf(response, 'dpop');
        assert.ok(challenge, `${what}: ${response.headers.get('www-authenticate')}`);
        assert.match(challenge.params.error, error, what);
        return challenge.params;
    };
    before(async () => {
        issuer = await startIssuer();
        server = await protect(issuer);
        resource = server.url;
        pair = await makePair();
        open = server.uri('open.txt');
        token = (await logIn(issuer.issuer, { resource, scope: READ, pair })).access_token;
    });
    after(async () => {
        await server?.stop();
        await issuer?.close();
    });

    it('are accepted with a proof', async () => {
        for (const authorization of [`DPoP ${token}`, `dpop ${token}`]) {
            assert.equal((await discover(await proof(), authorization)).status, 200);
        }
        const headers = { Authorization: `DPoP ${token}`, DPoP: await proof() };
        assert.equal(textOf(await ask(resource, 'resources/read', { uri: open }, headers)), 'open.txt\n');
        const { params } = challengeOf(await ask(resource, 'server/discover'), 'dpop');
        assert.match(params.algs, /\bES256\b/);
    });

    it('are accepted whatever normalization does to the URL of the proof', async () => {
        const { host } = new URL(resource);
        const same = [`HTTP://${host}/mcp`, `http://${host}/%6dcp`, `http://${host}/x/../mcp`, `${resource}?a=b`, `${resource}#c`];
        for (const htu of same) {
            assert.equal((await discover(await proof({ htu }))).status, 200, htu);
        }
    });

    it('are bound to keys of other types too', async () => {
        for (const alg of ['RS256', 'PS256', 'ES384', 'Ed25519']) {
            const other = await makePair(alg);
            const bound = await issuer.mint({ aud: resource, scope: READ, cnf: { jkt: other.jkt } });
            assert.equal((await discover(await proof({ pair: other, token: bound }), `DPoP ${bound}`)).status, 200, alg);
        }
    });

    it('are refused with proofs that are wrong in any way', async () => {
        for (const [what, { text, error, ...more }] of Object.entries(await wrongProofs(resource, pair, token))) {
            refused(await discover(text ?? await proof(more)), new RegExp(`^${error ?? 'invalid_dpop_proof'}$`), what);
        }
        assert.equal((await discover(await proof())).status, 200);
    });

    it('are refused without a proof, and as bearer tokens', async () => {
        refused(await discover(undefined), /^invalid_(dpop_proof|token)$/, 'no proof');
        for (const text of [undefined, await proof()]) {
            const response = await discover(text, `Bearer ${token}`);
            assert.equal(response.status, 401);
            assert.equal(challengeOf(response).params.error, 'invalid_token');
        }
        const free = await issuer.mint({ aud: resource, scope: READ });
        assert.equal((await ask(resource, 'server/discover', {}, { Authorization: `Bearer ${free}` })).status, 200);
        refused(await discover(await proof({ token: free }), `DPoP ${free}`), /^invalid_(dpop_proof|token)$/, 'not bound');
    });

    it('are refused if the token itself is wrong', async () => {
        const wrong = {
            'another audience': { aud: 'https://not-this-server.example.com/mcp' },
            'another key': { cnf: { jkt: (await makePair()).jkt } },
            expired: { exp: now() - 600 },
        };
        for (const [what, claims] of Object.entries(wrong)) {
            const made = await issuer.mint({ aud: resource, scope: READ, cnf: { jkt: pair.jkt }, ...claims });
            refused(await discover(await proof({ token: made }), `DPoP ${made}`), /^invalid_(dpop_proof|token)$/, what);
        }
    });

    it('are refused if a proof is used twice', async () => {
        const once = await proof();
        assert.equal((await discover(once)).status, 200);
        refused(await discover(once), /^invalid_dpop_proof$/, 'again');
        const many = await proof();
        const all = await Promise.all(Array.from({ length: 8 }, () => discover(many)));
        assert.equal(all.filter(response => response.status === 200).length, 1, 'at the same time');
    });

    it('bind streams too', async () => {
        const stream = await listen(resource, open, { Authorization: `DPoP ${token}`, DPoP: await proof() });
        assert.equal(stream.status, 200);
        stream.close();
        const legacy = await send(resource, {
            method: 'GET', headers: { Accept: 'text/event-stream', Authorization: `DPoP ${token}`, DPoP: await proof() },
        });
        refused(legacy, /^invalid_dpop_proof$/, 'a proof for POST');
    });
});

describe('proofs with nonces', { timeout: 60_000 }, () => {
    let issuer, server, pair, token;
    const discover = async (nonce, more = {}) => ask(server.url, 'server/discover', {}, {
        Authorization: `DPoP ${token}`, DPoP: await prove(pair, { htm: 'POST', htu: server.url, token, nonce, ...more }),
    });
    before(async () => {
        issuer = await startIssuer({ nonces: true });
        server = await protect(issuer, { nonces: true });
        pair = await makePair();
        token = (await logIn(issuer.issuer, { resource: server.url, scope: READ, pair })).access_token;
    });
    after(async () => {
        await server?.stop();
        await issuer?.close();
    });

    it('are asked for, and accepted more than once', async () => {
        const first = await discover();
        assert.equal(first.status, 401);
        assert.equal(challengeOf(first, 'dpop').params.error, 'use_dpop_nonce');
        const nonce = first.headers.get('dpop-nonce');
        assert.match(nonce, /^[\x21\x23-\x5b\x5d-\x7e]+$/);
        for (let i = 0; i < 3; i++) assert.equal((await discover(nonce)).status, 200);
    });

    it('are asked for again when the nonce is wrong', async () => {
        const nonce = (await discover()).headers.get('dpop-nonce');
        for (const wrong of ['definitely-not-the-server-nonce', `${nonce}A`, nonce.slice(0, -1), '']) {
            const response = await discover(wrong);
            assert.equal(response.status, 401, wrong);
            assert.match(challengeOf(response, 'dpop').params.error, /^(use_dpop_nonce|invalid_dpop_proof)$/);
            assert.ok(response.headers.get('dpop-nonce'), wrong);
        }
        assert.equal((await discover(nonce, { htm: 'GET' })).status, 401);
        assert.equal((await discover(nonce)).status, 200);
    });
});
