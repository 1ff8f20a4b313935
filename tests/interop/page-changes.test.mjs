// The web page shows what a call would change before it is made, and the questions of mcpd about changes.

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { checkAccess, launch, missing, open, press } from './support/page.mjs';
import { serve } from './support/server.mjs';

const { MCPD } = process.env;
const TOKEN = 'token-of-the-page-0123456789-0123456789';
const TITLES = { write_file: 'Write a file', edit_file: 'Edit a file' };
const HOSTILE = '<img src=x onerror="window.hurt = 1">\u202e\u200b\u001b[2J';

describe('changes on the page', { timeout: 120_000, skip: missing }, () => {
    let browser, folder, server, page;
    const file = name => join(folder, 'files', name);
    before(async () => {
        folder = mkdtempSync(join(tmpdir(), 'mcpd-page-'));
        mkdirSync(join(folder, 'files'));
        const rule = (effect, operations) => ({ effect, principal: 'ada', operations, resources: `${folder}/files/**` });
        writeFileSync(join(folder, 'mcpd.json'), JSON.stringify({ sources: [`${folder}/files`], tokens: { ada: TOKEN }, journal: join(folder, 'journal'),
            access: [{ effect: 'allow' }, rule('allow', ['create']), rule('ask', ['change'])] }), { mode: 0o600 });
        writeFileSync(file('a.txt'), `one${HOSTILE}\n\ttwo\n`);
        browser = await launch();
        server = await serve(MCPD, ['--page', '--config', join(folder, 'mcpd.json')]);
        page = await open(browser, server.url.replace('/mcp', '/'));
        await page.fill('#token', TOKEN);
        await page.click('button[type=submit]');
    });
    after(async () => {
        await browser?.close();
        await server?.stop();
        rmSync(folder, { recursive: true, force: true });
    });

    // Fills in the arguments as JSON, up to the confirmation.
    const begin = async (name, args) => {
        await page.panel('tools');
        await page.fill('[data-panel=tools] input[type=search]', name);
        await press(page.locator('[data-panel=tools] .row:visible', { has: page.locator(`.name[title="${name}"]`) }).first());
        await page.locator('[data-panel=tools] .preview h2', { hasText: TITLES[name] }).waitFor();
        await page.click('button:has-text("As JSON")');
        await page.fill('textarea[aria-label="Arguments as JSON"]', JSON.stringify(args));
        await page.click('button:has-text("Call…")');
    };
    const dialog = () => page.locator('dialog');

    it('shows the difference, and calls only after that', async () => {
        await begin('write_file', { uri: 'new.txt', text: `first\n\t${HOSTILE}\n${'many\n'.repeat(300)}` });
        await dialog().locator('text=the server\'s word').waitFor();
        assert.ok(!await dialog().locator('.diff-new').count());
        await dialog().locator('button:has-text("Try it first")').click();
        await dialog().locator('.diff-new').first().waitFor();
        assert.ok(!existsSync(file('new.txt')));
        const lines = await dialog().locator('.diff-new').allTextContents();
        assert.deepEqual(lines.slice(0, 2), ['+first\n', '+\t<img src=x onerror="window.hurt = 1">\ufffd\ufffd\u241b[2J\n']);
        assert.equal(await page.evaluate(() => window.hurt), undefined);
        const box = await dialog().locator('.change .text').evaluate(e => ({ rows: e.scrollHeight, shown: e.clientHeight, page: innerHeight }));
        assert.ok(box.rows > box.shown && box.shown < box.page / 2, JSON.stringify(box)); // it scrolls by itself
        await dialog().locator('button.primary').click();
        await page.locator('[data-result]', { hasText: 'Created' }).waitFor();
        assert.ok(existsSync(file('new.txt')));
    });

    it('does not call what would fail', async () => {
        await begin('edit_file', { uri: 'a.txt', edits: [{ old: 'none', new: '' }] });
        await dialog().locator('button:has-text("Try it first")').click();
        await dialog().locator('text=It would fail').waitFor();
        assert.ok(await dialog().locator('button.primary').isDisabled());
        await dialog().locator('button:has-text("Cancel")').click();
    });

    it('shows a question about a change line by line', async () => {
        await begin('edit_file', { uri: 'a.txt', edits: [{ old: 'two', new: '2' }] });
        await dialog().locator('button.primary').click();
        await dialog().locator('form').waitFor();
        assert.match((await dialog().locator('.diff-same').allTextContents())[0], /^change file:.*a\.txt, \+1 −1 lines\n$/);
        assert.deepEqual(await dialog().locator('.diff-old').allTextContents(), ['| -→ two\n']);
        assert.deepEqual(await dialog().locator('.diff-new').allTextContents(), ['| +→ 2\n']);
        assert.ok(await dialog().locator('.change pre').first().evaluate(e => /mono/i.test(getComputedStyle(e).fontFamily)));
        await checkAccess(page, 'a question about a change');
        await dialog().locator('select').selectOption({ label: 'do it' });
        await dialog().locator('button:has-text("Send")').click();
        await page.locator('[data-result]', { hasText: 'Changed' }).waitFor();
        assert.match(readFileSync(file('a.txt'), 'utf8'), /\n\t2\n$/);
        assert.deepEqual(page.faults(), []);
    });
});
