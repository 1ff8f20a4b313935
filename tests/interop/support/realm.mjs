// A protected MCP server and its authorization servers on this machine, which do everything right until a test changes
// one thing. They keep no secrets from the test: it sees every request, and every code and token that was given.

import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { calculateJwkThumbprint, decodeJwt, decodeProtectedHeader, importJWK, jwtVerify } from 'jose';

const digest = text => createHash('sha256').update(text).digest('base64url');
const words = text => (text ? text.split(' ') : []);

export const PRM = '/.well-known/oauth-protected-resource';
export const ASM = '/.well-known/oauth-authorization-server';
export const OIDC = '/.well-known/openid-configuration';

// An answer: a string is a body, an object becomes JSON.
export function say(response, status, body = '', headers = {}) {
    const json = typeof body !== 'string';
    response.writeHead(status, { ...(json && { 'Content-Type': 'application/json' }), ...headers });
    response.end(json ? JSON.stringify(body) : body);
}

// A server that records requests. `instead` has functions that answer instead of it, by path; one that returns false
// does not answer. `origin` is what it is called, if not by its address.
async function open(name, log, origin, handle) {
    const instead = {};
    const server = createServer(async (request, response) => {
        const url = new URL(request.url, 'http://127.0.0.1');
        let text = '';
        try {
            for await (const chunk of request.setEncoding('utf8')) text += chunk;
        } catch {
            return; // the client has gone
        }
        const seen = {
            at: name, method: request.method, path: url.pathname, query: url.searchParams, headers: request.headers, text,
            form: new URLSearchParams(text),
        };
        log.push(seen);
        const other = instead[seen.path];
        try {
            if (other && await other(seen, response) !== false) return;
            await handle(seen, response);
        } catch (error) {
            console.error(error);
            say(response, 500, `${error}`);
        }
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address();
    return {
        origin: origin ?? `http://127.0.0.1:${port}`, port, instead,
        close: async () => {
            server.closeAllConnections();
            await new Promise(resolve => server.close(resolve));
        },
    };
}

class Refusal extends Error {
    constructor(error, { status = 400, description, nonce } = {}) {
        super(error);
        Object.assign(this, { status, nonce, body: { error, ...(description && { error_description: description }) } });
    }
}

// Checks a proof of possession (RFC 9449) and returns the thumbprint of its key, or undefined without a proof.
async function proven(seen, url, { used, nonce, token, status = 400 }) {
    const proof = seen.headers.dpop;
    if (!proof) return undefined;
    const { jwk, alg, typ } = decodeProtectedHeader(proof);
    assert.equal(typ, 'dpop+jwt');
    assert.equal(jwk.d, undefined, 'a private key in a proof');
    const { payload } = await jwtVerify(proof, await importJWK(jwk, alg));
    assert.equal(payload.htm, seen.method);
    assert.equal(payload.htu, url);
    assert.ok(!used.has(payload.jti), 'a proof is used twice');
    used.add(payload.jti);
    if (token) assert.equal(payload.ath, digest(token));
    if (nonce !== undefined && payload.nonce !== nonce) throw new Refusal('use_dpop_nonce', { status, nonce });
    return calculateJwkThumbprint(jwk);
}

// An authorization server. Settings:
//   path          of the issuer
//   metadata      changes the metadata; `at` has the paths where it is found
//   methods       of client authentication; the first is what clients are registered with
//   back          changes the parameters that the browser brings back
//   grant         changes the scopes that are granted
//   answer        changes an answer of the token endpoint
//   rotate        refresh tokens are used once
//   refresh       there are refresh tokens
//   lifetime      of access tokens, in seconds
//   expires       when the secrets of clients expire, in seconds since 1970
//   nonce         that proofs must have
//   device        errors that a device gets before its token
//   machine       whether an assertion is accepted
//   clients       that are known already: {id: {secret, method}}
const asDefaults = () => ({
    path: '', metadata: m => m, at: undefined, methods: ['none'], back: () => {}, grant: scope => scope, answer: a => a,
    rotate: true, refresh: true, lifetime: 3600, nonce: undefined, clients: {}, device: [], machine: () => true,
    expires: 0,
});

async function startAs(name, realm, settings) {
    const as = { name, settings, codes: new Map(), refreshes: new Map(), clients: new Map(Object.entries(settings.clients)) };
    const used = new Set();
    let site;

    const describe = () => settings.metadata({
        issuer: as.issuer, authorization_endpoint: `${as.issuer}/authorize`, token_endpoint: `${as.issuer}/token`,
        registration_endpoint: `${as.issuer}/register`, revocation_endpoint: `${as.issuer}/revoke`,
        response_types_supported: ['code'], grant_types_supported: ['authorization_code', 'refresh_token'],
        code_challenge_methods_supported: ['S256'], token_endpoint_auth_methods_supported: settings.methods,
        authorization_response_iss_parameter_supported: true,
    });

    function register(seen, response) {
        const wanted = JSON.parse(seen.text);
        const id = `client-${randomUUID()}`;
        const method = settings.methods.includes(wanted.token_endpoint_auth_method)
            ? wanted.token_endpoint_auth_method : settings.methods[0];
        const client = { method, redirects: wanted.redirect_uris, ...(method !== 'none' && { secret: realm.secret() }) };
        as.clients.set(id, client);
        say(response, 201, {
            ...wanted, client_id: id, token_endpoint_auth_method: method,
            ...(client.secret && { client_secret: client.secret, client_secret_expires_at: settings.expires }),
        });
    }

    function authorize({ query }, response) {
        const code = realm.secret();
        as.codes.set(code, Object.fromEntries(query));
        const to = new URL(query.get('redirect_uri'));
        const back = new URLSearchParams({ code, iss: as.issuer });
        if (query.has('state')) back.set('state', query.get('state'));
        const other = settings.back(back, query);
        to.search = `${other ?? back}`;
        say(response, 302, '', { Location: to.href });
    }

    // Who asks, and whether this is how it has to say so.
    function authenticate({ form, headers }) {
        let id = form.get('client_id'), secret = form.get('client_secret'), method = secret === null ? 'none' : 'client_secret_post';
        const basic = /^Basic (.*)$/.exec(headers.authorization ?? '')?.[1];
        if (basic) {
            assert.equal(secret, null, 'two secrets');
            const pair = Buffer.from(basic, 'base64').toString().split(':');
            [id, secret] = pair.map(part => decodeURIComponent(part.replaceAll('+', ' ')));
            method = 'client_secret_basic';
        }
        if (form.has('client_assertion')) {
            method = 'private_key_jwt';
            id ??= decodeJwt(form.get('client_assertion')).sub;
        }
        const client = as.clients.get(id) ?? (URL.canParse(id) ? { method: 'none' } : undefined);
        if (!client || client.method !== method || (client.secret ?? null) !== secret)
            throw new Refusal('invalid_client', { status: 401, description: `${id} and ${method}` });
        return id;
    }

    const grants = {
        authorization_code(form, client) {
            const asked = as.codes.get(form.get('code'));
            as.codes.delete(form.get('code'));
            if (asked?.client_id !== client || asked.redirect_uri !== form.get('redirect_uri') ||
                asked.code_challenge !== digest(form.get('code_verifier') ?? '')) throw new Refusal('invalid_grant');
            return { scope: asked.scope ?? '', resource: asked.resource };
        },
        refresh_token(form, client) {
            const text = form.get('refresh_token');
            const kept = as.refreshes.get(text);
            if (kept?.client !== client) throw new Refusal('invalid_grant', { description: 'unknown refresh token' });
            if (settings.rotate) as.refreshes.delete(text);
            return { scope: form.get('scope') ?? kept.scope, resource: kept.resource };
        },
        client_credentials: form => ({ scope: form.get('scope') ?? '', resource: form.get('resource') }),
        'urn:ietf:params:oauth:grant-type:jwt-bearer': form => {
            if (!settings.machine(form.get('assertion'))) throw new Refusal('invalid_grant', { description: 'not this assertion' });
            return { scope: form.get('scope') ?? '', resource: form.get('resource') };
        },
        'urn:ietf:params:oauth:grant-type:device_code': form => {
            const asked = as.codes.get(form.get('device_code'));
            const next = settings.device.shift();
            if (next) throw new Refusal(next);
            if (!asked) throw new Refusal('invalid_grant');
            return { scope: asked.scope ?? '', resource: asked.resource };
        },
    };

    async function token(seen, response) {
        try {
            const client = seen.form.get('grant_type').endsWith(':jwt-bearer') && !seen.form.has('client_id') &&
                !seen.headers.authorization ? undefined : authenticate(seen);
            const jkt = await proven(seen, `${as.issuer}/token`, { used, nonce: settings.nonce });
            const grant = grants[seen.form.get('grant_type')];
            if (!grant) throw new Refusal('unsupported_grant_type');
            const { scope: asked, resource } = grant(seen.form, client);
            const scope = settings.grant(asked);
            const access = realm.secret();
            const refresh = settings.refresh ? realm.secret() : undefined;
            realm.tokens.set(access, { as, scope, resource, jkt, until: Date.now() + settings.lifetime * 1000 });
            if (refresh) as.refreshes.set(refresh, { client, scope: asked, resource });
            say(response, 200, settings.answer({
                access_token: access, token_type: jkt ? 'DPoP' : 'Bearer', expires_in: settings.lifetime, scope,
                ...(refresh && { refresh_token: refresh }),
            }, seen.form));
        } catch (error) {
            if (!(error instanceof Refusal)) throw error;
            say(response, error.status, error.body, error.nonce ? { 'DPoP-Nonce': error.nonce } : {});
        }
    }

    function device(seen, response) {
        const code = realm.secret();
        as.codes.set(code, Object.fromEntries(seen.form));
        say(response, 200, settings.answer({
            device_code: code, user_code: 'WDJB-MJHT', verification_uri: `${as.issuer}/device`, expires_in: 600, interval: 1,
        }, seen.form));
    }

    const routes = {
        'POST /register': register, 'GET /authorize': authorize, 'POST /token': token, 'POST /device': device,
        'POST /revoke': (_, response) => say(response, 200),
    };
    site = await open(name, realm.log, realm.origins[name], async (seen, response) => {
        const at = settings.at ?? [ASM + settings.path];
        if (seen.method === 'GET' && at.includes(seen.path)) return say(response, 200, describe());
        const own = seen.path.startsWith(settings.path) ? seen.path.slice(settings.path.length) : undefined;
        const route = routes[`${seen.method} ${own}`];
        return route ? route(seen, response) : say(response, 404, 'not here');
    });
    return Object.assign(as, {
        issuer: site.origin + settings.path, origin: site.origin, port: site.port, instead: site.instead, close: site.close,
    });
}

// The MCP server. Settings:
//   prm           changes the metadata; `at` has the paths where it is found
//   challenge     changes the parameters of a challenge: {scheme, resource_metadata, scope, error}; if it returns a
//                 string or a list of them, those are the headers
//   scope         that all requests need; tools name what they need in addition
//   accept        whether a token that is right is accepted
//   nonce         that proofs must have
const rsDefaults = () => ({
    prm: m => m, at: [`${PRM}/mcp`, PRM], challenge: c => c, scope: '', tools: { read: '', write: 'mcp:write' },
    accept: () => true, nonce: undefined, dpop: false,
});

async function startRs(realm, settings) {
    const used = new Set();
    let site;
    const url = () => `${site.origin}/mcp`;

    function refuse(response, status, params, headers = {}) {
        const made = settings.challenge({
            scheme: settings.dpop ? 'DPoP' : 'Bearer', resource_metadata: `${site.origin}${PRM}/mcp`, ...params,
        }, status);
        const { scheme, ...rest } = made ?? {};
        const text = typeof made === 'string' || Array.isArray(made) ? made
            : `${scheme} ${Object.entries(rest).filter(([, v]) => v !== undefined).map(([k, v]) => `${k}="${v}"`).join(', ')}`;
        say(response, status, 'refused', { ...(made && { 'WWW-Authenticate': text }), ...headers });
    }

    // Returns whether the request may go on.
    async function admit(seen, response, needed) {
        const [, scheme, text] = /^(\S+) (\S+)$/.exec(seen.headers.authorization ?? '') ?? [];
        const token = realm.tokens.get(text);
        const asked = { scope: settings.scope || undefined };
        if (!token) return refuse(response, 401, { ...asked, ...(text && { error: 'invalid_token' }) });
        if (token.resource !== undefined && token.resource !== null && !url().startsWith(token.resource))
            return refuse(response, 401, { ...asked, error: 'invalid_token' });
        try {
            const jkt = await proven(seen, url(), { used, nonce: settings.nonce, token: text, status: 401 });
            assert.equal(jkt, token.jkt);
            assert.equal(scheme, jkt ? 'DPoP' : 'Bearer');
        } catch (error) {
            if (!(error instanceof Refusal)) throw error;
            return refuse(response, 401, { error: error.message }, { 'DPoP-Nonce': error.nonce });
        }
        if (token.until < Date.now() || !settings.accept(token, seen, text))
            return refuse(response, 401, { ...asked, error: 'invalid_token' });
        const missing = words(needed).filter(scope => !words(token.scope).includes(scope));
        if (missing.length) return refuse(response, 403, { error: 'insufficient_scope', scope: missing.join(' ') });
        return true;
    }

    function result(method, params) {
        const cached = { ttlMs: 0, cacheScope: 'private' };
        if (method === 'server/discover') {
            return {
                resultType: 'complete', ...cached, supportedVersions: ['2026-07-28'], capabilities: { tools: {} },
                _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'realm', version: '1' } },
            };
        }
        if (method === 'tools/list') {
            const tools = Object.keys(settings.tools).map(name => ({ name, inputSchema: { type: 'object' } }));
            return { resultType: 'complete', ...cached, tools };
        }
        if (method === 'tools/call') return { resultType: 'complete', content: [{ type: 'text', text: params.name }] };
        return undefined;
    }

    site = await open('rs', realm.log, realm.origins.rs, async (seen, response) => {
        if (seen.method === 'GET' && settings.at.includes(seen.path)) {
            return say(response, 200, settings.prm({
                resource: url(), authorization_servers: [realm.as.issuer], bearer_methods_supported: ['header'],
            }));
        }
        if (seen.path !== '/mcp' || seen.method !== 'POST') return say(response, seen.path === '/mcp' ? 405 : 404);
        const { id, method, params } = JSON.parse(seen.text);
        const needed = [settings.scope, method === 'tools/call' && settings.tools[params.name]].filter(Boolean).join(' ');
        if (!await admit(seen, response, needed)) return;
        const found = result(method, params);
        say(response, found || id === undefined ? 200 : 404, id === undefined ? '' : {
            jsonrpc: '2.0', id, ...(found ? { result: found } : { error: { code: -32601, message: 'no such method' } }),
        });
    });
    return { settings, url: url(), origin: site.origin, port: site.port, instead: site.instead, close: site.close };
}

// `as` and `rs` change settings. `more` has the settings of further authorization servers by their name, `origins` what
// servers are called, if not by their addresses. A realm has `rs`, `as` and further servers, and `log`, the requests in
// their order.
export async function startRealm({ as = {}, rs = {}, more = {}, origins = {} } = {}) {
    const realm = { origins, log: [], tokens: new Map(), secrets: [] };
    realm.secret = () => {
        realm.secrets.push(randomUUID());
        return realm.secrets.at(-1);
    };
    realm.as = await startAs('as', realm, { ...asDefaults(), ...as });
    for (const [name, settings] of Object.entries(more)) realm[name] = await startAs(name, realm, { ...asDefaults(), ...settings });
    realm.rs = await startRs(realm, { ...rsDefaults(), ...rs });
    realm.at = (where, path, method) => realm.log.filter(seen => seen.at === where && (!path || seen.path === path) &&
        (!method || seen.method === method));
    realm.close = () => Promise.all(['as', 'rs', ...Object.keys(more)].map(name => realm[name].close()));
    return realm;
}
