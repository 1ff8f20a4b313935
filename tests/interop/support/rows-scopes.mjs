// Rows of oauth-client.test.mjs: scopes, and servers that refuse again and again.

import assert from 'node:assert/strict';
import { say } from './realm.mjs';

const asked = (realm, at = 'as') => realm.at(at, '/authorize').map(seen => seen.query.get('scope'));
const sorted = texts => texts.map(text => text?.split(' ').sort().join(' ') ?? null);
const supports = (...scopes) => m => ({ ...m, scopes_supported: scopes });

export const scopes = [
    {
        what: 'asks for the scopes of the challenge, not for all that exist',
        rs: { scope: 'mcp:read', prm: supports('mcp:read', 'mcp:write', 'admin') }, visits: 1,
        check: realm => assert.deepEqual(asked(realm), ['mcp:read']),
    },
    {
        what: 'asks for the scopes of the metadata if the challenge names none',
        rs: { prm: supports('a', 'b') }, visits: 1, check: realm => assert.deepEqual(sorted(asked(realm)), ['a b']),
    },
    { what: 'asks for no scope if nobody names one', visits: 1, check: realm => assert.deepEqual(asked(realm), [null]) },
    {
        what: 'asks for the configured scopes if the challenge names none',
        rs: { prm: supports('a', 'b') }, options: { scope: 'b' }, visits: 1, check: realm => assert.deepEqual(asked(realm), ['b']),
    },
    {
        what: 'asks for offline access where the authorization server knows it',
        as: { metadata: supports('mcp:read', 'offline_access') }, rs: { scope: 'mcp:read' }, visits: 1,
        check: realm => assert.deepEqual(sorted(asked(realm)), ['mcp:read offline_access']),
    },
    {
        what: 'does not ask for offline access elsewhere',
        as: { metadata: supports('mcp:read') }, rs: { scope: 'mcp:read' }, visits: 1,
        check: realm => assert.deepEqual(asked(realm), ['mcp:read']),
    },
    {
        what: 'steps up with the scopes that it had, and not with its refresh token',
        rs: { scope: 'mcp:read' }, steps: [['list'], ['call write'], ['list']], visits: 2,
        check: realm => {
            // The second time, the client asks whether it is still known before the person is asked.
            assert.deepEqual(sorted(asked(realm)), ['mcp:read', 'mcp:read mcp:write', 'mcp:read mcp:write']);
            assert.deepEqual(realm.at('as', '/token').map(seen => seen.form.get('grant_type')),
                ['authorization_code', 'authorization_code']);
        },
    },
    {
        what: 'renews with the scopes of the last step',
        rs: { scope: 'mcp:read' }, steps: [['list'], ['call write'], ['call write']], visits: 2,
        between: (realm, _, i) => {
            if (i === 2) for (const token of realm.tokens.values()) token.until = 0;
        },
    },
    {
        what: 'does not ask twice for scopes that are not granted',
        as: { grant: () => 'mcp:read' }, rs: { scope: 'mcp:read' }, steps: [['list'], ['call write']],
        fails: ['mcp:write'], failed: ['call write'],
        check: (_, client) => assert.ok(client.visits.length <= 2, `${client.visits.length} visits`),
    },
    {
        what: 'takes a refusal without new scopes as final',
        rs: { scope: 'mcp:read' }, steps: [['list'], ['call read']], fails: ['scope'], visits: 1,
        between: realm => {
            realm.rs.instead['/mcp'] = (seen, response) => say(response, 403, '', {
                'WWW-Authenticate': 'Bearer error="insufficient_scope", scope="mcp:read"',
            });
        },
    },
    {
        what: 'takes a refusal for another reason as final',
        steps: [['list'], ['call read']], fails: ['403'], visits: 1,
        between: realm => { realm.rs.instead['/mcp'] = (seen, response) => say(response, 403, 'no'); },
    },
    {
        what: 'stops when a server names new scopes without end',
        steps: [['list'], ['call read']], fails: ['3 authorizations'],
        between: realm => {
            let n = 0;
            realm.rs.instead['/mcp'] = (seen, response) => say(response, 403, '', {
                'WWW-Authenticate': `Bearer error="insufficient_scope", scope="more:${n++}"`,
            });
        },
        check: (_, client) => assert.ok(client.visits.length >= 2 && client.visits.length <= 4, `${client.visits.length} visits`),
    },
    {
        what: 'stops when a server accepts no token',
        rs: { accept: () => false }, fails: ['401'],
        check: (_, client) => assert.ok(client.visits.length >= 1 && client.visits.length <= 3, `${client.visits.length} visits`),
    },
    {
        what: 'sends no scope that would change the request',
        rs: { challenge: c => ({ ...c, scope: 'a&redirect_uri=http://evil.example b' }) }, visits: 1,
        check: realm => {
            const [{ query }] = realm.at('as', '/authorize');
            assert.deepEqual(query.getAll('redirect_uri'), ['http://127.0.0.1:41415/callback']);
        },
    },
];
