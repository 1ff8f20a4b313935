// The web page of mcpd --page logs in at an issuer, oidc-provider, in Debian's Chromium.

import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { PAGE, startIssuer } from './support/issuer.mjs';
import { checkAccess, launch, missing, open, press } from './support/page.mjs';
import { protect } from './support/protected.mjs';
import { startWeb } from './support/web.mjs';

describe('the page of mcpd, and a login', { timeout: 180_000, skip: missing }, () => {
    let browser, issuer, server;
    before(async () => {
        browser = await launch();
        issuer = await startIssuer();
        server = await protect(issuer, { page: PAGE });
    });
    after(async () => {
        await browser?.close();
        await server?.stop();
        await issuer?.close();
    });
    beforeEach(() => {
        issuer.requests.length = 0;
        issuer.settings.answer = () => false;
    });

    const requested = path => issuer.requests.filter(request => request === path).length;
    const home = () => server.url.replace('/mcp', '/');
    const visit = () => open(browser, home(), { allowed: /status of 40[0-9]/, hosts: [new URL(issuer.issuer).host] });
    const end = async page => {
        assert.deepEqual(page.faults(), []);
        await page.context().close();
    };
    const row = (page, name) => page.locator('main .vlist .row:visible', { hasText: name }).first();
    const link = page => page.locator('a.button:has-text("Log in at")').first();
    const logIn = async page => {
        await link(page).click();
        await row(page, 'open.txt').waitFor();
    };
    const read = async (page, name) => {
        await press(row(page, name));
        await page.locator('.text', { hasText: name }).first().waitFor();
    };

    it('connects to its own origin and to that of the issuer only', async () => {
        const policy = (await fetch(home())).headers.get('content-security-policy');
        assert.equal(/connect-src ([^;]*)/.exec(policy)[1], `'self' ${issuer.issuer}`);
        const { logins } = await (await fetch(new URL('/web/config', home()))).json();
        assert.deepEqual(logins, [{ issuer: issuer.issuer, clientId: PAGE }]);
    });

    it('logs in, and keeps the token in memory only', async () => {
        const page = await visit();
        await link(page).waitFor();
        await checkAccess(page, 'a login');
        const asked = new URL(await link(page).getAttribute('href')).searchParams;
        assert.equal(asked.get('resource'), server.url);
        assert.equal(asked.get('scope'), 'mcp:read');
        assert.equal(asked.get('code_challenge_method'), 'S256');
        assert.equal(asked.get('redirect_uri'), home());
        let token;
        page.on('request', r => (token = r.headers().authorization?.replace('Bearer ', '') ?? token));
        await logIn(page);
        await read(page, 'open.txt');
        assert.equal(requested('POST /token'), 1);
        assert.ok(token?.length > 40);
        for (const one of page.context().pages()) {
            const kept = await one.evaluate(() => JSON.stringify([location.href, document.cookie, { ...localStorage }, { ...sessionStorage }, history.length]));
            assert.ok(!kept.includes(token) && !kept.includes('code='), kept);
        }
        assert.equal((await page.context().cookies(home())).filter(c => c.value === token).length, 0);
        await page.reload();
        await link(page).waitFor();
        await end(page);
    });

    it('renews a token that is no longer accepted, and asks again when it cannot', async () => {
        const page = await visit();
        await logIn(page);
        await issuer.rotate();
        await server.restart();
        await read(page, 'open.txt');
        assert.equal(requested('POST /token'), 2);
        await issuer.rotate();
        await server.restart();
        issuer.settings.answer = (request, response) => request.method === 'POST' && request.url === '/token' &&
            !!response.writeHead(400, { 'Content-Type': 'application/json', 'Access-Control-Allow-Origin': '*' }).end('{"error":"invalid_grant"}');
        await press(row(page, 'open.txt'));
        await page.locator('dialog a.button').waitFor();
        await checkAccess(page, 'a login again');
        issuer.settings.answer = () => false;
        await link(page).click();
        await page.locator('dialog').waitFor({ state: 'detached' });
        await page.locator('.text', { hasText: 'open.txt' }).first().waitFor();
        await end(page);
    });

    it('asks for more rights when a resource needs them', async () => {
        const page = await visit();
        await logIn(page);
        await page.evaluate(async uri => {
            const { app } = await import('/app.js');
            app.open('resources', uri);
        }, server.uri('deep.txt'));
        await page.locator('dialog p', { hasText: 'mcp:write' }).waitFor();
        const asked = new URL(await link(page).getAttribute('href')).searchParams;
        assert.deepEqual(asked.get('scope').split(' ').sort(), ['mcp:read', 'mcp:write']);
        await link(page).click();
        await page.locator('.text', { hasText: 'deep.txt' }).first().waitFor();
        await end(page);
    });

    // The issuer leads back with other parameters: [what is changed, what the page says].
    for (const [name, change, said] of [
        ['of another issuer', q => q.set('iss', 'https://evil.example'), /not that of this issuer/],
        ['without an issuer', q => q.delete('iss'), /not that of this issuer/],
        ['with an error of another issuer', q => { q.delete('code'); q.set('error', 'hidden'); q.set('iss', 'https://evil.example'); }, /not that of this issuer/],
        ['with an error', q => { q.delete('code'); q.set('error', 'access_denied'); }, /access_denied/],
    ]) it(`does not use an answer ${name}`, async () => {
        const page = await visit();
        await link(page).waitFor();
        issuer.settings.answer = (request, response) => {
            if (!request.url.startsWith('/auth?')) return false;
            const asked = new URL(request.url, issuer.issuer).searchParams;
            const back = new URL(asked.get('redirect_uri'));
            for (const [key, value] of [['code', 'c'], ['state', asked.get('state')], ['iss', issuer.issuer]]) back.searchParams.set(key, value);
            change(back.searchParams);
            response.writeHead(302, { Location: back.href }).end();
            return true;
        };
        await link(page).click();
        const error = page.locator('[role=alert]').first();
        await error.waitFor();
        assert.match(await error.innerText(), said);
        assert.doesNotMatch(await error.innerText(), /hidden/);
        assert.equal(requested('POST /token'), 0);
        await link(page).waitFor();
        await end(page);
    });

    it('is not confused by a tab with the code of another login', async () => {
        const page = await visit();
        await link(page).waitFor();
        const other = await page.context().newPage();
        await other.goto(`${home()}?code=c&state=other&iss=${encodeURIComponent(issuer.issuer)}`);
        await other.locator('h1', { hasText: 'The login failed' }).waitFor();
        assert.equal(new URL(other.url()).search, '');
        assert.equal(requested('POST /token'), 0);
        await other.close();
        await logIn(page);
        await end(page);
    });

    it('does not log in where the metadata is that of another issuer, or without PKCE', async () => {
        for (const [change, said] of [[{ issuer: 'https://evil.example' }, /another issuer/], [{ code_challenge_methods_supported: undefined }, /PKCE/],
            [{ token_endpoint: 'https://evil.example/token' }, /may not connect/], [{ authorization_endpoint: 'javascript:alert(1)' }, /no usable endpoints/]]) {
            const metadata = await (await fetch(`${issuer.issuer}/.well-known/openid-configuration`)).json();
            issuer.settings.answer = (request, response) => request.url.startsWith('/.well-known/') &&
                !!response.writeHead(200, { 'Content-Type': 'application/json', 'Access-Control-Allow-Origin': '*' }).end(JSON.stringify({ ...metadata, ...change }));
            const page = await visit();
            await page.locator('p.error', { hasText: said }).waitFor();
            assert.equal(await link(page).count(), 0);
            await end(page);
            issuer.settings.answer = () => false;
        }
    });

    it('takes a typed token too', async () => {
        const page = await visit();
        await link(page).waitFor();
        await page.fill('#token', await issuer.mint({ aud: server.url, scope: 'mcp:read' }));
        await page.click('button[type=submit]');
        await row(page, 'open.txt').waitFor();
        assert.equal(requested('POST /token'), 0);
        await end(page);
    });
});

describe('the page of mcpctl web, and a login of mcpctl', { timeout: 120_000, skip: missing }, () => {
    let browser, issuer, server, home, web;
    before(async () => {
        browser = await launch();
        issuer = await startIssuer();
        server = await protect(issuer);
        home = realpathSync(mkdtempSync(join(tmpdir(), 'mcpctl-web-')));
        web = startWeb([server.url], {
            ...process.env, HOME: home, XDG_CONFIG_HOME: '', XDG_STATE_HOME: '', XDG_RUNTIME_DIR: home,
            BROWSER: `${process.execPath} ${join(import.meta.dirname, 'support/browser.mjs')}`, BROWSER_LOG: join(home, 'visits'),
        });
    });
    after(async () => {
        await browser?.close();
        await web?.stop();
        await server?.stop();
        await issuer?.close();
        rmSync(home, { recursive: true });
    });

    it('shows what the server has after a login from the page', async () => {
        const page = await open(browser, await web.url);
        await page.locator('[role=alert] .error').first().waitFor();
        await checkAccess(page, 'a server without a login');
        await page.click('button:has-text("Log in…")');
        await page.locator('.card button:has-text("Log in")').click();
        await page.locator('.card button:has-text("Log in")').waitFor();
        await page.panel('resources');
        await press(page.locator('main .vlist .row:visible', { hasText: 'open.txt' }).first());
        await page.locator('.text', { hasText: 'open.txt' }).first().waitFor();
        assert.ok(issuer.requests.includes('POST /token'));
        assert.deepEqual(page.faults(), []);
        await page.context().close();
    });
});
