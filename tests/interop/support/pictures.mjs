// Pictures of the page for docs/web.md. What they show has no times and no paths of the machine where they are made.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inFrontOf, open, press } from './page.mjs';
import { endpoint } from './page-server.mjs';
import { serve } from './server.mjs';

const size = { width: 1000, height: 620 };

function makeFolder() {
    const folder = mkdtempSync(join(tmpdir(), 'mcpd-pictures-'));
    const write = (name, text) => writeFileSync(join(folder, name), text);
    mkdirSync(join(folder, 'harbour/log'), { recursive: true });
    write('harbour/README.md', '# Harbour\n\nShips, berths and tides.\n');
    write('harbour/ships.csv', ['name,flag,length,berth', 'Aurora,NO,182,4', 'Bonaventure,CA,97,1', '"Cutty, the",GB,85,2', 'Drachenfels,DE,211,7', 'Estrella,ES,64,3', 'Fram,NO,39,5', ''].join('\n'));
    write('harbour/tides.json', JSON.stringify({ station: 'North quay', tides: [{ at: '04:12', metres: 3.1 }, { at: '10:27', metres: 0.8 }, { at: '16:40', metres: 3.4 }] }));
    for (const day of ['monday', 'tuesday', 'wednesday']) write(`harbour/log/${day}.txt`, `${day}: calm\n`);
    execFileSync('sqlite3', [join(folder, 'berths.db'), "CREATE TABLE berth(id INTEGER PRIMARY KEY, depth REAL); INSERT INTO berth VALUES (1, 9.5), (2, 7.25)"]);
    return folder;
}

// Makes the pictures in a folder and returns their names.
export async function pictures(browser, mcpd, into) {
    const folder = makeFolder(), names = [];
    const server = await serve(mcpd, ['--page', join(folder, 'harbour'), `sqlite:${join(folder, 'berths.db')}`]);
    const table = endpoint({
        'tools/list': () => ({ tools: [{ name: 'book_berth', title: 'Book a berth', description: 'Books a berth for a ship.', annotations: { readOnlyHint: false, destructiveHint: false },
            inputSchema: { type: 'object', required: ['ship', 'nights'], properties: {
                ship: { type: 'string', title: 'Ship', description: 'The name in the register' }, nights: { type: 'integer', title: 'Nights', minimum: 1 },
                services: { type: 'array', title: 'Services', items: { enum: ['water', 'power', 'pilot'] } },
                payment: { title: 'Payment', anyOf: [{ title: 'Invoice', type: 'object', properties: { address: { type: 'string' } } }, { title: 'Cash', const: 'cash' }] } } },
            outputSchema: { type: 'object', properties: { berth: { type: 'integer' }, price: { type: 'number' } } } },
        { name: 'weather', title: 'Weather', description: 'The wind of the next hours.', inputSchema: { type: 'object' } }] }),
        'tools/call': ({ inputResponses }) => inputResponses ? { content: [], structuredContent: { berth: 4, price: 120.5 } }
            : { resultType: 'input_required', requestState: 's', inputRequests: { pay: { method: 'elicitation/create', params: {
                mode: 'url', message: 'Please confirm the payment on the page of the harbour.', url: 'https://pay.harbour.example/confirm?booking=4711' } } } },
    }, { tools: {} });
    const front = await inFrontOf(server.url, table);
    const shot = async (page, name) => {
        await page.mouse.move(0, size.height - 1);
        await page.waitForTimeout(150);
        await page.evaluate(() => { document.getElementById('status').textContent = ''; });
        await page.screenshot({ path: join(into, `${name}.png`), animations: 'disabled' });
        names.push(`${name}.png`);
    };
    const hide = page => page.evaluate(root => {
        for (const e of document.querySelectorAll('.address, .row .name, .row .uri'))
            for (const t of e.childNodes) if (t.nodeType === 3) t.data = t.data.replaceAll(root, '/srv');
    }, folder);
    try {
        const page = await open(browser, server.url.replace('/mcp', '/'), { viewport: size });
        await press(page.locator('.row', { hasText: 'ships.csv' }));
        await page.click('th button:has-text("length")');
        await hide(page);
        await shot(page, 'resources');
        await page.context().close();
        const tools = await open(browser, front.url, { viewport: { width: 1000, height: 760 } });
        await tools.panel('tools');
        await tools.locator('.row', { hasText: 'Book a berth' }).click();
        await tools.getByLabel('Ship').fill('Aurora');
        await tools.getByLabel('Nights').fill('2');
        await tools.getByLabel('power').check();
        await shot(tools, 'tools');
        await tools.click('button:has-text("Call…")');
        await tools.click('dialog button.primary');
        await tools.locator('dialog .address').waitFor();
        await shot(tools, 'question');
        await tools.click('dialog button:has-text("Decline")');
        await tools.locator('[data-result] .json').waitFor();
        await tools.panel('timeline');
        await tools.locator('.row', { hasText: 'tools/call' }).first().click();
        await shot(tools, 'timeline');
        await tools.context().close();
        const small = await open(browser, front.url, { viewport: { width: 360, height: 620 }, colorScheme: 'dark' });
        await small.panel('tools');
        await small.locator('.row', { hasText: 'Book a berth' }).click();
        await shot(small, 'small');
        await small.context().close();
    } finally {
        front.stop();
        await server.stop();
        rmSync(folder, { recursive: true });
    }
    return names;
}
