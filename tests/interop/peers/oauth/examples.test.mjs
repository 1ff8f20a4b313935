// A client of the library and the authorization examples of the official SDKs, each with its own authorization server.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { startExample, USER } from './support/examples.mjs';
import { startIssuer } from './support/issuer.mjs';
import { startClient } from './support/oauth-client.mjs';
import { browse } from './support/oauth.mjs';
import { protect } from './support/protected.mjs';

const peers = process.env.OAUTH_PEERS.split(' ');
// A user who fills in the form of the examples.
const fillIn = async ({ url, redirect_uri: redirect }) =>
    `back ${(await browse(url, { redirect, ...USER })).href}`;

describe('the authorization examples of the official SDKs', { timeout: 300_000 }, () => {
    for (const peer of peers.filter(name => name !== 'chromium')) {
        it(peer, async () => {
            const example = await startExample(peer);
            try {
                const client = await startClient({ server: example.url }, fillIn);
                const outcomes = await client.run('list', 'state');
                if (peer !== 'ts1') outcomes.push(...await client.run('call get_time'));
                await client.stop();
                assert.deepEqual(outcomes.filter(({ rc }) => rc !== 0), [], client.output);
                assert.equal(client.visits.length, 1);
                assert.equal(client.state.has_token, true);
            } finally {
                await example.stop();
            }
        });
    }
});

describe('Chromium', { timeout: 120_000, skip: !peers.includes('chromium') }, () => {
    it('brings a user of mcpctl to oidc-provider and back', async () => {
        const issuer = await startIssuer();
        const server = await protect(issuer);
        const home = mkdtempSync(join(tmpdir(), 'mcp-chromium-'));
        const chromium = [process.env.CHROMIUM, '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
            `--user-data-dir=${join(home, 'profile')}`, '--dump-dom'];
        const env = {
            ...process.env, HOME: home, XDG_CONFIG_HOME: '', XDG_STATE_HOME: '', NO_COLOR: '1', BROWSER: ['timeout', '60', ...chromium].join(' '),
        };
        const mcpctl = (...words) => promisify(execFile)(process.env.MCPCTL, words, { env, cwd: home, timeout: 90_000 });
        try {
            const login = await mcpctl('login', server.url);
            assert.match(login.stderr, /logged in/);
            assert.equal((await mcpctl('read', server.url, server.uri('open.txt'))).stdout, 'open.txt\n');
        } finally {
            await server.stop();
            await issuer.close();
            rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
        }
    });
});
