// A person's logins with mcpctl at authorization servers of others (peers.mjs): without a terminal, the first, the second,
// two at once, after a logout, after the server has forgotten the client, on a terminal.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { PEERS } from './peers.mjs';

const MCPCTL = process.env.MCPCTL;
const UNREACHABLE = 3, NEEDS_LOGIN = 8;

// mcpctl of a person who has nothing yet, and whose browser logs in.
function startPerson({ user, password } = {}) {
    const home = mkdtempSync(join(tmpdir(), 'mcp-walk-'));
    const env = {
        ...process.env, HOME: home, XDG_CONFIG_HOME: '', XDG_STATE_HOME: '', NO_COLOR: '1', SHELL: '/bin/sh', TERM: 'xterm',
        BROWSER: `${process.execPath} ${join(import.meta.dirname, 'support/browser.mjs')}`,
        BROWSER_USER: user ?? '', BROWSER_PASSWORD: password ?? '',
    };
    const run = (command, words, typed) => new Promise(done => {
        const child = execFile(command, words, { env, cwd: home, timeout: 60_000 },
            (error, stdout, stderr) => done({ status: error ? error.code ?? error.signal : 0, stdout, stderr }));
        if (typed) child.stdin.write(typed);
        else child.stdin.end();
    });
    const quoted = word => `'${word.replaceAll("'", "'\\''")}'`;
    return {
        mcpctl: (...words) => run(MCPCTL, words),
        onTerminal: (words, typed) => run('script', ['-qec', [MCPCTL, ...words].map(quoted).join(' '), '/dev/null'], typed),
        end: () => rmSync(home, { recursive: true, force: true }),
    };
}

const works = got => {
    assert.equal(got.status, 0, got.stdout + got.stderr);
    return got;
};

async function walk(peer, server, { mcpctl, onTerminal }) {
    const client = peer.client ? ['--client-id', peer.client] : [];
    const [verb, ...words] = peer.command(server);
    const command = [verb, '--server', server.url, ...words];
    const login = () => mcpctl('login', server.url, ...client).then(works);
    const enters = async () => assert.match(works(await mcpctl(...command)).stdout, peer.answer);
    const refused = async (status = NEEDS_LOGIN) => {
        const got = await mcpctl(...command);
        assert.equal(got.status, status, got.stdout + got.stderr);
        assert.ok(got.stderr.includes(`mcpctl login ${server.url}`), got.stderr);
    };
    const clientId = async () => JSON.parse(works(await mcpctl('auth', '--json')).stdout).logins[0]?.clientId;
    // The client that a login has, of which the authorization server knows `count`.
    const registered = async count => {
        const id = await clientId();
        if (peer.client) assert.equal(id, peer.client);
        else if (server.registered) assert.equal(await server.registered(), count);
        return id;
    };

    // Without a terminal, nobody is asked and nothing is registered.
    await refused();
    assert.equal(await clientId(), undefined);
    assert.equal(await server.registered?.() ?? 0, 0);

    // The first login, and the second, which needs no other client.
    await login();
    await enters();
    const first = await registered(1);
    assert.ok(first);
    await login();
    await enters();
    assert.equal(await registered(1), first);

    // Two at once. One of them may need a port, and so a registration, of its own.
    await Promise.all([login(), login()]);
    await enters();

    // After a logout, which forgets a client that has registered itself, too.
    const last = await clientId(), before = await server.registered?.();
    works(await mcpctl('logout', server.url));
    await refused();
    await login();
    await enters();
    const next = await registered(before + 1);
    if (!peer.client) assert.notEqual(next, last);

    // The server has forgotten everything. It refuses a renewal, so the next login needs another client.
    await server.forget();
    await refused(peer.fails ? UNREACHABLE : NEEDS_LOGIN);
    await login();
    await enters();
    const fresh = await registered(1);
    if (!peer.client) assert.notEqual(fresh, next);

    // On a terminal, the command itself logs in.
    works(await mcpctl('logout', server.url));
    const typed = works(await onTerminal([...command, ...client], 'y\r'));
    assert.match(typed.stdout, peer.answer);
    await enters();
}

describe('logins with mcpctl', { timeout: 1_800_000 }, () => {
    for (const name of process.env.WALK_PEERS.split(' ')) {
        it(name, { timeout: 600_000 }, async () => {
            const peer = PEERS[name];
            const server = await peer.start();
            const person = startPerson(peer.user);
            try {
                await walk(peer, server, person);
            } finally {
                await server.stop();
                person.end();
            }
        });
    }
});
