// A client of the library and the authorization examples of the official SDKs, each with its own authorization server.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { startIssuer } from './support/issuer.mjs';
import { startClient } from './support/oauth-client.mjs';
import { browse } from './support/oauth.mjs';
import { protect } from './support/protected.mjs';
import { foreign, freePort } from './support/server.mjs';
import { until } from './support/wait.mjs';

const peers = process.env.OAUTH_PEERS.split(' ');
const answers = url => fetch(url).then(response => response.ok, () => false);

// Starts the MCP server and the authorization server of an example. Returns the URL of the first, and stop().
async function startExample(peer) {
    const [mcp, as] = [await freePort(), await freePort()];
    const stops = [];
    const run = async (command, args, port, more = {}) => {
        const server = await foreign('env', [...Object.entries(more).map(([k, v]) => `${k}=${v}`), command, ...args], port);
        stops.push(server.stop);
    };
    if (peer === 'ts1') {
        const script = join(process.env.PACKAGES, 'node_modules/@modelcontextprotocol/sdk/dist/esm/examples/server/simpleStreamableHttp.js');
        await run(process.execPath, [script, '--oauth', '--oauth-strict'], mcp, { MCP_PORT: mcp, MCP_AUTH_PORT: as });
    } else {
        const [python, examples] = ['PYTHON', 'EXAMPLES'].map(what => process.env[`${peer.toUpperCase()}_${what}`]);
        const module = name => ['-c', `import sys; sys.path += ${JSON.stringify([examples, join(examples, '../../../packages')])}; from mcp_simple_auth.${name} import main; main()`];
        await run(python, [...module('auth_server'), `--port=${as}`], as);
        await run(python, [...module('server'), `--port=${mcp}`, `--auth-server=http://localhost:${as}`, '--oauth-strict'], mcp);
    }
    const metadata = `http://localhost:${as}/.well-known/oauth-authorization-server`;
    await until(() => answers(metadata), metadata, 20_000);
    return { url: `http://localhost:${mcp}/mcp`, stop: () => Promise.all(stops.map(stop => stop())) };
}

// A user who fills in the form of the examples.
const fillIn = async ({ url, redirect_uri: redirect }) =>
    `back ${(await browse(url, { redirect, user: 'demo_user', password: 'demo_password' })).href}`;

describe('the authorization examples of the official SDKs', { timeout: 300_000 }, () => {
    for (const peer of peers.filter(name => name !== 'chromium' && !name.startsWith('fastmcp'))) {
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
