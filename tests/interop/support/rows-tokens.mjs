// Rows of oauth-client.test.mjs: answers of the token endpoint, renewal, and what is remembered.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startClient } from './oauth-client.mjs';
import { say } from './realm.mjs';

const answer = change => ({ answer: change });
const grants = (realm, at = 'as') => realm.at(at, '/token').map(seen => seen.form.get('grant_type'));
const expire = realm => { for (const token of realm.tokens.values()) token.until = 0; };
const instead = (realm, path, status, body, headers) => {
    realm.as.instead[path] = (_, response) => say(response, status, body, headers);
};

// Runs a second client on what a first one left behind.
function again({ what, as, rs, more, options = {}, between, ...row }) {
    const store = join(mkdtempSync(join(tmpdir(), 'mcp-oauth-client-')), 'record.json');
    return {
        what, as, rs, more, options: { ...options, store }, ...row,
        set: async realm => {
            const first = await startClient({ server: realm.rs.url, ...options, store });
            const [outcome] = await first.run('list');
            assert.equal(outcome.rc, 0, outcome.error);
            await first.stop();
            realm.record = readFileSync(store, 'utf8');
            realm.log.length = 0;
            await between?.(realm);
        },
    };
}

export const tokens = [
    ...Object.entries({
        'another type': [a => ({ ...a, token_type: 'mac' }), 'type: mac'],
        'no token': [a => ({ ...a, access_token: undefined }), 'access_token'],
        'an empty token': [a => ({ ...a, access_token: '' }), 'access_token'],
        'a token with a line break': [a => ({ ...a, access_token: 'a\r\nX-Evil: 1' }), 'access_token'],
        'a token that is a number': [a => ({ ...a, access_token: 5 }), 'access_token'],
        'a token of 100 KiB': [a => ({ ...a, access_token: 'x'.repeat(100_000) }), '/token'],
        'a list': [a => [a], '/token'],
    }).map(([what, [change, text]]) => ({
        what: `refuses an answer with ${what}`, as: answer(change), fails: [text], visits: 1,
        check: realm => assert.equal(realm.at('rs', '/mcp').some(seen => seen.headers.authorization), false),
    })),
    ...Object.entries({
        'no type': a => ({ ...a, token_type: undefined }),
        'its type in small letters': a => ({ ...a, token_type: 'bearer' }),
        'no lifetime': a => ({ ...a, expires_in: undefined }),
        'a lifetime that is a text': a => ({ ...a, expires_in: '3600' }),
        'an endless lifetime': a => ({ ...a, expires_in: 1e300 }),
        'no scope': a => ({ ...a, scope: undefined }),
        'members that nobody knows': a => ({ ...a, id_token: 'a.b.c', more: [1, null] }),
    }).map(([what, change]) => ({ what: `accepts an answer with ${what}`, as: answer(change), visits: 1 })),
    ...Object.entries({
        'an error of OAuth': [400, { error: 'invalid_grant', error_description: 'code is old' }, ['invalid_grant', 'code is old']],
        'a text': [403, 'Forbidden', ['403']],
        HTML: [502, '<html>\u001b[31m<h1>Bad Gateway</h1>', ['502']],
        'an error with status 200': [200, { error: 'invalid_request' }, ['/token']],
        'a JSON error of another kind': [400, { error: { code: 7 } }, ['400']],
        'an error about the resource': [400, { error: 'invalid_target' }, ['invalid_target', /omit.resource/]],
    }).map(([what, [status, body, fails]]) => ({
        what: `reports ${what} instead of a token`, fails, visits: 1,
        set: realm => instead(realm, '/token', status, body),
        check: (_, client, [outcome]) => assert.doesNotMatch(outcome.error, /[\u0000-\u001f]/),
    })),
    ...[301, 302, 307, 308].map(status => ({
        what: `sends no secret where a ${status} of the token endpoint leads`,
        as: { methods: ['client_secret_post'] }, fails: ['/token'], visits: 1,
        set: realm => instead(realm, '/token', status, '', { Location: `${realm.stranger.origin}/token` }),
    })),
    {
        what: 'waits only a while for a token', options: { fetch_ms: 400 }, fails: ['/token', /time/i], visits: 1,
        set: realm => { realm.as.instead['/token'] = () => {}; },
    },
    {
        what: 'sends its token to no other server that the MCP server leads to',
        steps: [['list'], ['call read']], failed: ['call read'],
        between: realm => {
            realm.rs.instead['/mcp'] = (_, response) => say(response, 307, '', { Location: `${realm.stranger.origin}/mcp` });
        },
        fails: [/redirect|307/],
    },
    {
        what: 'sends its token with every request, in the header alone',
        rs: { prm: m => ({ ...m, bearer_methods_supported: ['query', 'body'] }) }, steps: [['list'], ['call read', 'call write'], ['list']],
        as: { grant: () => 'mcp:write' }, visits: 1,
        check: realm => {
            const requests = realm.at('rs', '/mcp');
            const first = requests.findIndex(seen => seen.headers.authorization);
            assert.ok(first >= 0 && requests.length - first >= 5);
            for (const seen of requests.slice(first)) assert.match(seen.headers.authorization ?? '', /^Bearer \S+$/);
        },
    },
    {
        what: 'renews an expired token, with a new refresh token each time',
        steps: [['list'], ['call read'], ['call read']], visits: 1, between: expire,
        check: realm => {
            assert.deepEqual(grants(realm), ['authorization_code', 'refresh_token', 'refresh_token']);
            const [, one, two] = realm.at('as', '/token').map(seen => seen.form);
            assert.notEqual(one.get('refresh_token'), two.get('refresh_token'));
            assert.deepEqual(one.getAll('resource'), [realm.rs.url]);
        },
    },
    {
        what: 'keeps a refresh token that is not replaced',
        as: { rotate: false, answer: (a, form) => (form.get('grant_type') === 'refresh_token' ? { ...a, refresh_token: undefined } : a) },
        steps: [['list'], ['call read'], ['call read']], visits: 1, between: expire,
        check: realm => assert.deepEqual(grants(realm), ['authorization_code', 'refresh_token', 'refresh_token']),
    },
    {
        what: 'asks the user again if the refresh token is not accepted',
        steps: [['list'], ['call read']], visits: 2,
        between: realm => {
            expire(realm);
            realm.as.refreshes.clear();
        },
        check: realm => assert.deepEqual(grants(realm), ['authorization_code', 'refresh_token', 'authorization_code']),
    },
    ...Object.entries({ 'an error': [500, 'sorry'], 'a temporary error': [503, { error: 'temporarily_unavailable' }] })
        .map(([what, [status, body]]) => ({
            what: `keeps the refresh token when its use is answered by ${what}`,
            steps: [['list'], ['call read'], ['call read']], failed: ['call read'], visits: 1,
            between: (realm, _, i) => {
                if (i === 1) expire(realm), instead(realm, '/token', status, body);
                else delete realm.as.instead['/token'];
            },
            check: (realm, _, outcomes) => {
                assert.deepEqual(outcomes.map(o => o.rc === 0), [true, false, true]);
                assert.deepEqual(grants(realm), ['authorization_code', 'refresh_token', 'refresh_token']);
            },
        })),
    {
        what: 'asks the user when there is no refresh token',
        as: { refresh: false }, steps: [['list'], ['call read']], visits: 2, between: expire,
        check: realm => assert.deepEqual(grants(realm), ['authorization_code', 'authorization_code']),
    },
    {
        what: 'logs in once for many requests',
        rs: { accept: (token, seen, text) => text !== 'x' },
        steps: [['list'], Array.from({ length: 8 }, () => 'call read')], visits: 1, between: expire,
        check: realm => assert.deepEqual(grants(realm), ['authorization_code', 'refresh_token']),
    },
    {
        what: 'fetches the metadata of the server again at each refusal',
        more: { next: {} }, steps: [['list'], ['call read']], visits: 2,
        between: realm => {
            realm.moved = true;
            expire(realm);
        },
        set: realm => {
            realm.rs.settings.prm = m => ({ ...m, authorization_servers: [realm.moved ? realm.next.issuer : realm.as.issuer] });
        },
        check: realm => {
            assert.equal(grants(realm).includes('refresh_token'), false);
            assert.deepEqual(grants(realm, 'next'), ['authorization_code']);
            assert.equal(realm.at('next', '/register').length, 1);
            const id = realm.at('as', '/token')[0].form.get('client_id');
            const refreshes = [...realm.as.refreshes.keys()];
            for (const seen of realm.at('next')) {
                for (const value of [...seen.query.values(), ...seen.form.values()]) {
                    assert.ok(value !== id && !refreshes.includes(value), `${value} at another issuer`);
                }
            }
        },
    },
    again({
        what: 'remembers its client and its tokens', visits: 0, never: [['as']],
    }),
    again({
        what: 'renews with what it remembers', visits: 0, between: expire, never: [['as', '/register'], ['as', '/authorize']],
        check: realm => assert.deepEqual(grants(realm), ['refresh_token']),
    }),
    again({
        what: 'registers again if the server has forgotten it', visits: 1,
        between: realm => {
            expire(realm);
            realm.as.clients.clear();
        },
        check: realm => {
            assert.deepEqual(grants(realm), ['refresh_token', 'authorization_code']);
            assert.equal(realm.at('as', '/register').length, 1);
        },
    }),
    again({
        what: 'registers again when its secret has expired', as: { methods: ['client_secret_post'], refresh: false, expires: 1 }, visits: 1,
        between: expire,
        check: realm => assert.equal(realm.at('as', '/register').length, 1),
    }),
    again({
        what: 'registers once', as: { refresh: false }, visits: 1, between: expire, never: [['as', '/register']],
    }),
    ...[['a secret', { methods: ['client_secret_post'], refresh: false }], ['a refresh token', {}]].map(([what, as]) => again({
        what: `sends ${what} to no other token endpoint than the first one`,
        as: { ...as }, visits: undefined, fails: ['token endpoint', 'logout'], never: [['as', '/token']],
        between: realm => {
            expire(realm);
            realm.as.settings.metadata = m => ({ ...m, token_endpoint: `${realm.stranger.origin}/token` });
        },
    })),
    again({
        what: 'keeps what it remembers for another server', options: {}, visits: 1,
        between: async realm => {
            realm.rs.settings.prm = m => ({ ...m, authorization_servers: [realm.next.issuer] });
            expire(realm);
        },
        more: { next: {} }, never: [['as', '/token']],
    }),
    {
        what: 'logs out at the server, and forgets',
        steps: [['list'], ['logout'], ['state'], ['list']], visits: 2,
        check: (realm, client) => {
            assert.ok(realm.at('as', '/revoke').length >= 1);
            assert.equal(client.state.has_token, false);
        },
    },
    {
        what: 'tells what it has, and no token',
        steps: [['list'], ['state']], visits: 1,
        check: (realm, { state }) => {
            assert.equal(state.issuer, realm.as.issuer);
            assert.equal(state.has_token && state.can_refresh, true);
            assert.ok(state.expires > Date.now() && state.expires <= Date.now() + 3_600_000);
            assert.equal(state.resource, realm.rs.url);
        },
    },
];
