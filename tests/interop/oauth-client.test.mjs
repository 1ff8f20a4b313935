// A client and authorization servers and MCP servers that are hostile or odd in one way each. Every row says what they do
// and what the client has to do.
//
// What holds for all rows is checked at its end: tokens, codes and secrets go only where they belong and into no output,
// and the server `stranger` gets no request unless the row allows it.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { follow, startClient } from './support/oauth-client.mjs';
import { startRealm } from './support/realm.mjs';
import { answers } from './support/rows-answers.mjs';
import { discovery } from './support/rows-discovery.mjs';
import { machines } from './support/rows-machines.mjs';
import { scopes } from './support/rows-scopes.mjs';
import { tokens } from './support/rows-tokens.mjs';

const subjects = {
    'where the authorization server is': discovery,
    'what the browser brings back': answers,
    'tokens and their renewal': tokens,
    'scopes and repeated refusals': scopes,
    'proofs, devices and machines': machines,
};

// A row:
//   as, rs, more   settings of the servers (support/realm.mjs)
//   set            changes the realm before the client starts
//   options        of the client, or a function that makes them of the realm
//   browser        what the user does (support/oauth-client.mjs)
//   steps          of the client; one array begins at once. `between` is called before each array but the first
//   fails          what the last step's error has to say, all of them; otherwise all steps succeed
//   visits         how often the user is asked
//   combined       the MCP server is the authorization server too
//   never          [where, path] of requests that must not be seen
//   check          looks at the rest: (realm, client, outcomes)
async function play(row) {
    const more = { stranger: {}, ...row.more };
    const realm = await startRealm({ as: row.as, rs: row.rs, more });
    let client;
    try {
        await row.set?.(realm);
        const options = typeof row.options === 'function' ? await row.options(realm) : row.options;
        client = await startClient({ server: realm.rs.url, ...options }, (visit, n) => (row.browser ?? follow)(visit, n, realm));
        assert.equal(client.started.rc, 0, client.started.error);
        const outcomes = [];
        for (const [i, steps] of (row.steps ?? [['list']]).entries()) {
            if (i) await row.between?.(realm, client, i);
            outcomes.push(...await client.run(...steps));
        }
        await client.stop();
        judge(row, realm, client, outcomes);
        await row.check?.(realm, client, outcomes);
    } catch (error) {
        const seen = realm.log.map(({ at, method, path, text }) => `    ${at} ${method} ${path} ${text.slice(0, 300)}`);
        error.message += `\n${client?.output ?? ''}${client?.stderr ?? ''}\n${seen.join('\n')}`;
        throw error;
    } finally {
        await client?.stop().catch(() => {});
        await realm.close();
    }
}

function judge(row, realm, client, outcomes) {
    const last = outcomes.at(-1);
    const wanted = [row.fails ?? []].flat();
    if (wanted.length) assert.notEqual(last.rc, 0, 'it has to fail');
    for (const outcome of wanted.length ? outcomes.slice(0, -1) : outcomes) {
        assert.equal(outcome.rc, row.failed?.includes(outcome.step) ? outcome.rc : 0, `${outcome.step}: ${outcome.error}`);
    }
    for (const text of wanted) {
        assert.ok(text instanceof RegExp ? text.test(last.error) : last.error.includes(text), `${text} is not in: ${last.error}`);
    }
    if (row.visits !== undefined) assert.equal(client.visits.length, row.visits, 'visits');
    for (const [at, path] of [['stranger'], ...row.never ?? []]) {
        if (row.allows?.includes(at)) continue;
        assert.deepEqual(realm.at(at, path).map(seen => `${seen.method} ${seen.path}`), [], `${at} gets requests`);
    }
    for (const seen of realm.log) {
        assert.ok(seen.at === 'rs' || !/^(Bearer|DPoP)/i.test(seen.headers.authorization ?? ''), `a token at ${seen.at}`);
        assert.ok(![...seen.query.values()].some(value => realm.tokens.has(value)), 'a token in a query');
        assert.ok(seen.at !== 'rs' || row.combined || !realm.secrets.some(s => seen.text.includes(s)), 'a secret at the MCP server');
    }
    const told = realm.secrets.filter(secret => client.output.includes(secret));
    assert.deepEqual(told, [], 'secrets in the output');
    assert.equal(client.stderr, '');
}

for (const [subject, rows] of Object.entries(subjects)) {
    describe(subject, { timeout: 240_000, concurrency: 6 }, () => {
        for (const row of rows) it(row.what, { timeout: 120_000 }, () => play(row));
    });
}
