// mcpd in front of a server that requires a login: with the logins that mcpctl has stored, one for each caller, and as a
// client of its own.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { MACHINES, startIssuer } from './support/issuer.mjs';
import { protect } from './support/protected.mjs';
import { freePort, start } from './support/server.mjs';

const { MCPCTL = 'mcpctl', MCPD } = process.env;
const browser = `${process.execPath} ${join(import.meta.dirname, 'support/browser.mjs')}`;
const TOKENS = { ada: 'a'.repeat(32), bob: 'b'.repeat(32) };

describe('mcpd in front of a server that requires a login', { timeout: 120_000 }, () => {
    let issuer, server, home, env;
    before(async () => {
        issuer = await startIssuer();
        server = await protect(issuer);
        home = realpathSync(mkdtempSync(join(tmpdir(), 'mcpd-login-')));
        env = { ...process.env, HOME: home, XDG_CONFIG_HOME: '', XDG_STATE_HOME: '', NO_COLOR: '1', BROWSER: browser, BROWSER_LOG: join(home, 'visits') };
    });
    after(async () => {
        await server?.stop();
        await issuer?.close();
        if (home) rmSync(home, { recursive: true });
    });

    const run = (...words) => new Promise(resolve => {
        const child = execFile(MCPCTL, words, { env, timeout: 60_000, cwd: home },
            (error, stdout, stderr) => resolve({ status: error ? error.code : 0, stdout, stderr }));
        child.stdin.end();
    });
    const done = got => {
        assert.equal(got.status, 0, `${got.stdout}${got.stderr}`);
        return got.stdout;
    };
    const serve = async options => {
        const port = await freePort();
        const config = join(home, 'mcpd.json');
        writeFileSync(config, JSON.stringify({
            sources: [{ module: 'mcp', source: server.url, name: 'far', options }], tokens: TOKENS, http: [`127.0.0.1:${port}`],
        }), { mode: 0o600 });
        const child = await start('env', [`HOME=${home}`, 'XDG_STATE_HOME=', MCPD, '--config', config],
            ({ stderr }) => / at http:\S+\n/.test(stderr));
        const read = (who, name = 'open.txt') =>
            run('read', `http://127.0.0.1:${port}/mcp`, `mcp+far:${server.uri(name)}`, '-H', `Authorization: Bearer ${TOKENS[who]}`);
        return { read, stop: () => child.stop() };
    };
    const requested = what => issuer.requests.filter(request => request === what).length;

    it('uses the login of each caller', async () => {
        const gateway = await serve({ oauth: 'login', account: '{principal}' });
        try {
            for (const who of ['ada', 'bob']) {
                const refused = await gateway.read(who);
                assert.notEqual(refused.status, 0);
                assert.match(refused.stderr, new RegExp(`far.*needs a login.*mcpctl login ${server.url} --for ${who}`, 's'));
            }
            assert.equal(requested('POST /reg'), 0); // nothing is left behind
            done(await run('login', server.url, '--for', 'ada'));
            assert.equal(done(await gateway.read('ada')), 'open.txt\n'); // without a restart
            assert.notEqual((await gateway.read('bob')).status, 0);
            await issuer.rotate();
            await server.restart();
            issuer.requests.length = 0;
            assert.equal(done(await gateway.read('ada')), 'open.txt\n');
            assert.equal(requested('POST /token'), 1);
            done(await run('login', server.url, '--for', 'bob'));
            assert.equal(done(await gateway.read('bob')), 'open.txt\n');
        } finally {
            await gateway.stop();
        }
    });

    it('is a client of its own', async () => {
        const secret = join(home, 'secret'), key = join(home, 'key');
        writeFileSync(secret, `${MACHINES.secret.client_secret}\n`, { mode: 0o600 });
        writeFileSync(key, MACHINES.privateKey, { mode: 0o600 });
        const ways = [
            { client_id: MACHINES.secret.client_id, client_secret_file: 'secret' },
            { client_id: MACHINES.key.client_id, client_key_file: key },
        ];
        for (const way of ways) {
            const gateway = await serve({ oauth: 'client-credentials', issuer: issuer.issuer, login_file: 'own.json', ...way });
            try {
                for (const who of ['ada', 'bob']) assert.equal(done(await gateway.read(who)), 'open.txt\n');
            } finally {
                await gateway.stop();
            }
        }
        writeFileSync(secret, '');
        const gateway = await serve({ oauth: 'client-credentials', issuer: issuer.issuer, ...ways[0], account: 'other' });
        try {
            assert.match((await gateway.read('ada')).stderr, /secret: it is empty/);
        } finally {
            await gateway.stop();
        }
    });

    it('checks the options', async () => {
        const wrong = [
            [{ account: 'x' }, /need oauth/],
            [{ oauth: 'client-credentials' }, /needs client_id/],
            [{ oauth: 'client-credentials', client_id: 'x', client_secret_file: 'secret' }, /issuer has to say/],
            [{ oauth: 'code' }, /\/options\/oauth|options\/oauth/],
        ];
        for (const [options, text] of wrong) {
            const config = join(home, 'wrong.json');
            writeFileSync(config, JSON.stringify({ sources: [{ module: 'mcp', source: server.url, name: 'far', options }] }));
            const got = await new Promise(resolve => execFile(MCPD, ['--config', config, '--check-config'], { env },
                (error, stdout, stderr) => resolve({ status: error?.code ?? 0, stderr })));
            assert.equal(got.status, 1);
            assert.match(got.stderr, text);
        }
    });
});
