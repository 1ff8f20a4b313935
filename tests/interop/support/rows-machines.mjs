// Rows of oauth-client.test.mjs: proofs of possession, the device flow, and grants without a person.

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, importSPKI, jwtVerify } from 'jose';
import { say } from './realm.mjs';

const bound = m => ({ ...m, dpop_signing_alg_values_supported: ['ES256'] });
const forms = (realm, at = 'as') => realm.at(at, '/token').map(seen => seen.form);
const keys = generateKeyPairSync('ec', {
    namedCurve: 'P-256', privateKeyEncoding: { type: 'pkcs8', format: 'pem' }, publicKeyEncoding: { type: 'spki', format: 'pem' },
});
const device = m => ({
    ...m, device_authorization_endpoint: `${m.issuer}/device`,
    grant_types_supported: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
});
const supports = (...grants) => m => ({ ...m, grant_types_supported: grants });
const itself = supports('client_credentials');
const bearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const asserted = supports(bearer);
const machine = { options: { grant: 'assertion', assertion: 'eyJhbGciOiJub25lIn0.e30.', redirect_uri: undefined } };
const mine = (method, secret) => ({ mine: { method, ...(secret && { secret }) } });

export const machines = [
    {
        what: 'proves each request anew where the server asks for proofs',
        as: { metadata: bound }, rs: { dpop: true }, steps: [['list'], ['call read']], visits: 1,
        check: realm => {
            const sent = realm.at('rs', '/mcp').filter(seen => seen.headers.dpop).map(seen => decodeJwt(seen.headers.dpop).jti);
            assert.ok(sent.length >= 3);
            assert.equal(new Set(sent).size, sent.length);
        },
    },
    {
        what: 'proves its requests if it was told to', as: { metadata: bound }, options: { dpop: true }, visits: 1,
        steps: [['list'], ['state']], check: (_, { state }) => assert.equal(state.is_bound, true),
    },
    {
        what: 'uses the nonces of both servers, without another login',
        as: { metadata: bound, nonce: 'as-1' }, rs: { dpop: true, nonce: 'rs-1' }, steps: [['list'], ['call read']], visits: 1,
        between: realm => { realm.rs.settings.nonce = 'rs-2'; },
    },
    {
        what: 'takes the next nonce from a success',
        as: { metadata: bound }, rs: { dpop: true, nonce: 'rs-1' }, visits: 1,
    },
    {
        what: 'stops when an authorization server wants new nonces without end',
        as: { metadata: bound }, rs: { dpop: true }, fails: ['nonce'], visits: 1,
        set: realm => {
            let n = 0;
            realm.as.instead['/token'] = (_, response) => say(response, 400, { error: 'use_dpop_nonce' }, { 'DPoP-Nonce': `n-${n++}` });
        },
        check: realm => assert.ok(realm.at('as', '/token').length <= 4),
    },
    {
        what: 'stops when an MCP server wants new nonces without end',
        as: { metadata: bound }, rs: { dpop: true }, steps: [['list'], ['call read']], fails: ['nonce'], visits: 1,
        between: realm => {
            let n = 0;
            realm.rs.instead['/mcp'] = (_, response) => say(response, 401, '', {
                'WWW-Authenticate': 'DPoP error="use_dpop_nonce"', 'DPoP-Nonce': `n-${n++}`,
            });
        },
        check: realm => assert.ok(realm.at('rs', '/mcp').length <= 10),
    },
    {
        what: 'refuses a token that is not bound although it has to be',
        as: { metadata: bound, answer: a => ({ ...a, token_type: 'Bearer' }) }, rs: { dpop: true }, fails: ['type: Bearer'], visits: 1,
    },
    {
        what: 'refuses a bound token that it did not ask for',
        as: { answer: a => ({ ...a, token_type: 'DPoP' }) }, fails: ['type: DPoP'], visits: 1,
    },
    {
        what: 'logs in with a code for another device',
        as: { metadata: device, device: ['authorization_pending'] }, options: { grant: 'device' }, visits: 1,
        check: (realm, { visits: [visit] }) => {
            assert.equal(visit.user_code, 'WDJB-MJHT');
            assert.equal(visit.url, `${realm.as.issuer}/device`);
            assert.deepEqual(forms(realm).at(-1).getAll('resource'), [realm.rs.url]);
        },
    },
    ...['access_denied', 'expired_token'].map(error => ({
        what: `stops polling after ${error}`,
        as: { metadata: device, device: [error] }, options: { grant: 'device' }, fails: [error], visits: 1,
        check: realm => assert.equal(forms(realm).length, 1),
    })),
    ...Object.entries({
        'a script': 'javascript:alert(1)', 'http at another machine': 'http://evil.example/', 'an option': '-x', 'a file': 'file:///x',
    }).map(([what, url]) => ({
        what: `shows no page that is ${what}`,
        as: { metadata: device, answer: a => (a.device_code ? { ...a, verification_uri: url } : a) }, options: { grant: 'device' },
        fails: [url], visits: 0,
    })),
    {
        what: 'shows no code with control characters',
        as: { metadata: device, answer: a => (a.device_code ? { ...a, user_code: 'A\u001b[2J' } : a) }, options: { grant: 'device' },
        fails: ['user_code'], visits: 0,
    },
    {
        what: 'says so if there is no device flow', options: { grant: 'device' }, fails: ['device'], visits: 0,
        never: [['as', '/token'], ['as', '/register']],
    },
    {
        what: 'gets a token for itself with a secret',
        as: { methods: ['client_secret_basic'], clients: mine('client_secret_basic', 'sesame'), refresh: false, metadata: itself },
        options: { grant: 'client_credentials', client_id: 'mine', client_secret: 'sesame' }, visits: 0,
        never: [['as', '/register'], ['as', '/authorize']],
        check: realm => assert.deepEqual(forms(realm)[0].getAll('resource'), [realm.rs.url]),
    },
    {
        what: 'gets a token for itself with a key',
        as: { methods: ['private_key_jwt'], clients: mine('private_key_jwt'), refresh: false, metadata: itself },
        options: { grant: 'client_credentials', client_id: 'mine', client_key: keys.privateKey }, visits: 0,
        check: async realm => {
            const [form] = forms(realm);
            assert.equal(form.get('client_assertion_type'), 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
            const text = form.get('client_assertion');
            assert.equal(decodeProtectedHeader(text).alg, 'ES256');
            const { payload } = await jwtVerify(text, await importSPKI(keys.publicKey, 'ES256'), { audience: realm.as.issuer });
            assert.equal(payload.iss, 'mine');
            assert.equal(payload.sub, 'mine');
            assert.ok(payload.exp - payload.iat <= 600 && payload.jti.length >= 16);
        },
    },
    {
        what: 'gets a token for itself again when the first one has expired',
        as: { methods: ['client_secret_basic'], clients: mine('client_secret_basic', 'sesame'), refresh: false, metadata: itself },
        options: { grant: 'client_credentials', client_id: 'mine', client_secret: 'sesame' }, visits: 0,
        steps: [['list'], ['call read']],
        between: realm => { for (const token of realm.tokens.values()) token.until = 0; },
        check: realm => assert.equal(forms(realm).length, 2),
    },
    {
        what: 'shows the assertion of its platform', ...machine, visits: 0, as: { refresh: false, metadata: asserted },
        check: realm => {
            const [form] = forms(realm);
            assert.equal(form.get('grant_type'), bearer);
            assert.equal(form.get('assertion'), machine.options.assertion);
            assert.deepEqual(form.getAll('resource'), [realm.rs.url]);
        },
    },
    {
        what: 'does not repeat an assertion that was refused, nor try anything else', ...machine, visits: 0,
        as: { machine: () => false, metadata: asserted }, fails: ['invalid_grant', 'not this assertion'], never: [['as', '/authorize'], ['as', '/register']],
        check: (realm, client) => {
            assert.equal(forms(realm).length, 1);
            assert.doesNotMatch(client.output, /eyJhbGciOiJub25lIn0/);
        },
    },
    {
        what: 'exchanges an ID token at the identity provider of an enterprise',
        more: { idp: { clients: { 'idp-client': { method: 'none' } } } },
        as: { methods: ['client_secret_basic'], clients: mine('client_secret_basic', 'sesame'), refresh: false, metadata: asserted },
        options: realm => ({
            grant: 'enterprise', client_id: 'mine', client_secret: 'sesame', assertion: 'the.id.token', idp_client_id: 'idp-client',
            idp_token_endpoint: `${realm.idp.issuer}/token`,
        }),
        set: realm => {
            realm.idp.instead['/token'] = (_, response) => say(response, 200, {
                access_token: 'the.id.jag', issued_token_type: 'urn:ietf:params:oauth:token-type:id-jag', token_type: 'N_A',
            });
        },
        visits: 0,
        check: realm => {
            const [exchange] = forms(realm, 'idp'), [grant] = forms(realm);
            assert.equal(exchange.get('grant_type'), 'urn:ietf:params:oauth:grant-type:token-exchange');
            assert.equal(exchange.get('subject_token'), 'the.id.token');
            assert.equal(exchange.get('audience'), realm.as.issuer);
            assert.deepEqual(exchange.getAll('resource'), [realm.rs.url]);
            assert.equal(grant.get('grant_type'), bearer);
            assert.equal(grant.get('assertion'), 'the.id.jag');
            assert.equal([...grant.values()].includes('the.id.token'), false);
            assert.doesNotMatch(exchange.toString(), /sesame/);
        },
    },
    {
        what: 'passes on no token of another type from the identity provider',
        more: { idp: {} },
        as: { methods: ['client_secret_basic'], clients: mine('client_secret_basic', 'sesame'), metadata: asserted },
        options: realm => ({
            grant: 'enterprise', client_id: 'mine', client_secret: 'sesame', assertion: 'the.id.token', idp_client_id: 'idp-client',
            idp_token_endpoint: `${realm.idp.issuer}/token`,
        }),
        set: realm => {
            realm.idp.instead['/token'] = (_, response) => say(response, 200, {
                access_token: 'x', issued_token_type: 'urn:ietf:params:oauth:token-type:access_token', token_type: 'Bearer',
            });
        },
        fails: ['token-type:access_token'], visits: 0, never: [['as', '/token']],
    },
];
