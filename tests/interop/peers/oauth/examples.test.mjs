// A client of the library and the authorization examples of the official SDKs, each with its own authorization server.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { describe, it } from 'node:test';
import { startClient } from './support/oauth-client.mjs';
import { startIssuer } from './support/issuer.mjs';
import { browse } from './support/oauth.mjs';
import { startRealm } from './support/realm.mjs';
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

// Opens a page like `xdg-open` would. Ends when the browser has come back to the client.
async function withChromium({ url, redirect_uri: redirect }) {
    const profile = mkdtempSync(join(tmpdir(), 'mcp-chromium-'));
    const server = createServer((request, response) => {
        response.setHeader('Content-Type', 'text/plain');
        response.end('Done.');
    }).listen(Number(new URL(redirect).port), '127.0.0.1');
    const child = spawn(process.env.CHROMIUM, ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
        `--user-data-dir=${profile}`, '--remote-debugging-port=0', url], { stdio: 'ignore' });
    const ended = once(child, 'exit');
    let request;
    do [request] = await once(server, 'request');
    while (!request.url.startsWith(new URL(redirect).pathname));
    child.kill();
    await ended;
    server.closeAllConnections();
    server.close();
    rmSync(profile, { recursive: true, force: true });
    return `back ${new URL(request.url, redirect).href}`;
}

describe('Chromium', { timeout: 120_000, skip: !peers.includes('chromium') }, () => {
    it('logs a user in at oidc-provider', async () => {
        const issuer = await startIssuer();
        const realm = await startRealm({ rs: {
            scope: 'mcp:read', prm: m => ({ ...m, authorization_servers: [issuer.issuer] }),
            // The tokens of another server: all that is known about them is that it gave them.
        } });
        realm.tokens.get = text => (text && { scope: 'mcp:read', until: Infinity });
        try {
            const client = await startClient({ server: realm.rs.url }, withChromium);
            const outcomes = await client.run('list');
            await client.stop();
            assert.equal(outcomes[0].rc, 0, outcomes[0].error);
            assert.equal(client.visits.length, 1);
        } finally {
            await realm.close();
            await issuer.close();
        }
    });
});
