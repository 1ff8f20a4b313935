// How long the page takes from the navigation to the first rows of a server with 100,000 resources, in Chromium. Not a part
// of ./runtests, and nothing here is asserted: the figures are those of the machine.
//
//   MCP_INTEROP_FILE=page-paint.mjs tests/interop/run [MCPD]
//
// For mcpd --page with 100,000 files, for mcpctl web in front of it, and for a list that is there at once. MCP_PAGE_RUNS is
// the number of navigations (default 7). The browser runs already. MCP_PAGE_STEPS prints what was loaded when.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { inFrontOf, launch, missing } from './support/page.mjs';
import { endpoint, pages } from './support/page-server.mjs';
import { serve } from './support/server.mjs';
import { startWeb } from './support/web.mjs';

const { MCPD, MCP_PAGE_RUNS = 7 } = process.env;
const COUNT = 100_000;
const SETTLES = 1500; // ms, for a new window of the browser
let browser, folder;

before(async () => {
    if (missing) return;
    browser = await launch();
    folder = mkdtempSync(join(tmpdir(), 'mcpd-paint-'));
    for (let d = 0; d < 500; d++) {
        mkdirSync(join(folder, `d${d}`));
        for (let i = 0; i < COUNT / 500; i++) writeFileSync(join(folder, `d${d}`, `f${i}.txt`), '');
    }
});
after(async () => {
    await browser?.close();
    if (folder) rmSync(folder, { recursive: true });
});

// In the page: when the first row was presented (Element Timing), as the browser says it of the first paint.
function watch() {
    new MutationObserver(() => {
        const name = document.querySelector('.vlist .row .name');
        if (name?.textContent && !name.hasAttribute('elementtiming')) name.setAttribute('elementtiming', 'row'); // before the frame is painted
    }).observe(document, { childList: true, subtree: true });
    globalThis.painted = new Promise(done => new PerformanceObserver(list => {
        const row = list.getEntries().find(e => e.identifier === 'row');
        if (row) done(row.startTime);
    }).observe({ type: 'element', buffered: true }));
}

const ticks = pid => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '').split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
};

const VIEWPORT = { viewport: { width: 1200, height: 800 } };

// In the page, without Playwright's own scripts, which take 10 ms there.
const found = async () => {
    const rows = await globalThis.painted;
    const paint = performance.getEntriesByName('first-contentful-paint')[0]?.startTime;
    const all = performance.getEntriesByType('resource').filter(r => r.startTime < rows);
    const list = all.filter(r => r.name.endsWith('/mcp'))[1]?.responseEnd; // after server/discover
    return { rows, paint, list, steps: all.map(r => `${new URL(r.name).pathname} ${Math.round(r.startTime)}-${Math.round(r.responseEnd)}`) };
};

async function visit(context, url, pid) {
    const page = await context.newPage();
    await page.addInitScript(watch);
    const cdp = await context.newCDPSession(page);
    await cdp.send('Performance.enable', { timeDomain: 'threadTicks' }); // the time that the thread computed
    const used = pid ? ticks(pid) : 0;
    await page.goto(url, { waitUntil: 'commit' });
    const { result: { value } } = await cdp.send('Runtime.evaluate', { expression: `(${found})()`, awaitPromise: true, returnByValue: true });
    const { metrics } = await cdp.send('Performance.getMetrics');
    const of = name => metrics.find(m => m.name === name).value * 1000;
    const result = { ...value, tasks: of('TaskDuration'), script: of('ScriptDuration'), server: pid ? ticks(pid) - used : NaN };
    await page.close();
    return result;
}

function print(t, what, runs, pid) {
    const sorted = name => runs.map(r => r[name]).sort((a, b) => a - b);
    const of = name => `${Math.round(sorted(name)[runs.length >> 1])} (${Math.round(sorted(name)[0])} to ${Math.round(sorted(name).at(-1))})`;
    t.diagnostic(`${what}: first paint ${of('paint')} ms, list there ${of('list')} ms, first rows ${of('rows')} ms; CPU until then: page ${of('tasks')} ms, of it scripts ${
        of('script')} ms${pid ? `, server ${of('server')} ms` : ''}`);
    if (process.env.MCP_PAGE_STEPS) for (const step of runs.at(-1).steps) t.diagnostic(step);
}

// A new context has a new window, into which Chromium loads about a hundred modules of its own (the search field of its
// address bar) in a process beside that of the page. A user's window has them already.
async function newWindow() {
    const context = await browser.newContext(VIEWPORT);
    await context.newPage();
    await new Promise(done => setTimeout(done, SETTLES));
    return context;
}

// Each navigation is in a tab of a new context of the browser, which has nothing of the page; and then in another tab of it,
// unless the page has another origin each time.
async function measure(t, what, url, pid, once) {
    const first = [], again = [];
    for (let i = 0; i < Number(MCP_PAGE_RUNS); i++) {
        const context = await newWindow();
        first.push(await visit(context, await url(), pid));
        if (!once) again.push(await visit(context, await url(), pid));
        await context.close();
    }
    print(t, what, first, pid);
    if (!once) print(t, `${what}, in another tab`, again, pid);
}

it('a list that is there at once', { skip: missing }, async t => {
    const mcpd = await serve(MCPD, ['--page', join(folder, 'd0')]);
    const list = pages('resources', COUNT, i => ({ uri: `file:///data/d${i % 500}/f${i}.txt`, name: `f${i}.txt`, mimeType: 'text/plain', size: i }));
    const front = await inFrontOf(mcpd.url, endpoint({ 'resources/list': list }, { resources: {} }));
    await measure(t, 'a list that is there at once', () => front.url);
    front.stop();
    await mcpd.stop();
});

it('mcpd', { skip: missing }, async t => {
    const mcpd = await serve(MCPD, ['--page', folder]);
    await measure(t, 'mcpd', () => mcpd.url.replace('/mcp', '/'), mcpd.pid);
    await mcpd.stop();
});

it('mcpctl web', { skip: missing }, async t => {
    const mcpd = await serve(MCPD, [folder]);
    let web;
    await measure(t, 'mcpctl web', async () => {
        await web?.stop();
        web = startWeb([mcpd.url]);
        return web.url;
    }, undefined, true);
    await web.stop();
    await mcpd.stop();
});
