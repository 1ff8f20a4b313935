// The web page of mcpd --page and of mcpctl web in Debian's Chromium.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { checkAccess, inFrontOf, launch, missing, open, press } from './support/page.mjs';
import { endpoint } from './support/page-server.mjs';
import { pictures } from './support/pictures.mjs';
import { serve } from './support/server.mjs';
import { makeTree } from './support/tree.mjs';
import { until } from './support/wait.mjs';
import { startWeb } from './support/web.mjs';

const { MCPD, MCP_SOURCE_DIR } = process.env;
const TOKEN = 'token-of-the-page-0123456789-0123456789';

let browser;
before(async () => { if (!missing) browser = await launch(); });
after(() => browser?.close());

const rows = page => page.locator('main .vlist .row:visible');
const enter = async (page, token) => {
    await page.fill('#token', token);
    await page.click('button[type=submit]');
};

// With MCP_PAGE_PICTURES the pictures of docs/web.md are made again (scripts/make-web-pictures). Their bytes depend on the
// fonts of the machine, so they are not compared.
it('makes the pictures of docs/web.md', { timeout: 120_000, skip: missing }, async () => {
    const into = process.env.MCP_PAGE_PICTURES ?? mkdtempSync(join(tmpdir(), 'mcpd-page-'));
    const names = await pictures(browser, MCPD, into);
    const text = readFileSync(join(MCP_SOURCE_DIR, 'docs/web.md'), 'utf8');
    for (const name of names) assert.ok(text.includes(`(web/${name})`), `${name} is not in docs/web.md`);
    assert.deepEqual(readdirSync(join(MCP_SOURCE_DIR, 'docs/web')).sort(), names.sort());
    if (!process.env.MCP_PAGE_PICTURES) rmSync(into, { recursive: true });
});

describe('the page of mcpd', { timeout: 120_000, skip: missing }, () => {
    let tree, folder, server, page;
    before(async () => {
        tree = makeTree();
        folder = mkdtempSync(join(tmpdir(), 'mcpd-page-'));
        writeFileSync(join(folder, 'tokens'), `ada:${TOKEN}\n`, { mode: 0o600 });
        writeFileSync(tree.path('table.csv'), 'name,born\n"Lovelace, Ada",1815\nHopper,1906\n');
        writeFileSync(tree.path('document.pdf'), Buffer.from('%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj 3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 72 72]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n', 'latin1'));
        writeFileSync(tree.path('rows.json'), JSON.stringify({
            columns: ['id', 'nothing', 'empty', ...Array.from({ length: 20 }, (_, i) => `c${i}`)],
            rows: [[1, null, '', ...Array.from({ length: 20 }, () => 'Constantinople')]],
        }));
        writeFileSync(tree.path('value.json'), '{"list":[1,2,{"deep":"value"}],"text":"<b>&amp;"}');
        server = await serve(MCPD, ['--page', '--token-file', join(folder, 'tokens'), tree.root]);
        page = await open(browser, server.url.replace('/mcp', '/'));
    });
    after(async () => {
        const faults = page?.faults;
        await page?.context().close();
        await server?.stop();
        tree?.remove();
        rmSync(folder, { recursive: true });
        assert.doesNotMatch(server.stderr, /Sanitizer|runtime error/);
        assert.deepEqual(faults?.(), []);
    });

    it('shows nothing before a token is typed, and keeps it in memory only', async () => {
        await page.waitForSelector('#token');
        await checkAccess(page, 'token');
        await enter(page, 'wrong');
        await page.waitForSelector('.error');
        await enter(page, TOKEN);
        await rows(page).first().waitFor();
        const kept = await page.evaluate(() => JSON.stringify([location.href, document.cookie, { ...localStorage }, { ...sessionStorage }]));
        assert.ok(!kept.includes(TOKEN), kept);
    });

    it('lets no text become markup or a script', async () => {
        const refused = await page.evaluate(() => ['innerHTML', 'outerHTML'].map(name => {
            try {
                document.createElement('div')[name] = '<b>x</b>';
                return `${name} was allowed`;
            } catch (error) {
                return error.name;
            }
        }));
        assert.deepEqual(refused, ['TypeError', 'TypeError']);
        const policy = (await page.request.get(page.url())).headers()['content-security-policy'];
        for (const part of ["default-src 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'", "frame-ancestors 'none'", "connect-src 'self'"])
            assert.ok(policy.includes(part), part);
        assert.ok(!/unsafe/.test(policy));
    });

    it('lists, searches and reads, by the keyboard', async () => {
        await page.waitForFunction(() => document.querySelector('.split')?.dataset.complete === 'true', null, { timeout: 120_000 });
        await page.keyboard.press('/');
        await page.keyboard.type('namgröße');
        await page.locator('.row:visible', { hasText: 'größe.txt' }).first().waitFor();
        await page.keyboard.press('Enter');
        await page.locator('.text', { hasText: 'umlaut' }).waitFor();
        await page.fill('input[type=search]', '');
        await page.locator('.vlist').press('Home');
        await page.locator('.vlist').press('ArrowDown');
        await page.locator('.row.active').waitFor(); // fails when there is more than one
    });

    it('opens what was searched for, however soon Enter comes', async () => {
        for (const [name, text] of [['table.csv', 'Hopper'], ['README.md', '# Title']]) {
            await page.evaluate(name => {
                const field = document.querySelector('input[type=search]');
                field.value = name;
                field.dispatchEvent(new Event('input'));
                field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter' }));
            }, name);
            await page.locator('.preview', { hasText: text }).waitFor();
        }
    });

    const read = async (name, selector, text) => {
        await page.fill('input[type=search]', name);
        await press(page.locator('.row:visible', { hasText: name }).first());
        await page.locator(selector, { hasText: text }).first().waitFor();
    };

    it('shows tables, which are sorted by their headings', async () => {
        await read('table.csv', 'td', 'Lovelace, Ada');
        await page.click('th button:has-text("born")');
        await page.click('th button:has-text("born")');
        await page.locator('tbody tr:first-child', { hasText: 'Hopper' }).waitFor();
        assert.equal(await page.locator('tbody tr').first().innerText(), 'Hopper\t1906');
    });

    it('shows rows with NULL as such, and breaks no word', async () => {
        await page.setViewportSize({ width: 1280, height: 800 });
        await read('rows.json', 'td', 'Constantinople');
        assert.deepEqual(await page.locator('tbody tr').first().locator('td.null').allInnerTexts(), ['NULL']);
        assert.equal(await page.locator('tbody tr').first().locator('td').nth(2).innerText(), '');
        // as many boxes as words: a broken word has one on each line
        const broken = await page.locator('thead button, tbody td:not(.null)').evaluateAll(cells => cells.filter(cell => {
            const range = document.createRange();
            range.selectNodeContents(cell);
            return cell.textContent && range.getClientRects().length > cell.textContent.split(' ').length;
        }).map(cell => cell.textContent));
        assert.deepEqual(broken, []);
    });

    it('shows JSON as a tree, and text as text', async () => {
        await read('value.json', '.json', '<b>&amp;');
        await read('README.md', '.text', '# Title');
        await read('blob.bin', '.text', '00000000');
        await checkAccess(page, 'resources');
    });

    it('opens PDF in a tab of its own, never in the page', async () => {
        await read('document.pdf', '.preview .muted', 'application/pdf');
        const link = page.locator('.preview a.button');
        assert.match(await link.getAttribute('href'), /^blob:/);
        assert.equal(await link.getAttribute('target'), '_blank');
        assert.equal(await link.getAttribute('rel'), 'noopener');
        const [tab] = await Promise.all([page.context().waitForEvent('page'), link.click()]);
        assert.equal(await page.locator('iframe, embed, object').count(), 0);
        assert.equal(page.url(), server.url.replace('/mcp', '/'));
        assert.equal(await page.evaluate(() => window.frames.length), 0);
        await tab.close();
    });

    it('marks what changed', async () => {
        await read('watched.txt', '.text', 'first');
        await page.click('button:has-text("Watch")');
        await page.locator('button:has-text("Stop watching")').waitFor();
        writeFileSync(tree.path('live/watched.txt'), 'second\n');
        await page.locator('.row.changed').first().waitFor();
        await page.click('button:has-text("Read again")');
        await page.locator('.text', { hasText: 'second' }).waitFor();
        await page.panel('changes');
        await page.locator('td', { hasText: 'changed' }).first().waitFor();
        await checkAccess(page, 'changes');
    });

    it('collects a context within its budget', async () => {
        await page.panel('resources');
        await read('lines.txt', '.text', 'line 1000');
        await page.click('button:has-text("Add to context")');
        await page.panel('context');
        await page.fill('#budget', '100');
        await page.locator('td', { hasText: 'cut to' }).waitFor();
        assert.match(await page.inputValue('textarea'), /^## .*lines\.txt[\s\S]*line 1 of/);
        await checkAccess(page, 'context');
    });

    it('completes the variables of a template', async () => {
        await page.panel('templates');
        await press(rows(page).first());
        await page.locator('form input').first().waitFor();
        await checkAccess(page, 'templates');
    });

    it('shows the messages, filters, compares and exports them', async () => {
        await page.panel('timeline');
        assert.ok((await page.locator('[data-panel=timeline] input[type=search]').boundingBox()).width > 100);
        await page.fill('main input[type=search]', 'resources/read');
        await page.selectOption('select[aria-label=Kind]', 'request');
        await press(rows(page).first());
        await page.locator('.preview .json', { hasText: '"resources/read"' }).waitFor();
        await page.click('button:has-text("Mark to compare")');
        await press(rows(page).nth(2));
        await page.click('button:has-text("Compare with")');
        await page.locator('.diff-new').first().waitFor();
        const [download] = await Promise.all([page.waitForEvent('download'), page.click('button:has-text("Export")')]);
        const trace = readFileSync(await download.path(), 'utf8');
        assert.ok(JSON.parse(trace).messages.length > 10);
        assert.ok(!trace.includes(TOKEN));
        await checkAccess(page, 'timeline');
    });

    it('shows the revisions side by side, and speaks each', async () => {
        await page.panel('server');
        await page.click('button:has-text("Compare the revisions")');
        await page.locator('th', { hasText: '2025-03-26' }).waitFor();
        // what it declares, as the server itself says it
        const table = await page.locator('[aria-label="Capabilities by revision"] tr').evaluateAll(rows => rows.map(r => [...r.cells].map(c => c.textContent)));
        const declared = await Promise.all(table[0].slice(1).map(async version => (await (await fetch(server.url, { method: 'POST', headers: {
            'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', Authorization: `Bearer ${TOKEN}`, 'MCP-Protocol-Version': version,
            ...(version > '2026' && { 'Mcp-Method': 'server/discover' }) }, body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...(version > '2026'
            ? { method: 'server/discover', params: { _meta: { 'io.modelcontextprotocol/protocolVersion': version, 'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' }, 'io.modelcontextprotocol/clientCapabilities': {} } } }
            : { method: 'initialize', params: { protocolVersion: version, capabilities: {}, clientInfo: { name: 'test', version: '1' } } }) }) })).json()).result.capabilities));
        const { comparison } = await import(join(MCP_SOURCE_DIR, 'web/server.js'));
        assert.equal(table[0].length, 5);
        assert.deepEqual(table.slice(1), comparison(declared).map(({ path, cells }) => [path.join(' › '), ...cells]));
        assert.ok(table.some(([name]) => name === 'resources › subscribe'), JSON.stringify(table));
        await checkAccess(page, 'server');
        await page.selectOption('header select', '2025-11-25');
        await page.locator('[data-revision="2025-11-25"]').waitFor();
        await page.panel('resources');
        await read('README.md', '.text', '# Title');
        await page.selectOption('header select', '2026-07-28');
        await page.locator('[data-revision="2026-07-28"]').waitFor();
        await page.panel('resources');
        await rows(page).first().waitFor();
    });

    it('asks for the first entries before it knows what the server is', async () => {
        let listed;
        const asked = new Promise(done => (listed = done));
        const front = await inFrontOf(server.url, endpoint({
            'server/discover': async () => {
                await asked;
                return { supportedVersions: ['2026-07-28'], capabilities: { resources: {} }, _meta: {} };
            },
            'resources/list': () => {
                listed();
                return { resources: [{ uri: 'mem:one', name: 'one' }] };
            },
        }, {}));
        const early = await open(browser, front.url);
        await rows(early).first().waitFor();
        assert.deepEqual(early.faults(), []);
        await early.context().close();
        front.stop();
    });

    it('shows the rows that a tool returns as a table', async () => {
        const structuredContent = { columns: ['id', 'who'], rows: [[1, 'ada'], [2, null]], truncated: false };
        const front = await inFrontOf(server.url, endpoint({
            'tools/list': () => ({ tools: [{ name: 'query', inputSchema: { type: 'object' } }] }),
            'tools/call': () => ({ content: [{ type: 'text', text: 'two rows' }], structuredContent }),
        }, { tools: {} }));
        const other = await open(browser, front.url);
        await other.panel('tools');
        await press(other.locator('[data-panel=tools] .row:visible', { hasText: 'query' }).first());
        await other.click('button:has-text("Call…")');
        await other.click('dialog button.primary');
        await other.locator('.table tbody tr').nth(1).waitFor();
        assert.deepEqual(await other.locator('.table tbody tr').allInnerTexts(), ['1\tada', '2\tNULL']);
        await other.getByRole('button', { name: 'Tree' }).waitFor();
        await checkAccess(other, 'a result with rows');
        assert.deepEqual(other.faults(), []);
        await other.context().close();
        front.stop();
    });

    // Without a pointer: to each panel with the arrows, into its list with "/", and to an entry with Enter.
    it('is used by the keyboard in every panel', async () => {
        const keys = await open(browser, server.url.replace('/mcp', '/'));
        await keys.locator('#token:focus').waitFor();
        await keys.keyboard.type(TOKEN);
        await keys.keyboard.press('Enter');
        await rows(keys).first().waitFor();
        const focused = () => keys.evaluate(() => document.activeElement.dataset.panel ?? document.activeElement.getAttribute('role') ?? document.activeElement.tagName);
        const tabTo = async (what, most = 60) => {
            for (let i = 0; i < most; i++) {
                if (await keys.evaluate(w => document.activeElement.matches(w), what)) return;
                await keys.keyboard.press('Tab');
            }
            assert.fail(`Tab does not lead to ${what}, but to ${await focused()}`);
        };
        await tabTo('nav button');
        const names = await keys.locator('nav button').evaluateAll(all => all.map(b => b.dataset.panel));
        for (const name of names) {
            await tabTo('nav button');
            while (await focused() !== name) await keys.keyboard.press('ArrowDown');
            await keys.keyboard.press('Enter');
            await keys.locator(`nav button[data-panel=${name}][aria-current=page]`).waitFor();
            if (!['resources', 'templates', 'timeline'].includes(name)) {
                // everything that can be used is reached, and the focus can be seen
                await keys.keyboard.press('Tab');
                assert.ok(await keys.evaluate(() => document.activeElement === document.body || document.activeElement.matches(':focus-visible')), name);
            } else {
                await keys.locator(`main [data-panel=${name}] .row:visible`).first().waitFor();
                await keys.keyboard.press('/');
                await keys.locator('main input[type=search]:focus').waitFor();
                if (name === 'timeline') await tabTo('[role=listbox]');
                else await keys.keyboard.press('ArrowDown');
                // the list may be read again meanwhile, and folders are opened first
                const shown = keys.locator('.preview h2, .preview .json').first();
                await keys.keyboard.press('End');
                await keys.keyboard.press('Home');
                await until(async () => {
                    if (await shown.count()) return true;
                    await keys.keyboard.press('ArrowDown');
                    await keys.keyboard.press('Enter');
                    return keys.locator('.row.active').count();
                }, () => `${name}: no row is active`);
                await until(async () => {
                    if (await shown.count()) return true;
                    if (await keys.locator('.preview:has-text("Reading…")').count() === 0) {
                        await keys.keyboard.press('ArrowDown');
                        await keys.keyboard.press('Enter');
                    }
                    return false;
                }, () => `${name}: nothing was opened`);
                await keys.locator('.preview h2, .preview .json').first().waitFor();
            }
            await keys.evaluate(() => document.querySelector('nav button[aria-current=page]').focus());
        }
        assert.deepEqual(keys.faults(), []);
        await keys.context().close();
    });

    it('plots how busy the server is', async () => {
        await page.panel('resources');
        await read('README.md', '.text', '# Title');
        await page.panel('load');
        await page.waitForFunction(() => Number(document.querySelector('main [data-panel=load]')?.dataset.samples) >= 3, null, { timeout: 120_000 });
        const plot = page.locator('figure.plot:visible', { has: page.locator('figcaption', { hasText: /^Requests$/ }) }).first();
        assert.match(await plot.locator('path.line').first().getAttribute('d'), /M.*L/);
        assert.deepEqual((await plot.locator('text').allTextContents()).slice(-3), ['−10 min', '−5 min', 'now']);
        assert.match(await plot.locator('svg').getAttribute('aria-label'), /^Requests, now: .*ok [\d.,]+\/s/);
        for (const title of ['Duration of a request', 'Streams, sessions, connections', 'Memory', 'Reads'])
            await page.locator('figure.plot:visible figcaption', { hasText: title }).first().waitFor();
        for (const colorScheme of ['light', 'dark']) {
            await page.emulateMedia({ colorScheme });
            await checkAccess(page, `plots, ${colorScheme}`);
        }
        await page.emulateMedia({ colorScheme: null });
    });

    it('has no plots for a caller who may not see the figures', async () => {
        const config = join(folder, 'mcpd.json'), other = 'b'.repeat(40);
        writeFileSync(config, JSON.stringify({ tokens: { ada: TOKEN, bob: other }, access: [{ effect: 'deny', metrics: true }, { principal: 'ada', effect: 'allow', metrics: true }] }), { mode: 0o600 });
        const ruled = await serve(MCPD, ['--config', config, '--page', tree.root]);
        for (const [token, status] of [[TOKEN, 200], [other, 404]]) {
            const one = await open(browser, ruled.url.replace('/mcp', '/'));
            const asked = one.waitForResponse(r => new URL(r.url()).pathname === '/metrics');
            await enter(one, token);
            assert.equal((await asked).status(), status);
            await rows(one).first().waitFor();
            if (status === 200) await one.locator('nav button[data-panel=load]').waitFor();
            else assert.equal(await one.locator('nav button[data-panel=load]').count(), 0);
            await one.context().close();
        }
        await ruled.stop();
    });

    for (const scheme of ['light', 'dark']) it(`is readable with 360 pixels, ${scheme}`, async () => {
        const small = await open(browser, server.url.replace('/mcp', '/'), { viewport: { width: 360, height: 640 }, colorScheme: scheme });
        await enter(small, TOKEN);
        for (const name of ['resources', 'templates', 'prompts', 'tools', 'tasks', 'changes', 'context', 'timeline', 'load', 'server']) {
            await small.panel(name);
            await small.waitForTimeout(50);
            assert.ok(await small.evaluate(() => document.documentElement.scrollWidth <= 360), `${name} is wider`);
            await checkAccess(small, `${name}, ${scheme}`);
            if (name === 'tools') await small.locator('section[data-panel=tools] .foot span', { hasText: /^Tools: 0$/ }).waitFor(); // there are none
        }
        const [box, first] = await Promise.all(['.top select', '.top h1'].map(s => small.locator(s).boundingBox()));
        const label = await small.locator('.top label').boundingBox();
        assert.ok(label.height < box.height * 1.5 && first.x + first.width <= label.x, 'the header has one line');
        assert.deepEqual(small.faults(), []);
        await small.context().close();
    });
});

describe('the page of mcpctl web', { timeout: 120_000, skip: missing }, () => {
    let tree, web, page;
    before(async () => {
        tree = makeTree();
        web = startWeb(['--', MCPD, tree.root]);
        page = await open(browser, await web.url);
        await rows(page).first().waitFor();
    });
    after(async () => {
        const faults = page?.faults();
        await page?.context().close();
        await web?.stop();
        tree?.remove();
        assert.deepEqual(faults, []);
    });

    it('goes on when it is loaded again, with a secret that only its tab has', async () => {
        for (let i = 0; i < 2; i++) {
            await page.reload();
            await rows(page).first().waitFor();
        }
        const { secret, ...others } = await page.evaluate(() => ({ ...sessionStorage }));
        assert.match(secret, /^[0-9a-f]{64}$/);
        assert.deepEqual(others, {});
        const elsewhere = await page.evaluate(() => JSON.stringify([location.href, document.cookie, { ...localStorage }]));
        assert.ok(!elsewhere.includes(secret), elsewhere);
        assert.deepEqual(await page.context().cookies(), []);
        const tab = await page.context().newPage();
        await tab.goto(page.url());
        await tab.locator('h1', { hasText: 'opened again' }).waitFor();
        assert.equal(await tab.evaluate(() => sessionStorage.length), 0);
        await checkAccess(tab, 'no secret');
        await tab.close();
    });

    it('takes an address that is typed into its tab, and no code twice', async () => {
        await page.goto(await web.url); // to another fragment: the browser does not load the page
        await page.locator('p', { hasText: 'the code was used already' }).waitFor();
        await page.reload();
        await rows(page).first().waitFor();
    });

    it('says that its secret is no longer valid', async () => {
        await page.evaluate(() => sessionStorage.setItem('secret', '0'.repeat(64)));
        await page.reload();
        await page.locator('h1', { hasText: 'no longer valid' }).waitFor();
    });
});

// What inputs can express, the browser checks; the rest is the server's, which is mcpd.
describe('the form of a tool', { timeout: 120_000, skip: missing }, () => {
    const properties = {
        count: { type: 'integer', minimum: 2, maximum: 9, multipleOf: 2 },
        ratio: { type: 'number', exclusiveMinimum: 0 },
        letters: { type: 'string', minLength: 2, maxLength: 3, pattern: '[a-z]' },
        mail: { type: 'string', format: 'email' },
        day: { type: 'string', format: 'date' },
        at: { type: 'string', format: 'date-time' },
        nested: { type: 'object', required: ['list'], properties: { list: { type: 'array', items: { type: 'integer', not: { const: 5 } } }, 'a/b': { not: { const: 'x' }, type: 'string' } } },
        either: { anyOf: [{ type: 'integer', not: { const: 7 } }, { type: 'boolean' }] },
    };
    let folder, server, page;
    before(async () => {
        folder = mkdtempSync(join(tmpdir(), 'mcpd-page-'));
        const config = join(folder, 'mcpd.json');
        writeFileSync(config, JSON.stringify({ page: true, tools: [{ name: 'form', command: ['echo', 'called'], 'input-schema': { type: 'object', required: ['count', 'nested'], properties, maxProperties: 6 } }] }));
        server = await serve(MCPD, ['--config', config, folder]);
        page = await open(browser, server.url.replace('/mcp', '/'));
        await page.panel('tools');
        await press(page.locator('[data-panel=tools] .row:visible', { hasText: 'form' }).first());
        await page.locator('.preview h2').waitFor();
    });
    after(async () => {
        const faults = page?.faults();
        await page?.context().close();
        await server?.stop();
        rmSync(folder, { recursive: true });
        assert.deepEqual(faults, []);
    });

    const field = name => page.locator('.field', { has: page.locator(':scope > label', { hasText: new RegExp(`^${name}`) }) });
    const type = (name, text) => field(name).locator('input').first().fill(text);
    const fault = name => field(name).locator(':scope > .fault').textContent();
    const submit = () => page.click('button:has-text("Call…")');
    const send = async () => {
        await submit();
        await page.click('dialog button.primary');
        await page.locator('[data-done]').waitFor();
    };

    it('names what the browser finds, at its field, and sends nothing', async () => {
        await submit();
        assert.notEqual(await fault('count'), '');
        for (const [name, wrong, right] of [['count', '3', '4'], ['count', '1', '4'], ['count', '10', '4'], ['count', '2.5', '4'], ['mail', 'nobody', 'a@b.example'],
            ['letters', 'a', 'ab'], ['letters', 'abcd', 'abc'], ['letters', '12', '1b2'], ['letters', '👍👍👍👍', '👍a👍']]) {
            await type('count', '4');
            await type(name, wrong);
            await submit();
            assert.equal(await page.locator('dialog').count(), 0, `${name}: ${wrong}`);
            assert.notEqual(await fault(name), '', `${name}: ${wrong}`);
            assert.equal(await field(name).locator('input').getAttribute('aria-invalid'), 'true');
            await checkAccess(page, `a fault of ${name}`);
            await type(name, right);
            await submit();
            await page.click('dialog button:has-text("Cancel")');
            assert.equal(await fault(name), '', `${name}: ${right}`);
            assert.equal(await field(name).locator('input').getAttribute('aria-invalid'), null);
        }
        await type('mail', '');
        await type('letters', '');
    });

    it('shows what the server finds, at its field', async () => {
        await type('count', '4');
        await type('ratio', '0');
        await page.locator('fieldset', { hasText: 'list' }).locator('button:has-text("Add")').last().click();
        await page.locator('fieldset', { hasText: 'list' }).last().locator('input').fill('5');
        await type('a/b', 'x');
        await field('either').locator('select').first().selectOption('integer');
        await field('either').locator('input').fill('7');
        await send();
        await page.locator('[aria-invalid=true]').first().waitFor();
        assert.match(await fault('ratio'), /more than 0/);
        assert.notEqual(await page.locator('fieldset', { hasText: 'list' }).last().locator('.field .fault').textContent(), '');
        assert.notEqual(await fault('a/b'), '');
        assert.notEqual(await field('either').locator('.field .fault').textContent(), '');
        assert.equal(await fault('count'), '');
        assert.ok(await page.evaluate(() => document.activeElement.matches('[aria-invalid=true]')), 'the first fault has the focus');
        await checkAccess(page, 'faults that the server found');
    });

    it('calls when nothing is wrong, with times as the schema has them, and says what has no field', async () => {
        await type('ratio', '0.5');
        await page.locator('fieldset', { hasText: 'list' }).last().locator('input').fill('6');
        await type('a/b', 'y');
        await field('either').locator('input').fill('8');
        await type('at', '2026-01-31T12:00');
        await type('day', '2026-02-01');
        await send();
        await page.locator('[data-result] .text', { hasText: 'called' }).waitFor();
        await submit();
        const said = await page.locator('dialog .json').textContent();
        assert.ok(said.includes(`"${await page.evaluate(() => new Date('2026-01-31T12:00').toISOString())}"`), said);
        assert.ok(said.includes('"2026-02-01"'), said);
        await page.click('dialog button:has-text("Cancel")');
        await type('mail', 'a@b.example');
        await send();
        await page.locator('.preview p.error:visible', { hasText: /^\/: / }).waitFor();
    });
});
