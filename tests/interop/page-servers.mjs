// The page of mcpd, in Chromium, with servers that ask, work for long, are odd, large or hostile. Not a part of ./runtests:
//
//   MCP_INTEROP_FILE=page-servers.mjs tests/interop/run [MCPD]

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { checkAccess, inFrontOf, launch, missing, open, press } from './support/page.mjs';
import { endpoint, pages } from './support/page-server.mjs';
import { freePort, serve, serveAt, foreign } from './support/server.mjs';
import { makeTree } from './support/tree.mjs';
import { until } from './support/wait.mjs';
import { startWeb } from './support/web.mjs';

const { MCPD, MCP_BUILD_DIR, MCP_SOURCE_DIR } = process.env;
const modules = join(import.meta.dirname, '../node_modules/@modelcontextprotocol');

let browser, tree, mcpd;
before(async () => {
    if (missing) return;
    browser = await launch();
    tree = makeTree();
    mcpd = await serve(MCPD, ['--page', tree.root]);
});
after(async () => {
    await browser?.close();
    await mcpd?.stop();
    tree?.remove();
    assert.doesNotMatch(mcpd?.stderr ?? '', /Sanitizer|runtime error/);
});

const rows = page => page.locator('main .vlist .row:visible');

// A page on an endpoint; `body` gets it.
async function on(to, body, options) {
    const front = await inFrontOf(mcpd.url, to);
    try {
        const page = await open(browser, front.url, options);
        await body(page, front);
        assert.deepEqual(page.faults(), []);
        await page.context().close();
    } finally {
        front.stop();
    }
}

async function choose(page, panel, name) {
    await page.panel(panel);
    await page.fill(`[data-panel=${panel}] input[type=search]`, name);
    const row = page.locator(`[data-panel=${panel}] .row:visible`, { has: page.locator(`.name[title="${name}"]`) }).first();
    await press(row);
    await page.locator('.preview h2').waitFor();
}

async function call(page, name, fill) {
    await choose(page, 'tools', name);
    await fill?.();
    await page.click('button:has-text("Call…")');
    await page.click('dialog button.primary');
}

const result = page => page.locator('[data-result]');
const dialog = page => page.locator('dialog');

const revision = async (page, era) => {
    if (era === 'modern') return;
    await page.selectOption('header select', '2025-11-25');
    await page.locator('[data-revision="2025-11-25"]').waitFor();
};

for (const era of ['modern', 'legacy']) describe(`the page with a server that has everything, ${era}`, { timeout: 120_000, skip: missing }, () => {
    let server;
    before(async () => { server = await serveAt(join(MCP_BUILD_DIR, 'tests/conformance-server'), port => [`${port}`]); });
    after(() => server?.stop());

    it('calls tools, and shows their contents', () => on(server.url, async page => {
        await page.waitForSelector('nav');
        await revision(page, era);
        await call(page, 'test_simple_text');
        await result(page).locator('.text').waitFor();
        await call(page, 'test_image_content');
        await page.waitForFunction(() => document.querySelector('[data-result] img')?.naturalWidth > 0);
        await call(page, 'test_audio_content');
        await result(page).locator('audio').waitFor();
        await call(page, 'test_error_handling');
        await result(page).locator('.error').waitFor();
        await call(page, 'test_tool_with_progress');
        await result(page).locator('.content').first().waitFor();
        await checkAccess(page, 'a result');
    }));

    it('asks what the server asks, and passes the answer on', () => on(server.url, async page => {
        await page.waitForSelector('nav');
        await revision(page, era);
        const modern = era === 'modern';
        await call(page, modern ? 'test_input_required_result_elicitation' : 'test_elicitation',
            async () => { if (!modern) await page.fill('.form textarea, .form input', 'Who are you?'); });
        await dialog(page).locator('form').waitFor();
        await checkAccess(page, 'a question');
        for (const input of await dialog(page).locator('.form input:not([type=checkbox])').all())
            await input.fill(await input.getAttribute('type') === 'email' ? 'ada@example.org' : 'Ada');
        await dialog(page).locator('button:has-text("Send")').click();
        await result(page).locator('.content').first().waitFor();
        await call(page, modern ? 'test_input_required_result_sampling' : 'test_sampling',
            async () => { if (!modern) await page.fill('.form textarea, .form input', 'Say something'); });
        await dialog(page).locator('#sampled').fill('An answer of a person');
        await checkAccess(page, 'a request to a model');
        await dialog(page).locator('button:has-text("Answer")').click();
        await result(page).locator('.text', { hasText: 'An answer of a person' }).waitFor();
    }));

    it('follows tasks', () => on(server.url, async page => {
        await page.waitForSelector('nav');
        await revision(page, era);
        await call(page, 'slow_compute', async () => {
            for (const input of await page.locator('.form input[inputmode]').all()) await input.fill('1');
            if (era === 'legacy') await page.check('#as-task');
        });
        await result(page).locator('button:has-text("Show the task")').click();
        await page.locator('.card [data-status=completed]').waitFor();
        await page.locator('.card .content').first().waitFor();
        await call(page, 'confirm_delete', async () => {
            for (const input of await page.locator('.form input').all()) if (await input.getAttribute('id') !== 'as-task') await input.fill('a.txt');
            if (era === 'legacy') await page.check('#as-task');
        });
        await dialog(page).locator('form').waitFor();
        for (const box of await dialog(page).locator('input[type=checkbox]').all()) await box.check();
        for (const select of await dialog(page).locator('select').all()) await select.selectOption({ index: 1 });
        await dialog(page).locator('button:has-text("Send")').click();
        await page.panel('tasks');
        await page.locator('.card').first().locator('[data-status=completed]').waitFor();
        await checkAccess(page, 'tasks');
    }));

    it('shows prompts, with their arguments', () => on(server.url, async page => {
        await page.waitForSelector('nav');
        await revision(page, era);
        await choose(page, 'prompts', 'test_prompt_with_arguments');
        for (const input of await page.locator('.preview form input').all()) await input.fill('value of it');
        await page.click('button:has-text("Get the prompt")');
        await page.locator('.card .text', { hasText: 'value of it' }).waitFor();
        await checkAccess(page, 'prompts');
    }));
});

describe('the page with server-everything', { timeout: 120_000, skip: missing }, () => {
    let server, port;
    before(async () => {
        port = await freePort();
        server = await foreign('/usr/bin/env', [`PORT=${port}`, process.execPath, join(modules, 'server-everything/dist/index.js'), 'streamableHttp'], port);
    });
    after(() => server?.stop());

    it('reads, calls, answers and cancels', () => on(`http://127.0.0.1:${port}/mcp`, async page => {
        await rows(page).first().waitFor();
        await press(page.locator('.row', { hasText: 'features.md' }));
        await page.locator('.text').first().waitFor();
        await call(page, 'get-structured-content', () => page.locator('.form select').first().selectOption({ index: 1 }));
        await result(page).locator('h3', { hasText: 'Structured result' }).waitFor();
        await call(page, 'trigger-elicitation-request');
        await dialog(page).locator('form').waitFor();
        await checkAccess(page, 'elicitation of server-everything');
        await dialog(page).locator('button:has-text("Decline")').click();
        await result(page).locator('.content').first().waitFor();
        await call(page, 'trigger-long-running-operation', async () => {
            for (const input of await page.locator('.form input').all()) await input.fill('5');
        });
        await page.locator('.bar:has(progress)', { hasText: /\d/ }).waitFor();
        await page.click('button:has-text("Cancel")');
        await page.locator('p', { hasText: 'Cancelled.' }).waitFor();
    }, { allowed: /status of 40[0-9]/ }));
});

describe('the page of mcpctl web', { timeout: 60_000, skip: missing }, () => {
    const start = (...args) => startWeb(args);

    it('exchanges its code, and shows Markdown and the messages behind it', async () => {
        writeFileSync(tree.path('page.md'), '# A title\n\nSome *words*, <b>no markup</b>, and [a link](https://example.org/x).\n');
        const web = start('--', MCPD, tree.root);
        try {
            const page = await open(browser, await web.url);
            await rows(page).first().waitFor();
            assert.ok(!page.url().includes('code'));
            await page.fill('input[type=search]', 'page.md');
            await press(page.locator('.row:visible', { hasText: 'page.md' }).first());
            await page.locator('.markdown h3', { hasText: 'A title' }).waitFor();
            assert.equal(await page.locator('.markdown b').count(), 0);
            assert.equal(await page.locator('.markdown a').getAttribute('rel'), 'noopener noreferrer');
            await checkAccess(page, 'Markdown');
            await page.panel('timeline');
            assert.equal(await page.inputValue('select[aria-label="Which messages"]'), 'programs');
            assert.ok((await page.locator('[data-panel=timeline] input[type=search]').boundingBox()).width > 100);
            assert.match(await page.locator('.top .version').innerText(), / · MCP 2026-07-28$/);
            await page.locator('label', { hasText: 'This page and mcpctl' }).waitFor();
            await page.locator('.row:visible', { hasText: 'resources/read' }).first().waitFor();
            await page.panel('server');
            await page.locator('.card', { hasText: 'Its answer to' }).waitFor();
            await checkAccess(page, 'servers');
            assert.deepEqual(page.faults(), []);
            await page.context().close();
        } finally {
            await web.stop();
        }
    });

    it('says why a server cannot be used', async () => {
        const web = start('--', '/bin/false');
        try {
            const page = await open(browser, await web.url, { allowed: /status of/ });
            await page.locator('.error').first().waitFor();
            await page.context().close();
        } finally {
            await web.stop();
        }
    });
});

// ---- a table of answers ---------------------------------------------------------------------------------------------

const schema = {
    type: 'object', required: ['name', 'place', 'kind'],
    properties: {
        name: { type: 'string', title: 'Name', minLength: 2 },
        place: { type: 'object', required: ['city'], properties: { city: { type: 'string', default: 'London' }, zip: { type: 'integer' } } },
        tags: { type: 'array', items: { type: 'string' } },
        colours: { type: 'array', items: { enum: ['red', 'green'] } },
        kind: { anyOf: [{ title: 'A number', type: 'integer' }, { title: 'A shape', type: 'object', required: ['sides'], properties: { sides: { type: 'integer' } } }] },
        old: { type: 'boolean', default: true },
        level: { oneOf: [{ const: 1, title: 'low' }, { const: 2, title: 'high' }] },
        maybe: { type: ['string', 'null'] },
    },
};

describe('the page and forms', { timeout: 60_000, skip: missing }, () => {
    it('makes forms of schemas', async () => {
        let given;
        const table = endpoint({
            'tools/list': () => ({ tools: [{ name: 'form', inputSchema: schema },
                { name: 'bad', inputSchema: { type: 'object', properties: { x: { type: 'number', 'x-mcp-header': 'X' } } } }] }),
            'tools/call': params => {
                given = params.arguments;
                return { content: [], structuredContent: { n: 'seven' } };
            },
        }, { tools: {} });
        await on(table, async page => {
            await choose(page, 'tools', 'form');
            await page.click('button:has-text("Call…")');
            await page.locator('.fault:not(:empty)').first().waitFor();
            await page.getByLabel('Name').fill('Ada');
            await page.getByLabel(/^zip/).fill('12');
            await page.locator('fieldset', { hasText: 'tags' }).locator('button:has-text("Add")').click();
            await page.locator('fieldset', { hasText: 'tags' }).locator('input').fill('first');
            await page.getByLabel('green').check();
            await page.locator('.field', { hasText: 'kind' }).locator('select').first().selectOption('A shape');
            await page.getByLabel('sides').fill('4');
            await page.getByLabel(/^level/).selectOption('high');
            await checkAccess(page, 'a form');
            await page.click('button:has-text("Call…")');
            await page.locator('dialog .json', { hasText: 'London' }).waitFor();
            await page.click('dialog button.primary');
            await result(page).locator('.json', { hasText: 'seven' }).waitFor();
            assert.deepEqual(given, { name: 'Ada', place: { city: 'London', zip: 12 }, tags: ['first'], colours: ['green'], kind: { sides: 4 }, old: true, level: 2 });
            await choose(page, 'tools', 'bad');
            await page.locator('.warning', { hasText: 'invalid' }).waitFor();
        });
    });

    it('opens an address only with consent, and shows all of it', async () => {
        const url = 'https://login.example.com.evil.example/a?b=%3Cscript%3E#c';
        let answers;
        const table = endpoint({
            'tools/list': () => ({ tools: [{ name: 'ask', inputSchema: { type: 'object' } }] }),
            'tools/call': params => {
                answers = params.inputResponses;
                return answers ? { content: [{ type: 'text', text: 'thank you' }] }
                    : { resultType: 'input_required', requestState: 's', inputRequests: { q: { method: 'elicitation/create', params: { mode: 'url', message: 'Log in', url } } } };
            },
        }, { tools: {} });
        await on(table, async page => {
            let opened = 0;
            page.context().on('page', () => opened++);
            await call(page, 'ask');
            assert.equal(await dialog(page).locator('.address').innerText(), url);
            assert.equal(await dialog(page).locator('.address strong').innerText(), 'login.example.com.evil.example');
            await checkAccess(page, 'an address');
            await dialog(page).locator('button:has-text("Decline")').click();
            await result(page).locator('.text', { hasText: 'thank you' }).waitFor();
            assert.deepEqual(answers, { q: { action: 'decline' } });
            assert.equal(opened, 0);
        });
    });
});

describe('the page and addresses that have to be visited first (2025-11-25)', { timeout: 60_000, skip: missing }, () => {
    // A server of 2025-11-25 whose tool answers with error -32042 until `visited`.
    const legacy = (state, url) => async ({ id, method, params }, request, response) => {
        const reply = body => {
            response.writeHead(200, { 'Content-Type': 'application/json', 'Mcp-Session-Id': 's' });
            response.end(JSON.stringify({ jsonrpc: '2.0', id, ...body }));
        };
        if (request.method === 'GET') {
            response.writeHead(200, { 'Content-Type': 'text/event-stream' });
            response.write(': begin\n\n');
            state.send = message => response.write(`data: ${JSON.stringify(message)}\n\n`);
            return;
        }
        if (id === undefined || request.method === 'DELETE') return void response.writeHead(202).end();
        if (method === 'initialize')
            return reply({ result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'legacy', version: '1' } } });
        if (method === 'tools/list') return reply({ result: { tools: [{ name: 'pay', inputSchema: { type: 'object' } }] } });
        if (method !== 'tools/call') return void response.writeHead(400).end();
        state.calls++;
        if (state.visited) return reply({ result: { content: [{ type: 'text', text: 'paid' }] } });
        return reply({ error: { code: -32042, message: 'pay first', data: { elicitations: [{ mode: 'url', elicitationId: 'e1', message: 'Pay here', url }] } } });
    };
    const play = async body => {
        const state = { calls: 0, visited: false, send: undefined };
        await on(legacy(state, `${mcpd.url.replace('/mcp', '')}/healthz?pay`), async page => {
            await page.waitForSelector('nav');
            await call(page, 'pay');
            await dialog(page).locator('.address', { hasText: 'healthz?pay' }).waitFor();
            await checkAccess(page, 'an address that has to be visited');
            await body(page, state);
        }, { allowed: /status of 40[0-9]/ });
    };
    const visit = async page => {
        const [tab] = await Promise.all([page.context().waitForEvent('page'), dialog(page).locator('button:has-text("Open")').click()]);
        await dialog(page).locator('button:has-text("Go on")').waitFor();
        await tab.close();
    };

    it('opens it with consent, and calls again when the user goes on', () => play(async (page, state) => {
        await visit(page);
        assert.equal(state.calls, 1);
        state.visited = true;
        await dialog(page).locator('button:has-text("Go on")').click();
        await result(page).locator('.text', { hasText: 'paid' }).waitFor();
        assert.equal(state.calls, 2);
    }));

    it('calls again when the server says that it was visited', () => play(async (page, state) => {
        await visit(page);
        state.visited = true;
        state.send({ jsonrpc: '2.0', method: 'notifications/elicitation/complete', params: { elicitationId: 'other' } });
        state.send({ jsonrpc: '2.0', method: 'notifications/elicitation/complete', params: { elicitationId: 'e1' } });
        await result(page).locator('.text', { hasText: 'paid' }).waitFor();
        assert.equal(state.calls, 2);
    }));

    it('shows the error, and opens nothing, without consent', () => play(async (page, state) => {
        let opened = 0;
        page.context().on('page', () => opened++);
        await dialog(page).locator('button:has-text("Decline")').click();
        await page.locator('p.error', { hasText: 'pay first' }).waitFor();
        assert.equal(state.calls, 1);
        assert.equal(opened, 0);
    }));
});

// The servers of the other SDKs (peers/check.py says what they have).
for (const [peer, make] of [['sdk2', 'prepare_python && echo "$python"'], ['go', 'prepare_go ./server go-server && echo "$dir/go-server"']])
    describe(`the page with a server on another SDK: ${peer}`, { timeout: 600_000, skip: missing }, () => {
        let server, port, reason;
        before(async () => {
            const here = join(MCP_SOURCE_DIR, 'tests/interop/peers');
            const prepared = spawnSync('bash', ['-uc', `dir=$MCP_PEERS_DIR here=$1 peer=$2; mkdir -p "$dir"; . "$here/prepare.sh"; ${make}`, 'prepare', here, peer],
                { encoding: 'utf8', env: { ...process.env, MCP_PEERS_DIR: process.env.MCP_PEERS_DIR ?? join(MCP_SOURCE_DIR, 'build/peers') } });
            if (prepared.status === 77) return void (reason = prepared.stdout.trim());
            assert.equal(prepared.status, 0, prepared.stderr);
            port = await freePort();
            server = await foreign(prepared.stdout.trim(), peer === 'go' ? [`${port}`] : [join(here, 'python/server.py'), peer, `${port}`], port);
        });
        after(() => server?.stop());

        for (const era of ['modern', 'legacy']) it(`lists, reads, completes, calls, gets prompts and sees changes, ${era}`, t => {
            if (reason) return t.skip(reason);
            return on(`http://127.0.0.1:${port}/mcp`, async page => {
                await page.waitForSelector('nav');
                await revision(page, era);
                await press(page.locator('.row:visible', { hasText: 'text' }).first());
                await page.locator('.text', { hasText: 'two' }).first().waitFor();
                await choose(page, 'templates', 'city');
                await page.locator('.preview form input').first().fill('Rome');
                await page.click('.preview form button[type=submit]');
                await page.locator('.text', { hasText: 'This is Rome.' }).first().waitFor();
                await choose(page, 'prompts', 'visit');
                await page.locator('.preview form input').first().fill('Bern');
                await page.click('button:has-text("Get the prompt")');
                await page.locator('.card .text', { hasText: 'Plan a visit to Bern.' }).waitFor();
                await call(page, 'slow', async () => {
                    await page.getByLabel(/^steps/i).fill('3');
                    await page.getByLabel(/^tell/i).check();
                });
                await result(page).locator('.text', { hasText: '3 steps' }).waitFor();
                await page.panel('resources');
                await page.fill('input[type=search]', 'live');
                await until(async () => (await rows(page).allInnerTexts()).every(text => text.includes('live')), 'the search');
                await press(rows(page).first());
                await page.locator('button:has-text("Read again"):visible').waitFor();
                const watch = page.locator('button:has-text("Watch")');
                if (peer === 'sdk2' && era === 'legacy') // it declares resources.subscribe as false there
                    assert.equal(await watch.count(), 0);
                else {
                    await watch.click();
                    await page.locator('.row.changed:visible').first().waitFor();
                    await page.panel('timeline');
                    await page.locator('.row:visible', { hasText: 'resources/updated' }).first().waitFor();
                }
                await page.panel('server');
                await page.locator('dd', { hasText: 'noisy' }).first().waitFor();
            }, { allowed: /status of 40[0-9]/ });
        });
    });

describe('the page and hostile servers', { timeout: 120_000, skip: missing }, () => {
    const evil = '<img src=x onerror=alert(1)><script>alert(1)</script>\u001b]0;x\u0007\u202e';
    it('shows names and texts that would be markup as text', async () => {
        const item = { name: evil, title: evil, uri: `javascript:alert(1)//${evil}`, description: evil, mimeType: 'text/html' };
        const table = endpoint({
            'server/discover': () => ({ supportedVersions: ['2026-07-28'], instructions: evil, capabilities: { resources: {}, tools: {}, prompts: {} }, serverInfo: { name: evil, version: evil } }),
            'resources/list': () => ({ resources: [item] }),
            'resources/templates/list': () => ({ resourceTemplates: [{ ...item, uriTemplate: `x:${evil}{a}` }] }),
            'prompts/list': () => ({ prompts: [{ ...item, arguments: [{ name: evil, description: evil }] }, null, 5] }),
            'tools/list': () => ({ tools: [{ ...item, inputSchema: { type: 'object', title: evil, properties: { [evil]: { title: evil, description: evil, enum: [evil] }, ['__proto__']: { type: 'string' } } } }] }),
            'resources/read': () => ({ contents: [{ uri: evil, mimeType: 'text/html', text: evil }, { uri: 'x:svg', mimeType: 'image/svg+xml', blob: btoa('<svg onload=alert(1)>') },
                { uri: 'x:pdf', mimeType: 'application/pdf', blob: btoa('%PDF-1.4') }] }),
        }, {});
        await on(table, async page => {
            page.on('dialog', () => assert.fail('a script ran'));
            for (const panel of ['resources', 'templates', 'prompts', 'tools', 'server']) {
                await page.panel(panel);
                if (panel === 'server') break;
                if (panel === 'resources') await page.click('button:has-text("Tree")');
                await press(page.locator(`main [data-panel=${panel}] .row:visible`).first()); // not a row of the panel before
                await page.locator('.preview h2').waitFor();
            }
            await page.panel('resources');
            await page.locator('.content').nth(2).waitFor();
            assert.equal(await page.locator('#page img, #page script, #page svg, #page iframe').count(), 0);
            assert.ok((await page.locator('.row .name').first().innerText()).includes('<script>'));
            await checkAccess(page, 'hostile names');
        });
    });

    it('survives a name of 10 MB, 100,000 tools and a list without an end', { timeout: 110_000 }, async () => {
        let asked = 0;
        const table = endpoint({
            'resources/list': ({ cursor }) => ({ resources: [{ name: cursor ? `r${asked}` : 'x'.repeat(10 << 20), uri: `x:/${asked++}` }], nextCursor: `c${asked}` }),
            'tools/list': pages('tools', 100_000, i => ({ name: `tool${i}`, description: 'd', inputSchema: { type: 'object' } })),
        }, { resources: {}, tools: {} });
        await on(table, async page => {
            await rows(page).nth(3).waitFor();
            await page.panel('tools');
            await page.locator('[data-panel=tools] .foot', { hasText: '100,000' }).waitFor({ timeout: 60_000 });
            await page.fill('[data-panel=tools] input[type=search]', 'tool99999');
            await page.locator('.row:visible .name[title="tool99999"]').first().waitFor();
            assert.ok(await page.evaluate(() => document.querySelectorAll('*').length) < 1500);
        });
    });

    it('says what is wrong with answers that are not of the protocol', async () => {
        for (const [text, said] of [['not JSON', /not JSON/], ['{"jsonrpc":"2.0","id":1,"result":5}', /without a result/], ['[]', /without a result/]]) {
            await on((message, request, response) => {
                response.writeHead(200, { 'Content-Type': 'application/json' });
                response.end(text);
            }, async page => assert.match(await page.locator('.error').innerText(), said));
        }
    });
});

describe('the page and many entries', { timeout: 120_000, skip: missing }, () => {
    // Tests assert no times; the figures are printed. Of each task of the page, the time that its thread computed is
    // counted, which does not depend on what else the machine does.
    const tasks = async (page, work) => {
        const session = await page.context().newCDPSession(page);
        const durations = [];
        session.on('Tracing.dataCollected', ({ value }) => {
            for (const e of value) if (/RunTask$/.test(e.name) && e.tdur > 20_000) durations.push([e.tid, Math.round(e.tdur / 1000)]);
        });
        await session.send('Tracing.start', { traceConfig: { includedCategories: ['toplevel', 'devtools.timeline', 'disabled-by-default-devtools.timeline'] } });
        await work();
        const done = new Promise(resolve => session.once('Tracing.tracingComplete', resolve));
        await session.send('Tracing.end');
        await done;
        return `tasks above 20 ms of CPU: ${JSON.stringify(durations.map(d => d[1]))}`;
    };
    const scroll = page => tasks(page, () => page.evaluate(async () => {
        const list = [...document.querySelectorAll('.vlist')].find(l => l.offsetParent);
        for (let i = 0; i < 120; i++) {
            list.scrollTop = i % 2 ? list.scrollHeight * i / 120 : list.scrollTop + 300;
            await new Promise(done => requestAnimationFrame(done));
        }
    }));

    it('scrolls through 100,000 resources', async t => {
        const list = pages('resources', 100_000, i => ({ uri: `file:///data/d${i % 500}/f${i}.txt`, name: `f${i}.txt`, mimeType: 'text/plain', size: i }));
        await on(endpoint({ 'resources/list': list }, { resources: {} }), async (page, front) => {
            await page.goto(front.url);
            await rows(page).first().waitFor();
            t.diagnostic(`first rows: ${await page.evaluate(() => Math.round(performance.now()))} ms; first paint: ${await page.evaluate(() => Math.round(performance.getEntriesByName('first-contentful-paint')[0]?.startTime))} ms`);
            t.diagnostic(`while the list is read: ${await tasks(page, async () => {
                await page.click('button:has-text("Tree")');
                await page.waitForFunction(() => document.querySelector('.split')?.dataset.complete === 'true', null, { timeout: 60_000 });
            })}`);
            t.diagnostic(`while scrolling: ${await scroll(page)}`);
            t.diagnostic(`while searching: ${await tasks(page, async () => {
                await page.fill('input[type=search]', 'f99999');
                await page.locator('.row:visible .name', { hasText: 'f99999.txt' }).first().waitFor();
            })}`);
            assert.ok(await page.locator('.row').count() < 150);
        });
    });

    it('keeps the last 10,000 messages', async t => {
        await on(endpoint({ 'resources/list': pages('resources', 3, i => ({ uri: `x:${i}`, name: `r${i}` })), 'resources/read': ({ uri }) => ({ contents: [{ uri, text: uri }] }) }, { resources: {} }), async page => {
            await page.panel('timeline');
            await page.evaluate(async () => {
                const { app } = await import('/app.js');
                for (let i = 0; i < 6000; i++) {
                    app.journal.add('page', JSON.stringify({ jsonrpc: '2.0', id: 100 + i, method: 'resources/read', params: { uri: `x:${i}` } }));
                    app.journal.add('server', JSON.stringify({ jsonrpc: '2.0', id: 100 + i, result: { contents: [{ uri: `x:${i}`, text: 'x'.repeat(i % 1000) }] } }));
                    if (i % 100 === 0) await new Promise(done => setTimeout(done));
                }
            });
            await page.locator('.foot', { hasText: /^(10,|9,)\d\d\d messages, \d+ older/ }).waitFor();
            t.diagnostic(`timeline, while scrolling: ${await scroll(page)}`);
            await page.fill('main input[type=search]', 'x:5999');
            await page.locator('.foot', { hasText: /^\d messages/ }).waitFor();
        });
    });
});
