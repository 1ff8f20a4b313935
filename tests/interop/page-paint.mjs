// How long the page takes from the navigation to the first rows of a server with 100,000 resources, in Chromium. Not a part
// of ./runtests, and nothing here is asserted: the figures are those of the machine.
//
//   MCP_INTEROP_FILE=page-paint.mjs tests/interop/run [MCPD]
//
// For mcpd --page with 100,000 files, for mcpctl web in front of it, and for a list that is there at once. MCP_PAGE_RUNS is
// the number of navigations, each in a new context of the browser (default 7).

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

// In the page: when the first rows were painted, which is the frame after the one in which they exist.
function watch() {
    globalThis.painted = new Promise(done => {
        const look = () => requestAnimationFrame(() => {
            if (!document.querySelector('.vlist .row')) return look();
            const channel = new MessageChannel();
            channel.port1.onmessage = () => done(performance.now());
            return channel.port2.postMessage(0); // after this frame
        });
        look();
    });
}

const ticks = pid => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '').split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
};

async function visit(url, pid) {
    const context = await browser.newContext({ viewport: { width: 1200, height: 800 } });
    const page = await context.newPage();
    await page.addInitScript(watch);
    const cdp = await context.newCDPSession(page);
    await cdp.send('Performance.enable', { timeDomain: 'threadTicks' }); // the time that the thread computed
    const used = pid ? ticks(pid) : 0;
    await page.goto(url, { waitUntil: 'commit' });
    const found = await page.evaluate(async () => {
        const rows = await globalThis.painted;
        const paint = performance.getEntriesByName('first-contentful-paint')[0]?.startTime;
        const steps = performance.getEntriesByType('resource').filter(r => r.startTime < rows)
            .map(r => `${new URL(r.name).pathname} ${Math.round(r.startTime)}-${Math.round(r.responseEnd)}`);
        return { rows, paint, steps };
    });
    const { metrics } = await cdp.send('Performance.getMetrics');
    const of = name => metrics.find(m => m.name === name).value * 1000;
    const result = { ...found, tasks: of('TaskDuration'), script: of('ScriptDuration'), server: pid ? ticks(pid) - used : NaN };
    await context.close();
    return result;
}

async function measure(t, what, url, pid) {
    const runs = [];
    for (let i = 0; i < Number(MCP_PAGE_RUNS); i++) runs.push(await visit(await url(), pid));
    const sorted = name => runs.map(r => r[name]).sort((a, b) => a - b);
    const of = name => `${Math.round(sorted(name)[runs.length >> 1])} (${Math.round(sorted(name)[0])} to ${Math.round(sorted(name).at(-1))})`;
    t.diagnostic(`${what}: first paint ${of('paint')} ms, first rows ${of('rows')} ms; CPU until then: page ${of('tasks')} ms, of it scripts ${of('script')} ms${
        pid ? `, server ${of('server')} ms` : ''}`);
    if (process.env.MCP_PAGE_STEPS) for (const step of runs.at(-1).steps) t.diagnostic(step);
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
    });
    await web.stop();
    await mcpd.stop();
});
