// A person's logins with mcpctl at an authorization server of FastMCP: the first, the second, two at once, after a logout,
// after the server has forgotten the client; with and without a terminal.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { foreign, freePort } from './support/server.mjs';

const peers = process.env.OAUTH_PEERS.split(' ').filter(name => name.startsWith('fastmcp'));

describe('logins with mcpctl', { timeout: 300_000 }, () => {
    for (const peer of peers) {
        it(peer, async () => {
            const port = await freePort(), url = `http://127.0.0.1:${port}/mcp`;
            const serve = () => foreign(process.env[`${peer.toUpperCase()}_PYTHON`], [process.env.FASTMCP_SERVER, `${port}`], port);
            const registered = async () => (await fetch(`http://127.0.0.1:${port}/registered`)).json();
            const home = mkdtempSync(join(tmpdir(), 'mcp-walk-')), browser = join(home, 'browser');
            writeFileSync(browser, '#!/bin/sh\nexec curl -sL -o /dev/null "$1"\n');
            chmodSync(browser, 0o755);
            const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: '', XDG_STATE_HOME: '', NO_COLOR: '1', BROWSER: browser, SHELL: '/bin/sh' };
            const run = (command, words, typed) => new Promise(done => {
                const child = execFile(command, words, { env, cwd: home, timeout: 60_000 },
                    (error, stdout, stderr) => done({ status: error ? error.code : 0, stdout, stderr }));
                if (typed) child.stdin.write(typed);
                else child.stdin.end();
            });
            const mcpctl = (...words) => run(process.env.MCPCTL, words);
            const works = ({ status, stdout, stderr }) => assert.equal(status, 0, stdout + stderr);
            let server = await serve();
            try {
                // Without a terminal, nobody is asked and nothing is registered.
                const alone = await mcpctl('tools', url);
                assert.equal(alone.status, 8, alone.stderr);
                assert.match(alone.stderr, /mcpctl login/);
                assert.equal(await registered(), 0);
                // The first and the second login, and the command that needed them.
                works(await mcpctl('login', url));
                const tools = await mcpctl('tools', url);
                assert.match(tools.stdout, /hello/, tools.stderr);
                works(await mcpctl('login', url));
                assert.equal(await registered(), 1);
                // Two at once. One of them may need a port, and so a registration, of its own.
                for (const login of await Promise.all([mcpctl('login', url), mcpctl('login', url)])) works(login);
                const called = await mcpctl('call', '--yes', url, 'hello');
                assert.match(called.stdout, /you are in/, called.stderr);
                // After a logout, which forgets the client too.
                const before = await registered();
                works(await mcpctl('logout', url));
                assert.equal((await mcpctl('tools', url)).status, 8);
                works(await mcpctl('login', url));
                assert.equal(await registered(), before + 1);
                // The server has forgotten everything. It refuses the renewal, so the next login registers again.
                await server.stop();
                server = await serve();
                assert.equal((await mcpctl('tools', url)).status, 8);
                works(await mcpctl('login', url));
                assert.equal(await registered(), 1);
                // On a terminal, the command itself logs in.
                works(await mcpctl('logout', url));
                const typed = await run('script', ['-qec', `${process.env.MCPCTL} call --yes ${url} hello`, '/dev/null'], 'y\r');
                assert.match(typed.stdout, /you are in/);
            } finally {
                await server.stop();
                rmSync(home, { recursive: true, force: true });
            }
        });
    }
});
