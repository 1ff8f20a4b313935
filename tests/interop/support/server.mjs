// A server over HTTP as a process of its own, on a port that was free.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { until } from './wait.mjs';

// `ready` says whether it listens by now.
export async function start(command, args, ready, endsWell = true) {
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    const server = { stderr: '', url: undefined };
    server.pid = child.pid;
    let end;
    child.stderr.on('data', chunk => (server.stderr += chunk));
    const ended = once(child, 'exit').then(([status, signal]) => (end = signal ?? status), error => (end = error));
    // It must end soon and without errors, even with open requests; a sanitizer also checks for leaks.
    server.stop = async () => {
        child.kill('SIGTERM');
        const late = setTimeout(() => child.kill('SIGKILL'), 8000);
        await ended;
        clearTimeout(late);
        if (endsWell) assert.equal(end, 0, server.stderr);
    };
    // A server in Python may take ten seconds to import what it needs, where other programs run.
    await until(async () => end !== undefined || ready(server), () => `a server; ${server.stderr}`, 200_000).catch(error => {
        child.kill('SIGKILL');
        throw error;
    });
    assert.equal(end, undefined, `the server ended: ${server.stderr}`);
    return server;
}

// mcpd, which chooses its port and says so.
export const serve = (command, args) => start(command, ['--http', '127.0.0.1:0', ...args],
    server => (server.url = / at (http:\S+)\n/.exec(server.stderr)?.[1]));

export async function freePort() {
    const socket = createServer().listen(0, '127.0.0.1');
    await once(socket, 'listening');
    const { port } = socket.address();
    await new Promise(resolve => socket.close(resolve));
    return port;
}

const listens = port => new Promise(resolve => {
    const socket = connect(port, '127.0.0.1');
    const end = so => {
        socket.destroy();
        resolve(so);
    };
    socket.once('connect', () => end(true)).once('error', () => end(false));
});

// Another program, whose arguments are made of a port.
export async function serveAt(command, args) {
    const port = await freePort();
    const server = await start(command, args(port), () => listens(port));
    server.url = `http://127.0.0.1:${port}/mcp`;
    return server;
}

// A foreign program, whose exit status is not checked.
export const foreign = (command, args, port) => start(command, args, () => listens(port), false);
