// An authorization server on this machine: oidc-provider, which logs every user in and consents to everything. It gives
// access tokens for any resource that it is asked for (RFC 8707), to registered clients, to those that register
// themselves (RFC 7591) and to those with a metadata document, by a browser of the client or of another device (RFC 8628).
// It introspects and revokes them.

import { createServer } from 'node:http';
import { once } from 'node:events';
import { createPublicKey, generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { exportJWK, generateKeyPair, importJWK, SignJWT } from 'jose';
import Provider, { errors } from 'oidc-provider';

// What oidc-provider remembers. It is kept here so that it survives a change of keys, and because the adapter that
// comes with the package forgets beyond 1,000 entries.
function makeAdapter() {
    const entries = new Map();
    const found = (model, so) => {
        for (const [key, entry] of entries) if (key.startsWith(`${model}:`) && so(entry)) return entry;
    };
    return class {
        static forget() {
            entries.clear();
        }

        static clients() {
            return [...entries.keys()].filter(key => key.startsWith('Client:')).length;
        }

        constructor(model) {
            this.model = model;
        }

        async upsert(id, payload, expiresIn) {
            // A client of the official SDKs registers for the scopes of the first challenge, and asks for more later.
            if (this.model === 'Client') delete payload.scope;
            entries.set(`${this.model}:${id}`, payload);
            if (expiresIn) setTimeout(() => entries.delete(`${this.model}:${id}`), expiresIn * 1000).unref();
        }

        async find(id) {
            return entries.get(`${this.model}:${id}`);
        }

        async findByUid(uid) {
            return found(this.model, entry => entry.uid === uid);
        }

        async findByUserCode(code) {
            return found(this.model, entry => entry.userCode === code);
        }

        async consume(id) {
            entries.get(`${this.model}:${id}`).consumed = Math.floor(Date.now() / 1000);
        }

        async destroy(id) {
            entries.delete(`${this.model}:${id}`);
        }

        async revokeByGrantId(grantId) {
            for (const [key, entry] of entries) if (entry.grantId === grantId) entries.delete(key);
        }
    };
}

const algorithms = ['ES256', 'RS256'];

// One private key for each algorithm.
async function makeKeys() {
    const kid = randomUUID();
    return Promise.all(algorithms.map(async alg => {
        const { privateKey } = await generateKeyPair(alg, { extractable: true });
        return { ...await exportJWK(privateKey), alg, kid: `${kid}-${alg}`, use: 'sig' };
    }));
}

// A client that has no secret, and one that asks about tokens for a resource server.
export const CLIENT = 'interop';
export const REDIRECT = 'http://127.0.0.1/callback';
// A client that is a page: it may ask for tokens from its own origin.
export const PAGE = 'page';
export const INTROSPECTOR = { id: 'resource-server', secret: 'a secret between the two servers' };

// Clients that are users themselves: one with a secret, one with a key.
const machine = { redirect_uris: [], response_types: [], grant_types: ['client_credentials'] };
const pair = generateKeyPairSync('ec', {
    namedCurve: 'P-256', privateKeyEncoding: { type: 'pkcs8', format: 'pem' }, publicKeyEncoding: { type: 'spki', format: 'pem' },
});
export const MACHINES = {
    secret: { ...machine, client_id: 'machine', client_secret: 'the secret of a machine & +' },
    key: {
        ...machine, client_id: 'machine-with-key', token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_signing_alg: 'ES256',
        jwks: { keys: [createPublicKey(pair.publicKey).export({ format: 'jwk' })] },
    },
    privateKey: pair.privateKey,
};
// A client with that key at which people log in.
export const KEYED = {
    client_id: 'person-with-key', redirect_uris: [REDIRECT], application_type: 'native', jwks: MACHINES.key.jwks,
    token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_signing_alg: 'ES256',
    grant_types: ['authorization_code', 'refresh_token'],
};

const registered = [
    {
        client_id: CLIENT, redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none', application_type: 'native',
        grant_types: ['authorization_code', 'refresh_token'],
    },
    {
        client_id: PAGE, redirect_uris: ['http://127.0.0.1/'], token_endpoint_auth_method: 'none', application_type: 'native',
        grant_types: ['authorization_code', 'refresh_token'],
    },
    {
        client_id: INTROSPECTOR.id, client_secret: INTROSPECTOR.secret, redirect_uris: [], response_types: [],
        grant_types: [],
    },
    MACHINES.secret, MACHINES.key, KEYED,
];

const groupsOf = { alice: ['staff', 'admins'], bob: ['staff'] };

function configure(settings, keys, secrets, adapter) {
    const resource = (_, url) => {
        if (!URL.canParse(url)) throw new errors.InvalidTarget();
        return {
            audience: settings.audience ?? url,
            scope: settings.scopes.join(' '),
            accessTokenTTL: settings.lifetime,
            accessTokenFormat: settings.format,
            jwt: { sign: { alg: settings.alg } },
        };
    };
    return {
        adapter,
        clients: registered,
        jwks: { keys },
        cookies: { keys: [secrets.cookies] },
        pkce: { required: () => true },
        clientBasedCORS: (_, __, client) => client.clientId === PAGE,
        scopes: ['openid', 'offline_access', ...settings.scopes],
        clientDefaults: { id_token_signed_response_alg: settings.alg },
        findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
        extraTokenClaims: (_, token) => ({ groups: groupsOf[token.accountId] ?? [] }),
        issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
        rotateRefreshToken: true,
        loadExistingGrant: consent,
        interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
        fetch: async (url, options) => {
            const document = settings.documents[url];
            return document ? Response.json(document) : globalThis.fetch(url, options);
        },
        features: {
            clientIdMetadataDocument: { enabled: true, ack: 'draft-02' },
            clientCredentials: { enabled: true },
            deviceFlow: { enabled: true, userCodeConfirmSource: page, successSource: page },
            devInteractions: { enabled: false },
            registration: { enabled: true },
            revocation: { enabled: true, allowedPolicy: () => true },
            introspection: { enabled: true, allowedPolicy: () => true },
            dPoP: { enabled: true, nonceSecret: secrets.nonces, requireNonce: () => settings.nonces },
            resourceIndicators: { enabled: true, getResourceServerInfo: resource, useGrantedResource: () => true },
        },
        ttl: {
            AccessToken: (_, token) => token.resourceServer?.accessTokenTTL ?? settings.lifetime,
            AuthorizationCode: 60, ClientCredentials: () => settings.lifetime, DeviceCode: 600, Grant: 3600, IdToken: 300, Interaction: 60, RefreshToken: 3600, Session: 3600,
        },
    };
}

// A page for the device flow, with a form or without one.
function page(ctx, form = 'Done.') {
    ctx.body = `<!DOCTYPE html><title>Device</title>${form}`;
}

// Everything that a client asks for is granted.
async function consent(ctx) {
    const { client, params, session, provider } = ctx.oidc;
    const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
    grant.addOIDCScope(params.scope ?? '');
    for (const url of [params.resource ?? []].flat()) grant.addResourceScope(url, params.scope ?? '');
    await grant.save();
    return grant;
}

// Answers the pages for login and consent: the user is the one that the client named with login_hint.
async function login(provider, request, response) {
    const { params } = await provider.interactionDetails(request, response);
    await provider.interactionFinished(request, response, {
        login: { accountId: params.login_hint ?? 'alice' }, consent: {},
    });
}

// What can be set at any time:
//   alg       ES256 or RS256
//   format    jwt or opaque
//   lifetime  of access tokens, in seconds
//   audience  of access tokens; undefined means the resource that the client named
//   scopes    that can be granted
//   documents metadata documents of clients, by their URL
//   nonces    proofs of possession for this server must have a nonce
//   answer    answers requests instead of the server: (request, response) => whether it did
const defaults = {
    alg: 'ES256', format: 'jwt', lifetime: 300, audience: undefined, scopes: ['mcp:read', 'mcp:write'], nonces: false,
    documents: {},
    answer: () => false,
};

// Returns:
//   issuer      its URL
//   settings    see above
//   requests    "METHOD /path" of each request
//   rotate()    changes the keys; the old ones stay in the key set if `keep` is true
//   forget()    forgets clients that have registered, logins and tokens, and changes the keys
//   registered() how many clients have registered themselves
//   mint()      signs an access token with any claims
//   close()
export async function startIssuer({ port = 0, ...options } = {}) {
    const settings = { ...defaults, ...options };
    const secrets = { cookies: randomUUID(), nonces: randomBytes(32) };
    const adapter = makeAdapter();
    const requests = [];
    let keys, provider, handle;
    const server = createServer((request, response) => {
        requests.push(`${request.method} ${request.url.split('?')[0]}`);
        if (settings.answer(request, response)) return;
        if (!request.url.startsWith('/interaction/')) return void handle(request, response);
        login(provider, request, response).catch(error => response.writeHead(500).end(`${error}`));
    }).listen(port, '127.0.0.1');
    await once(server, 'listening');
    const issuer = `http://127.0.0.1:${server.address().port}`;

    const use = next => {
        keys = next;
        provider = new Provider(issuer, configure(settings, keys, secrets, adapter));
        provider.on('server_error', (_, error) => console.error(error));
        handle = provider.callback();
    };
    use(await makeKeys());

    return {
        issuer, settings, requests,
        async rotate({ keep = false } = {}) {
            use([...await makeKeys(), ...keep ? keys : []]);
        },
        async forget() {
            adapter.forget();
            await this.rotate();
        },
        registered: () => adapter.clients(),
        // A claim that is undefined is left out. `key` is a private JWK.
        async mint(claims = {}, { key, ...header } = {}) {
            const signed = key ?? keys.find(k => k.alg === (header.alg ?? settings.alg));
            const now = Math.floor(Date.now() / 1000);
            const payload = {
                iss: issuer, sub: 'alice', client_id: CLIENT, jti: randomUUID(), iat: now, exp: now + settings.lifetime,
                groups: groupsOf[claims.sub ?? 'alice'] ?? [], ...claims,
            };
            const whole = { alg: signed.alg, kid: signed.kid, typ: 'at+jwt', ...header };
            return new SignJWT(JSON.parse(JSON.stringify(payload))).setProtectedHeader(JSON.parse(JSON.stringify(whole)))
                .sign(await importJWK(signed, whole.alg));
        },
        keys: () => keys,
        async close() {
            server.closeAllConnections();
            await new Promise(resolve => server.close(resolve));
        },
    };
}
