// Rows of oauth-client.test.mjs: what the browser brings back.

import assert from 'node:assert/strict';
import { follow } from './oauth-client.mjs';

const noCode = [['as', '/token']];
const set = (name, value) => back => {
    if (value === undefined) back.delete(name);
    else back.set(name, typeof value === 'function' ? value(back.get(name)) : value);
};
const quiet = m => ({ ...m, authorization_response_iss_parameter_supported: undefined });

// A browser that changes the URL by which it comes back.
const by = change => async visit => {
    const answer = await follow(visit);
    return `back ${change(answer.slice('back '.length))}`;
};

const failure = (error, more) => back => {
    back.delete('code');
    back.set('error', error);
    for (const [name, value] of Object.entries(more ?? {})) back.set(name, value);
};

export const answers = [
    ...Object.entries({
        'is missing although the server promised it': { back: set('iss', undefined) },
        'names another server': { back: set('iss', 'https://evil.example') },
        'has a slash more': { back: set('iss', iss => `${iss}/`) },
        'is in capitals': { back: set('iss', iss => iss.toUpperCase()) },
        'is empty': { back: set('iss', '') },
        'names another server, which nobody promised': { back: set('iss', 'https://evil.example'), metadata: quiet },
        'is there twice': { back: back => { back.append('iss', back.get('iss')); } },
        'is there twice, once wrong': { back: back => { back.append('iss', 'https://evil.example'); } },
    }).map(([what, as]) => ({ what: `sends no code if iss ${what}`, as, fails: [/iss|twice/], visits: 1, never: noCode })),
    { what: 'needs no iss that nobody promised', as: { back: set('iss', undefined), metadata: quiet }, visits: 1 },
    { what: 'accepts a right iss that nobody promised', as: { metadata: quiet }, visits: 1 },
    {
        what: 'shows no error of a server whose iss is wrong',
        as: { back: back => { failure('access_denied', { error_description: 'GOTCHA' })(back); back.set('iss', 'https://evil.example'); } },
        fails: ['iss'], visits: 1, never: noCode,
        check: (_, client, [outcome]) => assert.doesNotMatch(outcome.error + client.output, /GOTCHA|access_denied/),
    },
    {
        what: 'shows no error of a server whose iss is missing',
        as: { back: back => { failure('access_denied', { error_description: 'GOTCHA' })(back); back.delete('iss'); } },
        fails: ['iss'], visits: 1, never: noCode,
        check: (_, client, [outcome]) => assert.doesNotMatch(outcome.error + client.output, /GOTCHA|access_denied/),
    },
    ...Object.entries({
        'is missing': { back: set('state', undefined) },
        'is another': { back: set('state', 'x') },
        'is empty': { back: set('state', '') },
        'is there twice': { back: back => { back.append('state', 'x'); } },
    }).map(([what, as]) => ({ what: `sends no code if state ${what}`, as, fails: [/state|answer|twice/], visits: 1, never: noCode })),
    ...Object.entries({
        'is missing': { back: set('code', undefined) },
        'is empty': { back: set('code', '') },
        'is there twice': { back: back => { back.append('code', 'x'); } },
        'comes with an error': { back: back => { back.set('error', 'access_denied'); } },
    }).map(([what, as]) => ({ what: `sends nothing if the code ${what}`, as, fails: [/code|error|answer|access_denied|twice/], visits: 1, never: noCode })),
    {
        what: 'says that the user refused',
        as: { back: failure('access_denied', { error_description: 'not today' }) },
        fails: ['access_denied', 'not today'], visits: 1, never: noCode,
    },
    {
        what: 'shows no control characters of an error',
        as: { back: failure('server_error', { error_description: 'a\u001b[2Jb\u0007\u202ec' }) },
        fails: ['server_error'], visits: 1, never: noCode,
        check: (_, client, [outcome]) => assert.doesNotMatch(outcome.error, /[\u0000-\u001f\u007f-\u009f\u202e]/),
    },
    ...Object.entries({
        'another path': url => url.replace('/callback', '/other'),
        'another port': url => url.replace(':41415', ':41416'),
        'another host': url => url.replace('127.0.0.1', 'evil.example'),
        'a longer host': url => url.replace('127.0.0.1:41415', '127.0.0.1:41415.evil.example'),
        'a user': url => url.replace('//', '//u@'),
        'a longer path': url => url.replace('/callback', '/callback/more'),
        https: url => url.replace('http:', 'https:'),
        'nothing of a URL': () => 'what?',
        'a very long query': url => `${url}&x=${'y'.repeat(100_000)}`,
    }).map(([what, change]) => ({
        what: `does not believe a browser that comes back to ${what}`,
        browser: by(change), fails: [], steps: [['list']], failed: ['list'], visits: 1, never: noCode,
        check: (_, client) => assert.notEqual(client.backs[0]?.rc, 0),
    })),
    {
        what: 'gives up when the user does',
        browser: async () => 'declined', fails: ['declined'], visits: 1, never: noCode,
    },
    {
        what: 'gives up when nobody comes back',
        browser: async () => 'nothing', options: { visit_ms: 300 }, fails: [/time/i], visits: 1, never: noCode,
        check: (_, client) => assert.equal(client.visitsEnded, 1),
    },
    {
        what: 'asks nobody if nobody is there',
        options: { alone: true }, fails: [/log ?in|person|authoriz/i], visits: 0, never: noCode,
    },
    {
        what: 'uses a code, a state and a verifier once',
        steps: [['list'], ['login']], visits: 2,
        check: realm => {
            const asked = realm.at('as', '/authorize').map(seen => seen.query);
            assert.notEqual(asked[0].get('state'), asked[1].get('state'));
            assert.notEqual(asked[0].get('code_challenge'), asked[1].get('code_challenge'));
            for (const query of asked) {
                assert.match(query.get('state'), /^[\w-]{22,}$/);
                assert.match(query.get('code_challenge'), /^[\w-]{43}$/);
                assert.equal(query.get('code_challenge_method'), 'S256');
                assert.equal(query.get('response_type'), 'code');
            }
            for (const seen of realm.at('as', '/token')) assert.match(seen.form.get('code_verifier'), /^[\w.~-]{43,128}$/);
        },
    },
    {
        what: 'names the server in every request, as it was written',
        visits: 1,
        check: realm => {
            assert.deepEqual(realm.at('as', '/authorize')[0].query.getAll('resource'), [realm.rs.url]);
            assert.deepEqual(realm.at('as', '/token')[0].form.getAll('resource'), [realm.rs.url]);
        },
    },
    {
        what: 'does not name the server if it was told to leave that out',
        options: { omit_resource: true }, visits: 1,
        check: realm => {
            assert.equal(realm.at('as', '/authorize')[0].query.has('resource'), false);
            assert.equal(realm.at('as', '/token')[0].form.has('resource'), false);
        },
    },
];
