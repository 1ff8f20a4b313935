// A server over HTTP as a process of its own, on a port that was free.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';

export async function serve(command, args) {
    const child = spawn(command, ['--http', '127.0.0.1:0', ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
    const server = { stderr: '', url: undefined };
    const ended = once(child, 'exit');
    await new Promise((resolve, reject) => {
        child.stderr.on('data', chunk => {
            server.stderr += chunk;
            server.url ??= / at (http:\S+)\n/.exec(server.stderr)?.[1];
            if (server.url) resolve();
        });
        child.once('exit', () => reject(new Error(`the server ended: ${server.stderr}`)));
        child.once('error', reject);
    });
    // Whatever is still open, it ends soon and well; under a sanitizer that is also: nothing leaked.
    server.stop = async () => {
        child.kill('SIGTERM');
        const late = setTimeout(() => child.kill('SIGKILL'), 8000);
        const [status, signal] = await ended;
        clearTimeout(late);
        assert.equal(signal ?? status, 0, server.stderr);
    };
    return server;
}
