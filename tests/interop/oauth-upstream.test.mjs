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
const TOKENS = { ada: 'a'.repeat(32), bob: 'b'.repeat(32), '../eve': 'e'.repeat(32) };

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

    it('shows the ID tokens of its callers to the identity provider of an enterprise', async () => {
        const forms = [], jag = 'the.id.jag.of.';
        const answers = {
            'urn:ietf:params:oauth:grant-type:token-exchange': async form => ({
                access_token: jag + form.subject_token, token_type: 'N_A',
                issued_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
            }),
            'urn:ietf:params:oauth:grant-type:jwt-bearer': async () => ({
                access_token: await issuer.mint({ aud: server.url, scope: 'mcp:read' }), token_type: 'Bearer', expires_in: 300,
            }),
        };
        const metadata = {
            issuer: issuer.issuer, authorization_endpoint: `${issuer.issuer}/auth`, token_endpoint: `${issuer.issuer}/token`,
            response_types_supported: ['code'], grant_types_supported: Object.keys(answers),
            token_endpoint_auth_methods_supported: ['client_secret_basic', 'none'],
            authorization_grant_profiles_supported: ['urn:ietf:params:oauth:grant-profile:id-jag'],
        };
        issuer.settings.answer = (request, response) => {
            if (request.url.startsWith('/.well-known/oauth-authorization-server')) {
                response.setHeader('Content-Type', 'application/json').end(JSON.stringify(metadata));
                return true;
            }
            if (!['/token', '/idp'].includes(request.url)) return false;
            request.setEncoding('utf8').toArray().then(async body => {
                const form = Object.fromEntries(new URLSearchParams(body.join('')));
                forms.push({ url: request.url, authorization: request.headers.authorization, ...form });
                response.setHeader('Content-Type', 'application/json').end(JSON.stringify(await answers[form.grant_type](form)));
            });
            return true;
        };
        const basic = (id, secret) => `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
        writeFileSync(join(home, 'secret'), 'sesame\n', { mode: 0o600 });
        writeFileSync(join(home, 'idp-secret'), 'simsim\n', { mode: 0o600 });
        writeFileSync(join(home, 'ada.jwt'), 'id.of.ada\n', { mode: 0o600 });
        const options = {
            oauth: 'enterprise', issuer: issuer.issuer, client_id: 'mine', client_secret_file: 'secret', login_file: 'jag.json',
            idp_token_endpoint: `${issuer.issuer}/idp`, idp_client_id: 'at-the-idp', idp_client_secret_file: 'idp-secret',
            id_token_file: '{principal}.jwt',
        };
        let gateway;
        try {
            gateway = await serve(options);
            assert.equal(done(await gateway.read('ada')), 'open.txt\n');
            assert.deepEqual(forms.map(form => form.url), ['/idp', '/token']);
            const [exchange, grant] = forms;
            assert.deepEqual([exchange.subject_token, exchange.audience, exchange.authorization],
                ['id.of.ada', issuer.issuer, basic('at-the-idp', 'simsim')]);
            assert.deepEqual([grant.assertion, grant.authorization], [`${jag}id.of.ada`, basic('mine', 'sesame')]);
            // the token of the caller at mcpd is shown to nobody
            assert.doesNotMatch(JSON.stringify(forms), new RegExp(TOKENS.ada));
            // nobody gets the token of another caller
            assert.match((await gateway.read('bob')).stderr, /bob\.jwt: No such file/);
            assert.equal(forms.length, 2);
            writeFileSync(join(home, 'bob.jwt'), 'id.of.bob\n', { mode: 0o600 });
            assert.equal(done(await gateway.read('bob')), 'open.txt\n'); // without a restart
            assert.deepEqual([forms[2].subject_token, forms[3].assertion], ['id.of.bob', `${jag}id.of.bob`]);
            assert.equal(done(await gateway.read('ada')), 'open.txt\n');
            assert.equal(forms.length, 4);
            // the name of a caller never leads to another folder
            writeFileSync(join(home, '%2E%2E%2Feve.jwt'), 'id.of.eve\n', { mode: 0o600 });
            assert.equal(done(await gateway.read('../eve')), 'open.txt\n');
            assert.equal(forms[4].subject_token, 'id.of.eve');
        } finally {
            await gateway?.stop();
            issuer.settings.answer = () => false;
        }
    });

    it('checks the options', async () => {
        const wrong = [
            [{ account: 'x' }, /need oauth/],
            [{ oauth: 'client-credentials' }, /needs client_id/],
            [{ oauth: 'client-credentials', client_id: 'x', client_secret_file: 'secret' }, /issuer has to say/],
            [{ oauth: 'code' }, /\/options\/oauth|options\/oauth/],
            [{ oauth: 'enterprise', client_id: 'x' }, /needs idp_token_endpoint/],
            [{ oauth: 'login', id_token_file: 'x' }, /need enterprise/],
            [{ oauth: 'enterprise', client_id: 'x', idp_token_endpoint: 'https://x.example/', idp_client_id: 'y',
                id_token_file: '{principal}', account: 'all' }, /either both or none/],
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
