// The client with OAuth that tests drive, build/…/tests/oauth-client (oauth_client.c).

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export const CALLBACK = 'http://127.0.0.1:41415/callback';

// A browser whose user agrees to everything, at an authorization server that redirects at once.
export async function follow({ url }) {
    const response = await fetch(url, { redirect: 'manual' });
    await response.text();
    return `back ${response.headers.get('location')}`;
}

// `browser` gets a visit and its number, and returns what the user does: "back URL", "declined" or "nothing".
export async function startClient(options, browser = follow) {
    const program = process.env.OAUTH_CLIENT;
    const child = spawn(program, [JSON.stringify({ client_name: 'A test', redirect_uri: CALLBACK, ...options })],
        { stdio: ['pipe', 'pipe', 'pipe'] });
    const client = { visits: [], traces: [], backs: [], state: undefined, stderr: '', output: '', visitsEnded: 0 };
    const outcomes = [];
    let wake = () => {}, end;
    child.stderr.on('data', chunk => (client.stderr += chunk));
    child.stdin.on('error', () => {});
    const exit = once(child, 'close').then(([status, signal]) => {
        end = signal ?? status;
        wake();
    });
    createInterface({ input: child.stdout }).on('line', async text => {
        const line = JSON.parse(text);
        if (line.step === 'back') client.backs.push(line);
        else if (line.step) outcomes.push(line), wake();
        if (line.trace) client.traces.push(line.trace);
        if (line.state) client.state = line.state;
        if (line.visit_end) client.visitsEnded++;
        if (!line.visit) return void (client.output += `${text}\n`);
        client.visits.push(line.visit);
        const answer = await Promise.resolve(browser(line.visit, client.visits.length)).catch(error => {
            client.stderr += `${error.stack}\n`;
            return 'declined';
        });
        if (line.visit.redirect_uri) child.stdin.write(`${answer}\n`);
    });
    const next = async () => {
        while (!outcomes.length && end === undefined) await new Promise(resolve => (wake = resolve));
        assert.ok(outcomes.length, `the client ended: ${end} ${client.stderr}`);
        return outcomes.shift();
    };
    const started = await next();
    return Object.assign(client, {
        started,
        // Begins steps at once; returns their outcomes.
        async run(...steps) {
            child.stdin.write(`${JSON.stringify(steps)}\n`);
            const all = [];
            while (all.length < steps.length) all.push(await next());
            return all;
        },
        async stop() {
            child.stdin.end();
            await exit;
            assert.equal(end, started.rc === 0 ? 0 : 1, client.stderr);
            return client;
        },
    });
}
