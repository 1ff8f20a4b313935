// Rows of oauth-client.test.mjs: how the client finds the authorization server, and registers there.

import assert from 'node:assert/strict';
import { ASM, OIDC, PRM, say } from './realm.mjs';

const paths = (realm, at) => realm.at(at, undefined, 'GET').map(seen => seen.path);
const nothingElse = [['as', '/authorize'], ['as', '/token'], ['as', '/register']];
const text = body => (_, response) => say(response, 200, body, { 'Content-Type': 'application/json' });

// All that a challenge may contain besides what the client looks for.
const odd = {
    'in capitals': c => `bEARER RESOURCE_METADATA="${c.resource_metadata}"`,
    'after another scheme': c => `Basic realm="a, b", Bearer error="invalid_token", resource_metadata="${c.resource_metadata}"`,
    'before another scheme': c => `Bearer resource_metadata="${c.resource_metadata}", Basic realm="x"`,
    'after a token68': c => `Negotiate YWJj==, Bearer realm="x",resource_metadata="${c.resource_metadata}"`,
    'in the second header': c => ['Digest realm="x", nonce="Bearer resource_metadata=\\"http://127.0.0.1:1/\\""',
        `Bearer resource_metadata="${c.resource_metadata}"`],
    'with escapes and empty elements': c => `, ,Bearer realm="a\\"b" , , resource_metadata="${c.resource_metadata.replace('o', '\\o')}",`,
};

export const discovery = [
    ...Object.entries(odd).map(([how, challenge]) => ({
        what: `reads a challenge ${how}`,
        rs: { challenge, at: ['/elsewhere'] },
        set: realm => {
            realm.rs.settings.challenge = c => challenge({ ...c, resource_metadata: `${realm.rs.origin}/elsewhere` });
        },
        visits: 1,
        check: realm => assert.deepEqual(paths(realm, 'rs').filter(path => path !== '/mcp'), ['/elsewhere']),
    })),
    {
        what: 'looks at the path of the server, then at the root, if the challenge names no metadata',
        rs: { challenge: () => 'Bearer', at: [PRM], prm: m => ({ ...m, resource: m.resource.replace(/\/mcp$/, '') }) },
        visits: 1,
        check: realm => {
            assert.deepEqual(paths(realm, 'rs').filter(path => path !== '/mcp'), [`${PRM}/mcp`, PRM]);
            const [authorize] = realm.at('as', '/authorize');
            const [token] = realm.at('as', '/token');
            for (const sent of [authorize.query, token.form]) assert.deepEqual(sent.getAll('resource'), [realm.rs.origin]);
        },
    },
    {
        what: 'looks there too if there is no challenge at all',
        rs: { challenge: () => undefined },
        visits: 1,
    },
    {
        what: 'does not guess if the metadata that the challenge names is missing',
        rs: { challenge: c => ({ ...c, resource_metadata: `${c.resource_metadata}/gone` }) },
        fails: ['/gone', '404'], visits: 0, never: nothingElse,
    },
    {
        what: 'says so if there is no metadata anywhere',
        rs: { challenge: () => 'Bearer', at: [] },
        fails: ['legacy'], visits: 0, never: [...nothingElse, ['rs', ASM]],
    },
    ...Object.entries({
        'another origin': () => 'https://evil.example/mcp',
        'another port': m => m.resource.replace(/:\d+/, ':1'),
        'another path': m => `${m.resource}2`,
        'part of a segment of the path': m => m.resource.slice(0, -1),
        'a path below': m => `${m.resource}/more`,
        'a user': m => m.resource.replace('://', '://u@'),
        nothing: () => undefined,
        'a list': m => [m.resource],
    }).map(([what, resource]) => ({
        what: `refuses metadata whose resource is ${what}`,
        rs: { prm: m => ({ ...m, resource: resource(m) }) },
        fails: ['resource'], visits: 0, never: [...nothingElse, ['as']],
    })),
    ...Object.entries({
        'no authorization server': m => ({ ...m, authorization_servers: undefined }),
        'an empty list of them': m => ({ ...m, authorization_servers: [] }),
        'one that is no URL': m => ({ ...m, authorization_servers: ['not a url'] }),
        'one over http elsewhere': m => ({ ...m, authorization_servers: ['http://issuer.example'] }),
        'one with a query': m => ({ ...m, authorization_servers: [`${m.authorization_servers[0]}?x=1`] }),
        'one with a fragment': m => ({ ...m, authorization_servers: [`${m.authorization_servers[0]}#x`] }),
        'a file': m => ({ ...m, authorization_servers: ['file:///etc/passwd'] }),
    }).map(([what, prm]) => ({
        what: `refuses metadata with ${what}`,
        rs: { prm }, fails: [/authorization.server|issuer|cannot be asked for/], visits: 0, never: nothingElse,
    })),
    ...Object.entries({
        HTML: '<html>login</html>', 'an array': '[1]', 'half an object': '{"resource":', 'nested too deeply': '['.repeat(5000),
        'too long': JSON.stringify({ resource: 'x'.repeat(200_000) }), 'nothing': '',
        'two resources': '{"resource":"http://127.0.0.1:1/","resource":"http://127.0.0.1:2/"}',
    }).map(([what, body]) => ({
        what: `refuses metadata that is ${what}`,
        set: realm => { realm.rs.instead[`${PRM}/mcp`] = text(body); },
        fails: [`${PRM}/mcp`], visits: 0, never: [...nothingElse, ['as']],
    })),
    {
        what: 'follows no redirect to metadata',
        more: { stranger: {} },
        set: realm => {
            realm.rs.instead[`${PRM}/mcp`] = (_, response) => say(response, 302, '', { Location: `${realm.stranger.origin}${ASM}` });
        },
        fails: [`${PRM}/mcp`], visits: 0, never: nothingElse,
    },
    ...Object.entries({
        'link-local': 'https://169.254.169.254/latest/meta-data', 'http at another machine': 'http://10.0.0.1/prm',
        'no http': 'ftp://127.0.0.1/prm',
    }).map(([what, url]) => ({
        what: `does not fetch metadata at an address that is ${what}`,
        rs: { challenge: c => ({ ...c, resource_metadata: url }) },
        options: { fetch_ms: 3000 },
        fails: [url.split('/')[2]], visits: 0, never: [...nothingElse, ['as'], ['rs', `${PRM}/mcp`]],
    })),
    {
        what: 'looks for the metadata of an issuer with a path in three places',
        as: { path: '/tenant', at: [`/tenant${OIDC}`] }, visits: 1,
        check: realm => assert.deepEqual(paths(realm, 'as').slice(0, 3), [`${ASM}/tenant`, `${OIDC}/tenant`, `/tenant${OIDC}`]),
    },
    {
        what: 'looks for the metadata of an issuer without a path in two places',
        as: { at: [OIDC] }, visits: 1,
        check: realm => assert.deepEqual(paths(realm, 'as').slice(0, 2), [ASM, OIDC]),
    },
    {
        what: 'looks on if one of these places has a page for people',
        as: { at: [OIDC] }, set: realm => { realm.as.instead[ASM] = text('<!DOCTYPE html><title>Welcome</title>'); }, visits: 1,
    },
    {
        what: 'stops at the first document, even if it is wrong',
        as: { path: '/tenant', metadata: m => ({ ...m, issuer: 'https://evil.example' }) },
        fails: ['https://evil.example', 'trusted'], visits: 0, never: [['as', `${OIDC}/tenant`], ['as', `/tenant${OIDC}`]],
    },
    ...Object.entries({
        'with a slash': i => `${i}/`, 'in capitals': i => i.toUpperCase(), 'with a port of the scheme': i => `${i}:80`,
        'of another tenant': i => `${i}/other`,
    }).map(([what, issuer]) => ({
        what: `refuses an issuer ${what}`,
        as: { metadata: m => ({ ...m, issuer: issuer(m.issuer) }) },
        fails: ['issuer', 'trusted'], visits: 0, never: nothingElse,
    })),
    {
        what: 'refuses metadata without an issuer',
        as: { metadata: m => ({ ...m, issuer: undefined }) }, fails: ['issuer'], visits: 0, never: nothingElse,
    },
    {
        what: 'accepts another issuer that it was told to trust',
        as: { metadata: m => ({ ...m, issuer: `${m.issuer}/` }), back: (back, _) => { back.set('iss', `${back.get('iss')}/`); } },
        options: realm => ({ trusted_issuer: `${realm.as.issuer}/` }),
        visits: 1,
    },
    ...Object.entries({
        'no PKCE': [undefined, ['PKCE', /assume.pkce/]],
        'plain PKCE alone': [['plain'], ['PKCE', 'S256']],
        's256 instead of S256': [['s256'], ['PKCE', 'S256']],
        'PKCE as a text': ['S256', ['code_challenge_methods_supported']],
    }).map(([what, [methods, fails]]) => ({
        what: `refuses a server with ${what}`,
        as: { metadata: m => ({ ...m, code_challenge_methods_supported: methods }) }, fails, visits: 0, never: nothingElse,
    })),
    {
        what: 'assumes PKCE if it was told to',
        as: { metadata: m => ({ ...m, code_challenge_methods_supported: undefined }) },
        options: { assume_pkce: true }, visits: 1,
        check: realm => assert.equal(realm.at('as', '/authorize')[0].query.get('code_challenge_method'), 'S256'),
    },
    ...Object.entries({
        'http at another machine': 'http://issuer.example/x', 'a script': 'javascript:alert(1)', 'a file': 'file:///etc/passwd',
        'an option': '--help', 'a user': 'http://u:p@127.0.0.1/x', 'a fragment': 'http://127.0.0.1/x#y', 'spaces': 'http://127.0.0.1/ x',
        nothing: undefined, 'a number': 1,
    }).flatMap(([what, url]) => ['authorization_endpoint', 'token_endpoint'].map(endpoint => ({
        what: `refuses a server whose ${endpoint} is ${what}`,
        as: { metadata: m => ({ ...m, [endpoint]: url }) },
        fails: [typeof url === 'string' ? url : endpoint, 'endpoint'], visits: 0, never: nothingElse,
    }))),
    {
        what: 'keeps the query of the authorization endpoint',
        as: { metadata: m => ({ ...m, authorization_endpoint: `${m.authorization_endpoint}?tenant=a%20b` }) },
        visits: 1,
        check: realm => assert.equal(realm.at('as', '/authorize')[0].query.get('tenant'), 'a b'),
    },
    ...Object.entries({ 'the MCP server': ['rs', `${PRM}/mcp`], 'the authorization server': ['as', ASM], registration: ['as', '/register'] })
        .flatMap(([what, [at, path]]) => [
            {
                what: `waits only a while for ${what}`, options: { fetch_ms: 400 }, fails: [path, /time/i], visits: 0,
                set: realm => { realm[at].instead[path] = () => {}; },
            },
            {
                what: `reports that ${what} hangs up`, fails: [path], visits: 0,
                set: realm => { realm[at].instead[path] = (_, response) => response.destroy(); },
            },
        ]),
    {
        what: 'chooses the issuer that it was configured for',
        rs: { prm: m => ({ ...m, authorization_servers: ['https://issuer.example', ...m.authorization_servers] }) },
        options: realm => ({ issuer: realm.as.issuer }), visits: 1,
    },
    {
        what: 'gives its client id to no other issuer',
        as: { clients: { mine: { secret: 'sesame', method: 'client_secret_basic' } } },
        options: { client_id: 'mine', client_secret: 'sesame', issuer: 'https://issuer.example' },
        fails: ['https://issuer.example'], visits: 0, never: nothingElse,
    },
    {
        what: 'registers as a native client that wants refresh tokens',
        visits: 1,
        check: realm => {
            const [wanted] = realm.at('as', '/register').map(seen => JSON.parse(seen.text));
            assert.equal(wanted.application_type, 'native');
            assert.deepEqual(new Set(wanted.grant_types), new Set(['authorization_code', 'refresh_token']));
            assert.deepEqual(wanted.redirect_uris, ['http://127.0.0.1:41415/callback']);
            assert.equal(wanted.client_name, 'A test');
        },
    },
    {
        what: 'prefers its metadata document to registration',
        as: { metadata: m => ({ ...m, client_id_metadata_document_supported: true }) },
        options: { client_metadata_url: 'https://client.example/metadata.json' }, visits: 1, never: [['as', '/register']],
        check: realm => assert.equal(realm.at('as', '/token')[0].form.get('client_id'), 'https://client.example/metadata.json'),
    },
    {
        what: 'does not use its metadata document where it is not supported',
        options: { client_metadata_url: 'https://client.example/metadata.json' }, visits: 1,
        check: realm => assert.match(realm.at('as', '/token')[0].form.get('client_id'), /^client-/),
    },
    {
        what: 'prefers a client id that is configured',
        as: {
            metadata: m => ({ ...m, client_id_metadata_document_supported: true }),
            clients: { mine: { method: 'none' } },
        },
        options: { client_id: 'mine', client_metadata_url: 'https://client.example/metadata.json' }, visits: 1,
        never: [['as', '/register']],
    },
    {
        what: 'says how to configure a client id where it cannot register',
        as: { metadata: m => ({ ...m, registration_endpoint: undefined }) },
        fails: [/client.id/], visits: 0, never: nothingElse,
    },
    ...Object.entries({
        'with an error of OAuth': [400, { error: 'invalid_redirect_uri', error_description: 'no \u001b[31mred' }, 'invalid_redirect_uri'],
        'with a text': [403, 'Forbidden', '403'],
        'with HTML': [500, '<html><script>', '500'],
        'without a client id': [201, { client_secret: 'x' }, 'client_id'],
        'with a client id that is too long': [201, { client_id: 'x'.repeat(100_000) }, '/register'],
        'with a client id that is no text': [201, { client_id: 7 }, 'client_id'],
        'with a method that it did not ask for': [201, { client_id: 'x', token_endpoint_auth_method: 'tls_client_auth' }, 'tls_client_auth'],
    }).map(([what, [status, body, error]]) => ({
        what: `reports a registration that is answered ${what}`,
        set: realm => { realm.as.instead['/register'] = (_, response) => say(response, status, body); },
        fails: [error], visits: 0, never: [['as', '/authorize'], ['as', '/token']],
        check: (_, client, [outcome]) => assert.doesNotMatch(outcome.error, /[\u0000-\u001f]/),
    })),
    {
        what: 'registers nowhere that a redirect leads to',
        set: realm => {
            realm.as.instead['/register'] = (_, response) => say(response, 307, '', { Location: `${realm.stranger.origin}/register` });
        },
        fails: ['/register'], visits: 0, never: [['as', '/authorize']],
    },
    {
        what: 'uses a secret that it got although the server says that it supports none',
        as: { methods: ['none'] },
        set: realm => {
            realm.as.instead['/register'] = (_, response) => {
                realm.as.clients.set('odd', { method: 'client_secret_post', secret: realm.secret() });
                say(response, 201, {
                    client_id: 'odd', client_secret: realm.secrets.at(-1), token_endpoint_auth_method: 'client_secret_post',
                });
            };
        },
        visits: 1,
    },
    ...['client_secret_basic', 'client_secret_post', 'none'].map(method => ({
        what: `authenticates by ${method} if that is all there is`,
        as: { methods: [method] }, visits: 1,
    })),
    {
        what: 'encodes what HTTP Basic would mix up',
        as: { methods: ['client_secret_basic'], clients: { 'a:b c': { secret: 'ü%:+ &=', method: 'client_secret_basic' } } },
        options: { client_id: 'a:b c', client_secret: 'ü%:+ &=' }, visits: 1,
    },
    {
        what: 'uses HTTP Basic if the server does not say what it supports',
        as: {
            clients: { mine: { secret: 'sesame', method: 'client_secret_basic' } },
            metadata: m => ({ ...m, token_endpoint_auth_methods_supported: undefined }),
        },
        options: { client_id: 'mine', client_secret: 'sesame' }, visits: 1,
    },
    {
        what: 'needs no metadata of a server that is configured as one of 2025-03-26',
        rs: { at: [] },
        options: { legacy_endpoints: true },
        set: realm => {
            const to = path => async (seen, response) => {
                const answer = await fetch(`${realm.as.origin}${path}?${seen.query}`, {
                    redirect: 'manual', method: seen.method, ...(seen.method === 'POST' && { body: seen.text }),
                    headers: { 'Content-Type': seen.headers['content-type'] ?? 'text/plain' },
                });
                const location = answer.headers.get('location')?.replace(/&?iss=[^&]*/, '');
                say(response, answer.status, await answer.text(), { 'Content-Type': 'application/json', ...(location && { Location: location }) });
            };
            for (const path of ['/authorize', '/token', '/register']) realm.rs.instead[path] = to(path);
        },
        visits: 1, combined: true,
    },
];
