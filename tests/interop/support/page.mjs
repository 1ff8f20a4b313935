// The web page in Debian's Chromium: how it is opened, and what must hold in every test of it.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { createRequire } from 'node:module';
import { once } from 'node:events';
import { chromium } from 'playwright-core';
import { until } from './wait.mjs';

const program = '/usr/bin/chromium';
export const missing = existsSync(program) ? false : 'Chromium is not installed (scripts/install-deps --interop)';
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export const launch = () => chromium.launch({ executablePath: program, args: ['--no-sandbox', '--disable-dev-shm-usage'] });

// Opens a page. `allowed` are console errors that belong to the test, as a RegExp; `hosts` are others to which it may connect.
export async function open(browser, url, { allowed = /status of 40[0-9]|TrustedHTML/, hosts: others = [], ...options } = {}) {
    const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(Number(process.env.PAGE_WAIT_MS ?? 30_000));
    const faults = [], hosts = new Set();
    page.on('pageerror', error => faults.push(`error: ${error.stack}`));
    page.on('console', m => { if (['error', 'warning'].includes(m.type()) && !allowed.test(m.text())) faults.push(`console: ${m.text()}`); });
    page.on('request', r => { if (!r.url().startsWith('blob:')) hosts.add(new URL(r.url()).host); });
    await page.goto(url);
    return Object.assign(page, {
        panel: async name => {
            await page.click(`nav button[data-panel=${name}]`);
            await page.waitForSelector(`nav button[data-panel=${name}][aria-current=page]`);
        },
        // What the browser reported, and requests to other hosts.
        faults: () => [...faults, ...[...hosts].filter(h => h !== new URL(url).host && !others.includes(h))],
    });
}

// Clicks a row of a list that may be drawn anew meanwhile: another element has its text then.
export const press = row => until(() => row.click({ timeout: 5000 }).then(() => true, () => false), () => `a click on ${row}`, 60_000);

// What axe finds, for WCAG 2.2 A and AA and its best practices.
export async function checkAccess(page, where) {
    await page.evaluate(axe);
    const found = await page.evaluate(async () => (await axe.run(document, {
        runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    })).violations.map(v => `${v.impact} ${v.id}: ${v.nodes.map(n => n.html.slice(0, 200)).slice(0, 3).join(' | ')}`));
    assert.deepEqual(found, [], `axe: ${where}`);
}

// The page of an mcpd in front of another endpoint: `handle(message, request, response)` or a URL.
export async function inFrontOf(mcpd, endpoint) {
    const forward = (to, q, s) => {
        const { origin: _, host: __, ...headers } = q.headers;
        const onward = request(to, { method: q.method, headers }, r => {
            s.writeHead(r.statusCode, r.headers);
            r.pipe(s);
        });
        onward.on('error', () => s.destroy());
        s.on('close', () => onward.destroy());
        q.pipe(onward);
    };
    const server = createServer(async (q, s) => {
        if (q.url !== '/mcp') return forward(new URL(q.url, mcpd), q, s);
        if (typeof endpoint === 'string') return forward(endpoint, q, s);
        let body = '';
        for await (const part of q) body += part;
        return endpoint(body && JSON.parse(body), q, s);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    server.unref(); // a test that fails before stop() ends nonetheless
    return { url: `http://127.0.0.1:${server.address().port}/`, stop: () => {
        server.closeAllConnections();
        server.close();
    } };
}
