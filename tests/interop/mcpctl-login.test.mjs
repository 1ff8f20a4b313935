// mcpctl logs in at oidc-provider and reads from mcpd: from nothing to a read in one command and one question; the same
// without a terminal; other devices; pasted addresses; several processes; the keyring; the trace.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { CLIENT, KEYED, MACHINES, startIssuer } from './support/issuer.mjs';
import { browse } from './support/oauth.mjs';
import { protect } from './support/protected.mjs';
import { until } from './support/wait.mjs';

const { MCPCTL = 'mcpctl', MCP_RENEW_ROUNDS: rounds = 3 } = process.env;
const browser = `${process.execPath} ${join(import.meta.dirname, 'support/browser.mjs')}`;

describe('mcpctl at a server that requires a login', { timeout: 180_000 + rounds * 5_000 }, () => {
    let issuer, server, home, env, uri;
    before(async () => {
        issuer = await startIssuer();
        server = await protect(issuer);
        uri = server.uri('open.txt');
    });
    after(async () => {
        await server?.stop();
        await issuer?.close();
    });
    beforeEach(() => {
        home = realpathSync(mkdtempSync(join(tmpdir(), 'mcpctl-login-')));
        env = {
            ...process.env, HOME: home, XDG_CONFIG_HOME: '', XDG_STATE_HOME: '', NO_COLOR: '1', TERM: 'xterm', LC_ALL: 'C.UTF-8',
            BROWSER: browser, BROWSER_LOG: join(home, 'visits'), SHELL: '/bin/sh',
        };
        issuer.requests.length = 0;
    });
    afterEach(() => rmSync(home, { recursive: true }));

    const store = () => join(home, '.local/state/mcp/auth.json');
    const run = (words, { typed = '', program = MCPCTL, more = {} } = {}) => new Promise(resolve => {
        const child = execFile(program, words, { env: { ...env, ...more }, timeout: 60_000, cwd: home },
            (error, stdout, stderr) => resolve({ status: error ? error.code : 0, stdout, stderr }));
        child.stdin.on('error', () => {});
        child.stdin.end(typed);
    });
    const quoted = word => `'${word.replaceAll("'", "'\\''")}'`;
    const shell = words => ['-qec', [MCPCTL, ...words].map(quoted).join(' '), '/dev/null'];
    const onTerminal = (words, typed) => run(shell(words), { typed, program: 'script' });
    const done = (got, status = 0) => {
        assert.equal(got.status, status, `${got.stdout}${got.stderr}`);
        return got;
    };
    const login = async (...more) => done(await run(['login', server.url, ...more]));
    const requested = what => issuer.requests.filter(request => request === what).length;
    const forget = async () => {
        await issuer.rotate();
        await server.restart();
    };
    // All that is secret in the store, and in the addresses that the browser came back to.
    const secrets = () => {
        const found = readFileSync(store(), 'utf8').matchAll(/"(?:access_token|refresh_token|client_secret|d)\\?":\\?"([^"\\]+)/g);
        const visits = readFileSync(env.BROWSER_LOG, 'utf8').trim().split('\n').map(url => new URL(url).searchParams);
        return [...[...found].map(match => match[1]), ...visits.map(params => params.get('code'))];
    };

    it('reads after one question', async () => {
        const first = done(await onTerminal(['read', server.url, uri], 'y\r'));
        assert.match(first.stdout, /requires a login at http:\/\/127\.0\.0\.1:\d+, for: mcp:read/);
        assert.match(first.stdout, /\nopen\.txt\r?\n$/);
        assert.equal(first.stdout.match(/\[y\]es/g).length, 1);
        const again = done(await run(['read', server.url, uri]));
        assert.deepEqual(again, { status: 0, stdout: 'open.txt\n', stderr: '' });
        assert.equal(statSync(store()).mode & 0o777, 0o600);
        assert.equal(requested('POST /reg'), 1);
        assert.equal(requested('GET /auth'), 1);
    });

    it('names the command that logs in if nobody can be asked, and exits with 8', async () => {
        const got = done(await run(['read', server.url, uri]), 8);
        assert.match(got.stderr, new RegExp(`mcpctl login ${server.url}`));
        assert.equal(got.stdout, '');
        const refused = done(await onTerminal(['read', server.url, uri], 'n\r'), 6);
        assert.doesNotMatch(refused.stdout, /Bearer/);
        assert.equal(requested('GET /auth'), 0);
    });

    it('logs in, says who is logged in, and logs out', async () => {
        const got = await login();
        assert.match(got.stderr, /logged in to http.* at http.*, for: mcp:read/);
        const listed = JSON.parse(done(await run(['auth', '--json'])).stdout).logins;
        assert.equal(listed.length, 1);
        const [{ expires, clientId, ...rest }] = listed;
        assert.ok(Date.parse(expires) > Date.now() && clientId);
        assert.deepEqual(rest, {
            server: server.url, account: '', issuer: issuer.issuer, scope: 'mcp:read', hasToken: true, renewable: true, bound: false,
        });
        const lines = done(await run(['auth'])).stdout;
        assert.match(lines, new RegExp(`^${server.url}\t\t${issuer.issuer}\tmcp:read\t\\d{4}-.*Z\trenewable\n$`));
        for (const secret of secrets()) assert.ok(!lines.includes(secret) && !JSON.stringify(listed).includes(secret));
        assert.deepEqual(JSON.parse(done(await run(['logout', server.url, '--json'])).stdout), { server: server.url, loggedOut: true });
        assert.ok(requested('POST /token/revocation') >= 1);
        assert.equal(done(await run(['auth'])).stdout, '');
        done(await run(['read', server.url, uri]), 8);
        assert.match(done(await run(['logout', server.url])).stderr, /there is no login/);
    });

    it('traces every step without a secret', async () => {
        const trace = join(home, 'trace');
        await login('--trace', trace);
        await forget();
        done(await run(['read', server.url, uri, '--trace', trace]));
        const text = readFileSync(trace, 'utf8');
        const steps = text.trim().split('\n').map(line => JSON.parse(line).oauth?.what).filter(Boolean);
        for (const step of ['resource metadata', 'server metadata', 'registration', 'authorization', 'token'])
            assert.ok(steps.includes(step), `${step} of ${steps}`);
        const all = secrets();
        assert.ok(all.length >= 3);
        for (const secret of all) assert.ok(!text.includes(secret), text);
        assert.doesNotMatch(text, /code_verifier=(?!\*)/);
    });

    it('renews one token once for many processes', async () => {
        await login();
        for (let round = 0; round < rounds; round++) {
            await forget();
            issuer.requests.length = 0;
            const all = await Promise.all(Array.from({ length: 10 }, () => run(['read', server.url, uri])));
            for (const got of all) assert.equal(done(got).stdout, 'open.txt\n');
            assert.equal(requested('POST /token'), 1);
        }
    });

    it('asks for more scopes when they are needed', async () => {
        await login();
        const got = done(await onTerminal(['read', server.url, server.uri('deep.txt')], 'y\r'));
        assert.match(got.stdout, /mcp:write/);
        assert.match(got.stdout, /deep\.txt\r?\n$/);
        assert.equal(done(await run(['read', server.url, uri])).stdout, 'open.txt\n');
    });

    // Runs mcpctl on a terminal, and types what `type` makes of the output so far, once.
    const talk = (words, type) => new Promise(resolve => {
        const child = spawn('script', shell(words), { env, cwd: home });
        let out = '', typed = false;
        child.stdout.on('data', async bytes => {
            out += bytes;
            const answer = typed ? undefined : type(out);
            if (answer === undefined) return;
            typed = true;
            child.stdin.write(await answer);
        });
        child.on('close', status => resolve({ status, stdout: out, stderr: '' }));
    });

    it('takes an address that is pasted', async () => {
        const got = await talk(['login', server.url, '--no-browser'], out => {
            const url = /\n\s+(http\S+auth\?\S+)\r?\n.*paste/s.exec(out)?.[1];
            return url && browse(url, { redirect: new URL(url).searchParams.get('redirect_uri') }).then(end => `${end.href}\r`);
        });
        assert.match(done(got).stdout, /logged in to/);
    });

    it('is known by its metadata document', async () => {
        const file = join(process.env.MCP_SOURCE_DIR, 'programs/mcpctl/client-metadata.json');
        const document = JSON.parse(readFileSync(file, 'utf8'));
        const id = 'https://client.example/mcpctl.json';
        issuer.settings.documents[id] = { ...document, client_id: id };
        await login('--client-metadata-url', id);
        assert.equal(requested('POST /reg'), 0);
        assert.equal(done(await run(['read', server.url, uri, '--client-metadata-url', id])).stdout, 'open.txt\n');
    });

    it('examples/login.c lists the resources, and needs no person at its next start', async () => {
        const program = join(process.env.MCP_BUILD_DIR, 'examples/login');
        const child = spawn(program, [server.url], { env, cwd: home });
        let out = '';
        child.stdout.on('data', bytes => (out += bytes));
        child.stderr.on('data', bytes => (out += bytes));
        await until(() => /^Open (\S+)\nThen paste/.test(out), () => out);
        const url = /^Open (\S+)/.exec(out)[1];
        child.stdin.end(`${(await browse(url, { redirect: new URL(url).searchParams.get('redirect_uri') })).href}\n`);
        const status = await new Promise(resolve => child.on('close', resolve));
        assert.equal(status, 0);
        assert.ok(out.endsWith(`${uri}\n`) || out.includes(`\n${uri}\n`), out);
        const again = done(await run([server.url], { program }));
        assert.ok(again.stdout.split('\n').includes(uri), again.stdout);
        assert.doesNotMatch(again.stdout, /Open/);
        assert.match((await run(['http://127.0.0.1:1/mcp'], { program })).stderr, /^login: /);
    });

    it('logs in by another device', async () => {
        const child = spawn(MCPCTL, ['login', server.url, '--device'], { env, cwd: home });
        let text = '';
        child.stderr.on('data', bytes => (text += bytes));
        await until(() => /user_code=/.test(text));
        await browse(/(http\S+user_code=\S+)/.exec(text)[1], { redirect: null });
        const status = await new Promise(resolve => child.on('close', resolve));
        assert.equal(status, 0, text);
        assert.match(text, /[A-Z]{4}-[A-Z]{4}/);
        assert.equal(done(await run(['read', server.url, uri])).stdout, 'open.txt\n');
    });

    it('keeps a login for somebody else apart', async () => {
        await login('--for', 'staff/ada');
        assert.equal(JSON.parse(done(await run(['auth', '--json'])).stdout).logins[0].account, 'staff/ada');
        done(await run(['read', server.url, uri]), 8);
        done(await run(['logout', server.url, '--for', 'staff/ada']));
        assert.equal(done(await run(['auth'])).stdout, '');
    });

    it('takes the client from options, files and the environment', async () => {
        const used = async (...words) => {
            await login(...words);
            const [{ clientId }] = JSON.parse(done(await run(['auth', '--json'])).stdout).logins;
            rmSync(store());
            return clientId;
        };
        assert.equal(await used('--client-id', CLIENT), CLIENT);
        env.MCPCTL_CLIENT_ID = CLIENT;
        assert.equal(await used(), CLIENT);
        delete env.MCPCTL_CLIENT_ID;
        mkdirSync(join(home, '.config/mcpctl'), { recursive: true });
        const entry = { url: server.url, oauth: { clientId: CLIENT, scopes: ['mcp:read', 'mcp:write'] } };
        writeFileSync(join(home, '.config/mcpctl/servers.json'), JSON.stringify({ mcpServers: { guarded: entry } }));
        done(await run(['login', 'guarded']));
        assert.equal(JSON.parse(done(await run(['auth', '--json'])).stdout).logins[0].clientId, CLIENT);
        assert.equal(done(await run(['read', '-s', 'guarded', uri])).stdout, 'open.txt\n');
        assert.equal(requested('POST /reg'), 0);
    });

    it('is a client of its own in CI, with a secret or a key', async () => {
        const secret = join(home, 'secret'), key = join(home, 'key');
        writeFileSync(secret, `${MACHINES.secret.client_secret}\n`, { mode: 0o600 });
        writeFileSync(key, MACHINES.privateKey, { mode: 0o600 });
        const ways = [
            [MACHINES.secret.client_id, { MCPCTL_CLIENT_SECRET: MACHINES.secret.client_secret }],
            [MACHINES.secret.client_id, { MCPCTL_CLIENT_SECRET_FILE: secret }],
            [MACHINES.key.client_id, { MCPCTL_KEY: key }],
        ];
        for (const [id, way] of ways) {
            const more = { MCPCTL_GRANT: 'client-credentials', MCPCTL_CLIENT_ID: id, MCPCTL_ISSUER: issuer.issuer, ...way };
            assert.deepEqual(done(await run(['read', server.url, uri], { more })), { status: 0, stdout: 'open.txt\n', stderr: '' });
            const [login] = JSON.parse(done(await run(['auth', '--json'])).stdout).logins;
            assert.deepEqual([login.clientId, login.renewable], [id, false]);
            await forget(); // without a refresh token, the client asks again
            assert.equal(done(await run(['read', server.url, uri], { more })).stdout, 'open.txt\n');
            rmSync(store());
        }
        const words = ['--grant', 'client-credentials', '--client-id', MACHINES.secret.client_id, '--client-secret-file', secret];
        assert.match(done(await run(['login', server.url, ...words]), 2).stderr, /--issuer/);
        await login(...words, '--issuer', issuer.issuer);
        writeFileSync(secret, 'wrong');
        const refused = done(await run(['login', server.url, ...words, '--issuer', issuer.issuer]), 8);
        assert.match(refused.stderr, /invalid_client/);
        assert.equal(requested('GET /auth') + requested('POST /reg'), 0);
    });

    it('gets more scopes with its key, with and without a person', async () => {
        const key = join(home, 'key'), deep = server.uri('deep.txt');
        writeFileSync(key, MACHINES.privateKey, { mode: 0o600 });
        const machine = { MCPCTL_GRANT: 'client-credentials', MCPCTL_CLIENT_ID: MACHINES.key.client_id, MCPCTL_ISSUER: issuer.issuer, MCPCTL_KEY: key };
        assert.equal(done(await run(['read', server.url, uri], { more: machine })).stdout, 'open.txt\n');
        assert.equal(done(await run(['read', server.url, deep], { more: machine })).stdout, 'deep.txt\n');
        assert.equal(done(await run(['read', server.url, uri, deep], { more: machine })).stdout, 'open.txt\ndeep.txt\n');
        rmSync(store());
        // A person's client. Commands after the login do not name it, or its key.
        await login('--client-id', KEYED.client_id, '--key', key, '--issuer', issuer.issuer);
        assert.equal(done(await run(['read', server.url, uri])).stdout, 'open.txt\n');
        assert.match(done(await onTerminal(['read', server.url, deep], 'y\r')).stdout, /deep\.txt\r?\n$/);
        await forget();
        assert.equal(done(await run(['read', server.url, uri, deep])).stdout, 'open.txt\ndeep.txt\n');
        done(await run(['logout', server.url]));
        assert.equal(requested('POST /reg'), 0);
    });

    it('shows what its platform or an enterprise says of it', async () => {
        const forms = [];
        const token = async () => ({
            access_token: await issuer.mint({ aud: server.url, scope: 'mcp:read' }), token_type: 'Bearer', expires_in: 300,
        });
        const answers = {
            'urn:ietf:params:oauth:grant-type:jwt-bearer': token,
            'urn:ietf:params:oauth:grant-type:token-exchange': async () => ({
                access_token: 'the.id.jag', issued_token_type: 'urn:ietf:params:oauth:token-type:id-jag', token_type: 'N_A',
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
                forms.push(form);
                response.setHeader('Content-Type', 'application/json').end(JSON.stringify(await answers[form.grant_type]()));
            });
            return true;
        };
        try {
            const file = join(home, 'assertion');
            writeFileSync(file, 'a.platform.jwt\n', { mode: 0o600 });
            await login('--assertion-file', file, '--issuer', issuer.issuer, '--client-id', 'mine');
            assert.equal(forms[0].assertion, 'a.platform.jwt');
            assert.equal(done(await run(['read', server.url, uri])).stdout, 'open.txt\n');
            rmSync(store());
            await login('--assertion-command', `cat ${file}`, '--issuer', issuer.issuer, '--client-id', 'mine');
            assert.equal(forms[1].assertion, 'a.platform.jwt');
            rmSync(store());
            forms.length = 0;
            const secret = join(home, 'secret');
            writeFileSync(secret, 'sesame', { mode: 0o600 });
            await login('--assertion-file', file, '--idp-token-endpoint', `${issuer.issuer}/idp`, '--idp-client-id', 'at-the-idp',
                '--issuer', issuer.issuer, '--client-id', 'mine', '--client-secret-file', secret);
            assert.equal(forms.length, 2);
            assert.deepEqual([forms[0].subject_token, forms[0].client_id, forms[0].audience], ['a.platform.jwt', 'at-the-idp', issuer.issuer]);
            assert.equal(forms[1].assertion, 'the.id.jag');
            assert.equal(done(await run(['read', server.url, uri])).stdout, 'open.txt\n');
        } finally {
            issuer.settings.answer = () => false;
        }
    });

    it('uses a header by hand instead', async () => {
        await login();
        const wrong = done(await run(['read', server.url, uri, '-H', 'authorization: Bearer x']), 8);
        assert.doesNotMatch(wrong.stderr, /mcpctl login/);
    });

    it('keeps a login in the keyring', async () => {
        const bin = join(home, 'bin'), ring = join(home, 'ring');
        mkdirSync(bin), mkdirSync(ring);
        writeFileSync(join(bin, 'secret-tool'), `#!/bin/sh
command=$1; shift; [ $command = store ] && shift
printf '%s\\n' "$command $*" >>${ring}/log
file=${ring}/$(printf '%s' "$*" | sha256sum | cut -c 1-64)
case $command in
store) cat >$file ;;
lookup) cat $file 2>/dev/null ;;
clear) rm -f $file ;;
esac
`);
        chmodSync(join(bin, 'secret-tool'), 0o755);
        env.PATH = `${bin}:${env.PATH}`;
        await login('--keyring');
        assert.equal(readFileSync(store(), 'utf8'), `{"version":1,"records":{"${server.url}":{"keyring":true}}}`);
        assert.doesNotMatch(readFileSync(join(ring, 'log'), 'utf8'), /token/);
        await forget();
        assert.equal(done(await run(['read', server.url, uri])).stdout, 'open.txt\n');
        assert.equal(JSON.parse(done(await run(['auth', '--json'])).stdout).logins[0].renewable, true);
        done(await run(['logout', server.url]));
        assert.equal(readFileSync(store(), 'utf8'), '{"version":1,"records":{}}');
        assert.match(readFileSync(join(ring, 'log'), 'utf8'), /\nclear service mcp login /);
    });

    it('says what is wrong with the store', async () => {
        await login();
        chmodSync(store(), 0o644);
        const got = await run(['read', server.url, uri]);
        assert.notEqual(got.status, 0);
        assert.match(got.stderr, /can be used by others/);
        chmodSync(store(), 0o600);
        writeFileSync(store(), '{');
        assert.match(done(await run(['auth']), 5).stderr, /damaged/);
        assert.equal(readFileSync(store(), 'utf8'), '{');
    });
});
