// The client's part of OAuth, step by step, so that a test can do each step wrong: metadata (RFC 8414), the
// code flow with PKCE, tokens, proofs of possession (RFC 9449).

import assert from 'node:assert/strict';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { CLIENT, REDIRECT } from './issuer.mjs';

const digest = text => createHash('sha256').update(text).digest('base64url');

// A part of a JWT.
export const encode = part => Buffer.from(JSON.stringify(part)).toString('base64url');

const plain = text => text.replaceAll('&amp;', '&').replaceAll('&quot;', '"');

// The form of a page as a request: [action, body], or undefined. It is filled in as the user would, or as it is.
function formOf(page, { user, password }) {
    const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1];
    if (!action) return undefined;
    const hidden = [...page.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)];
    const body = new URLSearchParams(hidden.map(([, name, value]) => [name, plain(value)]));
    if (password) {
        body.set('username', user);
        body.set('password', password);
    }
    return [plain(action), body];
}

// A browser: follows redirects with cookies, and fills in forms, until it is led to the client, whose URL is returned, or,
// if `redirect` is null, until there is no form any more.
export async function browse(start, { redirect = REDIRECT, user, password }) {
    const cookies = new Map();
    let url = new URL(start), form;
    for (let hops = 0; hops < 12; hops++) {
        const response = await fetch(url, {
            redirect: 'manual', headers: { Cookie: [...cookies].map(pair => pair.join('=')).join('; ') },
            ...(form && { method: 'POST', body: form }),
        });
        form = undefined;
        for (const cookie of response.headers.getSetCookie()) {
            const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie);
            cookies.set(name, value);
        }
        const to = response.headers.get('location');
        if (to) {
            url = new URL(to, url);
            if (redirect && url.href.startsWith(redirect)) return url;
        } else {
            const page = await response.text();
            const filled = formOf(page, { user, password });
            assert.ok(response.ok && (filled || !redirect), `${url} answers ${response.status} ${page}`);
            if (!filled) return url;
            form = filled[1];
            url = new URL(filled[0], url);
        }
    }
    throw new Error(`${start} leads nowhere`);
}

// The challenges of an answer: [{ scheme, params }]. Scheme names are in lower case.
export function challengesOf(response) {
    const text = response.headers.get('www-authenticate') ?? '';
    const all = [];
    const part = /\s*,?\s*(?:([\w-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))|([\w-]+))/gy;
    for (let match; (match = part.exec(text)); ) {
        const [, name, quoted, plain, scheme] = match;
        if (scheme) all.push({ scheme: scheme.toLowerCase(), params: {} });
        else all.at(-1).params[name.toLowerCase()] = quoted?.replace(/\\(.)/g, '$1') ?? plain;
    }
    return all;
}

export const challengeOf = (response, scheme = 'bearer') => challengesOf(response).find(c => c.scheme === scheme);

export async function getJson(url) {
    const response = await fetch(url);
    assert.equal(response.status, 200, `${url}`);
    assert.match(response.headers.get('content-type'), /^application\/(jwk-set\+)?json\b/);
    return response.json();
}

// The metadata of an authorization server (RFC 8414): its well-known path stands before the path of the issuer.
export async function serverMetadata(issuer) {
    const { origin, pathname } = new URL(issuer);
    return getJson(`${origin}/.well-known/oauth-authorization-server${pathname === '/' ? '' : pathname}`);
}

// POSTs a form and returns the JSON of the answer, or throws with its status and error.
export async function postForm(url, form, headers = {}) {
    const response = await fetch(url, { method: 'POST', body: new URLSearchParams(form), headers });
    const text = await response.text();
    if (response.ok) return text ? JSON.parse(text) : undefined;
    throw Object.assign(new Error(`${url} answers ${response.status} ${text}`), { response, text });
}

// The code flow. Returns the answer of the token endpoint; with `pair`, the token is bound to that key.
export async function logIn(issuer, {
    resource, scope, user = 'alice', password, client = CLIENT, redirect = REDIRECT, pair,
}) {
    const metadata = await serverMetadata(issuer);
    assert.equal(metadata.issuer, issuer);
    assert.ok(metadata.code_challenge_methods_supported.includes('S256'));
    const verifier = randomBytes(32).toString('base64url');
    const state = randomUUID();
    const ask = new URL(metadata.authorization_endpoint);
    const params = {
        response_type: 'code', client_id: client, redirect_uri: redirect, scope, resource, state, login_hint: user,
        code_challenge: digest(verifier), code_challenge_method: 'S256',
    };
    for (const [name, value] of Object.entries(params)) if (value !== undefined) ask.searchParams.set(name, value);
    const back = (await browse(ask, { redirect, user, password })).searchParams;
    assert.equal(back.get('state'), state);
    assert.equal(back.get('iss'), issuer);
    assert.ok(back.get('code'), `${back}`);
    const form = {
        grant_type: 'authorization_code', code: back.get('code'), redirect_uri: redirect, client_id: client,
        code_verifier: verifier, ...(resource && { resource }),
    };
    const send = async nonce => postForm(metadata.token_endpoint, form,
        pair && { DPoP: await prove(pair, { htm: 'POST', htu: metadata.token_endpoint, nonce }) });
    return send().catch(error => {
        const nonce = error.response?.headers.get('dpop-nonce');
        if (!pair || !nonce || !error.text.includes('use_dpop_nonce')) throw error;
        return send(nonce);
    });
}

export const refresh = async (issuer, token, { client = CLIENT, ...more } = {}) =>
    postForm((await serverMetadata(issuer)).token_endpoint,
        { grant_type: 'refresh_token', refresh_token: token, client_id: client, ...more });

// Registers a client (RFC 7591) and returns its id.
export async function register(issuer, redirect) {
    const { registration_endpoint: url } = await serverMetadata(issuer);
    const response = await fetch(url, {
        method: 'POST', headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({
            redirect_uris: [redirect], token_endpoint_auth_method: 'none', application_type: 'native',
            grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'],
        }),
    });
    assert.equal(response.status, 201);
    return (await response.json()).client_id;
}

export const revoke = async (issuer, token, client = CLIENT) =>
    postForm((await serverMetadata(issuer)).revocation_endpoint, { token, client_id: client });

// A key for proofs of possession.
export async function makePair(alg = 'ES256') {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
    const jwk = await exportJWK(publicKey);
    return { alg, privateKey, jwk, jkt: await calculateJwkThumbprint(jwk) };
}

// Makes a proof. Everything in it can be replaced, and is left out if it is undefined.
export async function prove(pair, { token, header, key, ...claims }) {
    const payload = {
        jti: randomUUID(), iat: Math.floor(Date.now() / 1000), ...(token && { ath: digest(token) }), ...claims,
    };
    const whole = { alg: pair.alg, typ: 'dpop+jwt', jwk: pair.jwk, ...header };
    const plain = value => JSON.parse(JSON.stringify(value)); // without what is undefined
    const crit = Object.fromEntries((whole.crit ?? []).map(name => [name, true])); // jose would refuse to sign others
    return new SignJWT(plain(payload)).setProtectedHeader(plain(whole)).sign(key ?? pair.privateKey, { crit });
}

// A text like a JWT that nobody signed.
export const unsigned = (header, payload) => `${encode(header)}.${encode(payload)}.`;
