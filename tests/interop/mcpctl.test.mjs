// mcpctl with official servers and with mcpd: every applicable command, its exit status, its text
// and the form of its JSON.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { foreign, freePort, start } from './support/server.mjs';

const { MCPCTL = 'mcpctl', MCPD } = process.env;
const node = process.execPath;
const packaged = (name, file) => join(import.meta.dirname, `../node_modules/@modelcontextprotocol/${name}/dist/${file}`);
const everything = packaged('server-everything', 'index.js');
const filesystem = packaged('server-filesystem', 'index.js');
const sdk = join(import.meta.dirname, 'support/ts-server.mjs');

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'mcpctl-')));
const home = join(folder, 'home');
mkdirSync(home);
after(() => rmSync(folder, { recursive: true }));

const env = {
    ...process.env, HOME: home, XDG_CONFIG_HOME: '', XDG_STATE_HOME: '', NO_COLOR: '1', TERM: 'xterm', LC_ALL: 'C.UTF-8',
};

// {status, stdout, stderr}; a command that hangs has the status null.
function run(command, args, typed = '') {
    return new Promise(resolve => {
        const child = execFile(command, args, { env, timeout: 60_000, cwd: home, maxBuffer: 1 << 26 },
            (error, stdout, stderr) => resolve({ status: error ? (error.killed ? null : error.code) : 0, stdout, stderr }));
        child.stdin.on('error', () => {});
        child.stdin.end(typed);
    });
}

const quoted = word => `'${word.replaceAll("'", "'\\''")}'`;
// On a terminal, whose stdout and stderr are one, without the carriage returns that it adds.
async function onTerminal(words, typed) {
    const out = await run('script', ['-qec', words.map(quoted).join(' '), '/dev/null'], typed);
    return { ...out, stdout: out.stdout.replaceAll('\r\n', '\n') };
}

// A way to a server: `to` is the end of mcpctl's command line.
const stdio = (...command) => async () => ({ to: ['--', ...command], stop: async () => {} });
const http = (path, command, ...args) => async () => {
    const port = await freePort();
    const server = await foreign(command, args.map(arg => (arg === '{}' ? `${port}` : arg)), port);
    return { to: ['-s', `http://127.0.0.1:${port}${path}`], stop: server.stop };
};
const withPort = (...command) => ['sh', '-c', 'port=$1; shift; PORT=$port exec "$@"', 'sh', '{}', ...command];

// Tests of one server: `check(words, wanted)` runs a command. wanted: { status, out, err, json, typed }, of which out
// and err are patterns, json is what has to be in the parsed output.
function suite(name, open, tests) {
    describe(name, () => {
        let way;
        before(async () => (way = await open()));
        after(() => way?.stop());
        const ctl = async (words, { typed, terminal } = {}) => {
            const line = [MCPCTL, ...words, ...way.to];
            return terminal ? onTerminal(line, typed) : run(line[0], line.slice(1), typed);
        };
        const check = async (words, { status = 0, out, err, json, typed, terminal } = {}) => {
            const got = await ctl(json ? [...words, '--json'] : words, { typed, terminal });
            const told = `${words.join(' ')}: ${got.status}\n${got.stdout}\n${got.stderr}`;
            assert.equal(got.status, status, told);
            if (out) assert.match(got.stdout, out, told);
            if (err) assert.match(got.stderr, err, told);
            else if (!status && !terminal) assert.equal(got.stderr, '', told);
            if (typeof json === 'function') json(JSON.parse(got.stdout), told);
            else if (json) assert.partialDeepStrictEqual(JSON.parse(got.stdout), json, told);
            return got;
        };
        tests(check, () => way);
    });
}

// What every server answers.
function common(check, { name, revision, modern }) {
    it('info', async () => {
        await check(['info'], { out: new RegExp(`name: +${name}\\n[^]*revision: +${revision} [^]*first answer: +[\\d.]+ ms`) });
        await check(['info'], {
            json: got => {
                assert.deepEqual(Object.keys(got).slice(0, 5), ['revision', 'modern', 'firstAnswerMs', 'serverInfo', 'capabilities']);
                assert.equal(got.revision, revision);
                assert.equal(got.modern, modern);
                assert.equal(got.serverInfo.name, name);
            },
        });
    });
    it('ping', async () => {
        await check(['ping'], { out: /^[\d.]+ ms\n$/ });
        await check(['ping'], { json: got => assert.equal(typeof got.ms, 'number') });
    });
    it('--trace', async () => {
        const file = join(folder, 'option.jsonl');
        rmSync(file, { force: true });
        await check(['ping', '--trace', file], {});
        const lines = readFileSync(file, 'utf8').trim().split('\n').map(line => JSON.parse(line));
        assert.ok(lines.some(l => l.message?.method === (modern ? 'server/discover' : 'ping')));
    });
}

// ---- server-everything ------------------------------------------------------------------------------------

const documents = 'demo://resource/static/document';

function everythingSuite(name, open) {
    suite(`server-everything, ${name}`, open, (check, way) => {
        common(check, { name: 'mcp-servers/everything', revision: '2025-11-25', modern: false });
        it('ls, tree, find', async () => {
            await check(['ls'], { out: new RegExp(`^${documents}/architecture.md\n`) });
            await check(['ls', '--long', 'start*'], { out: new RegExp(`^${documents}/startup.md\t\ttext/markdown\tstartup.md\t`) });
            await check(['ls', '--type', 'text/*', '--sort', 'name', '-n', '1'], {
                json: { resources: [{ uri: `${documents}/architecture.md`, mimeType: 'text/markdown' }] },
            });
            await check(['tree'], { out: new RegExp(`^${documents}\n├── architecture.md\n[^]*└── structure.md\n$`) });
            await check(['tree', 'start*'], { json: { tree: [{ resource: { uri: `${documents}/startup.md` } }] } });
            await check(['find', 'startup'], { out: new RegExp(`^${documents}/startup.md\n`) });
            await check(['find', 'startup'], { json: got => assert.equal(typeof got.resources[0].score, 'number') });
            await check(['find', 'zebra'], { status: 7, err: /nothing found/ });
        });
        it('read', async () => {
            const whole = await check(['read', `${documents}/startup.md`], { out: /^# Everything Server/ });
            const lines = whole.stdout.split('\n');
            await check(['read', '--lines', '2-3', `${documents}/startup.md`], {
                out: new RegExp(`^${lines[1].replace(/[^\w ]/g, '.')}\\n`),
            });
            const tail = await check(['read', '--tail', '1', `${documents}/startup.md`]);
            assert.equal(tail.stdout.trimEnd(), lines.filter(Boolean).at(-1));
            assert.match((await check(['read', 'demo://resource/dynamic/blob/7'])).stdout, /^Resource 7: This is a base64 blob/);
            await check(['read', 'demo://resource/dynamic/text/1', 'demo://resource/dynamic/text/2'], {
                json: { contents: [{ uri: 'demo://resource/dynamic/text/1' }, { mimeType: 'text/plain' }] },
            });
            await check(['read', 'demo://resource/nothing'], { status: 1, err: /not found|-3\d{4}/ });
        });
        it('template, complete', async () => {
            await check(['template'], { out: /^demo:\/\/resource\/dynamic\/text\/\{resourceId\}\t/ });
            await check(['template'], { json: { resourceTemplates: [{ uriTemplate: 'demo://resource/dynamic/text/{resourceId}' }] } });
            await check(['template', 'Dynamic Text Resource', 'resourceId=5'], { out: /^demo:\/\/resource\/dynamic\/text\/5\n$/ });
            await check(['template', '--read', 'Dynamic Text Resource', 'resourceId=5'], { out: /^Resource 5:/ });
            await check(['complete', 'completable-prompt', 'department', 'E'], { out: /^Engineering\n$/ });
            await check(['complete', 'completable-prompt', 'name', '', 'department=Sales'], {
                json: { values: ['David', 'Eve', 'Frank'], hasMore: false },
            });
        });
        it('prompts, prompt', async () => {
            await check(['prompts'], { out: /^simple-prompt\nargs-prompt\n/ });
            await check(['prompts', '--long'], { out: /\nargs-prompt\tcity= \[state=\]\t/ });
            await check(['prompts'], { json: { prompts: [{ name: 'simple-prompt' }] } });
            await check(['prompt', 'args-prompt', 'city=Rome'], { out: /^What's weather in Rome\?\n$/ });
            await check(['prompt', 'args-prompt', 'city=Rome'], { json: { messages: [{ role: 'user', content: { type: 'text' } }] } });
            await check(['prompt', 'resource-prompt', 'resourceType=Text', 'resourceId=1'], { out: /\n\nuser:\nResource 1: / });
            await check(['prompt', 'args-prompt'], { status: 2, err: /city/ });
            await check(['prompt', 'nothing'], { status: 2, err: /nothing/ });
        });
        it('tools, call', async () => {
            await check(['tools'], { out: /^echo\n/ });
            await check(['tools', '--long'], { out: /\nget-sum\ta= b=\tread-only, / });
            await check(['tools'], { json: { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] } });
            await check(['call', '--yes', 'echo', 'message=hello world'], { out: /^Echo: hello world\n$/ });
            await check(['call', '--yes', 'get-sum', 'a=1.5', 'b=2'], { out: /3\.5/ });
            await check(['call', '--yes', 'get-sum', '--args', '{"a":1}', 'b:=2'], { json: { content: [{ type: 'text', text: 'The sum of 1 and 2 is 3.' }] } });
            await check(['call', '--yes', 'get-structured-content', 'location=Chicago'], { json: { structuredContent: { humidity: 82 } } });
            await check(['call', '--yes', 'get-tiny-image'], { out: /\[image image\/png, \d+ bytes\]/, err: /--output FILE/ });
            await check(['call', '--yes', 'get-sum', 'a=one', 'b=2'], { status: 2, err: /\/a: expected number/ });
            await check(['call', '--yes', 'get-sum', 'a=1'], { status: 2, err: /b/ });
            await check(['call', '--yes', 'nothing'], { status: 2, err: /nothing/ });
            await check(['call', 'echo', 'message=hi'], { status: 6, err: /--yes/ });
            await check(['call', 'echo', 'message=hi'], { terminal: true, typed: 'y\n', out: /Echo: hi\n/ });
            await check(['call', 'echo', 'message=hi'], { terminal: true, typed: 'n\n', status: 6 });
            const bar = await check(['call', '--yes', 'trigger-long-running-operation', 'duration=1.5', 'steps=3'], { terminal: true });
            assert.match(bar.stdout, /\r.*(1\/3|33|67)/, 'a bar');
        });
        it('context', async () => {
            const text = await check(['context', '--budget', '4K', 'startup'], { out: /^# Context\n/ });
            assert.ok(Buffer.byteLength(text.stdout) <= 4096);
            await check(['context', '--budget', '1000t', 'startup'], {
                json: (got, told) => {
                    assert.partialDeepStrictEqual(got, { query: 'startup', unit: 'tokens', budget: 1000 }, told);
                    assert.ok(got.used <= 1000 && got.resources.length > 0 && got.resources[0].text);
                },
            });
            await check(['context', '--explain', 'startup'], { out: /^in\t/, err: /bytes used/ });
            await check(['context', 'zebra'], { status: 7, err: /./ });
        });
        it('shell, and watch in it', async () => {
            const uri = 'demo://resource/dynamic/text/1';
            const lines = ['tools', 'call --yes toggle-subscriber-updates', `watch --count 1 ${uri}`, '/simple-prompt', 'read nothing'];
            await check(['shell'], {
                typed: lines.join('\n') + '\n', status: 1,
                out: new RegExp(`^echo\n[^]*\tupdated\t${uri}\n[^]*This is a simple prompt`), err: /nothing/,
            });
        });
        // Only for a server that mcpctl starts.
        if (name === 'stdio') it('trace', async () => {
            const file = join(folder, 'between.jsonl');
            const got = await run(MCPCTL, ['ls', '--', MCPCTL, 'trace', file, ...way().to]);
            assert.equal(got.status, 0, got.stderr);
            const messages = readFileSync(file, 'utf8').trim().split('\n').map(line => JSON.parse(line));
            assert.ok(messages.some(m => m.from === 'client' && m.message?.method === 'resources/list'));
            assert.ok(messages.some(m => m.from === 'server' && m.message?.result?.resources));
        });
    });
}

everythingSuite('stdio', stdio(node, everything, 'stdio'));
everythingSuite('Streamable HTTP', http('/mcp', ...withPort(node, everything, 'streamableHttp')));
everythingSuite('HTTP+SSE', http('/sse', ...withPort(node, everything, 'sse')));

// ---- server-filesystem ------------------------------------------------------------------------------------

const files = join(folder, 'files');
mkdirSync(files);
writeFileSync(join(files, 'a.txt'), 'hello\n');

suite('server-filesystem, stdio', stdio(node, filesystem, files), check => {
    common(check, { name: 'secure-filesystem-server', revision: '2025-11-25', modern: false });
    it('what it does not offer', async () => {
        for (const command of [['ls'], ['prompts']])
            await check(command, { err: /this server offers no/ });
        await check(['find', 'a'], { status: 7, err: /./ });
        await check(['context', 'a'], { status: 7, err: /./ });
        await check(['read', 'file:///a'], { status: 1, err: /-32601/ });
    });
    it('tools, call', async () => {
        await check(['tools'], { out: /^read_file\n/ });
        await check(['call', '-y', 'list_directory', `path=${files}`], { out: /^\[FILE\] a\.txt\n/ });
        await check(['call', '-y', 'read_text_file', `path=${files}/a.txt`], { json: { content: [{ text: 'hello\n' }] } });
        await check(['call', '-y', 'write_file', `path=${files}/b.txt`, 'content=3'], { out: /b\.txt/ });
        assert.equal(readFileSync(join(files, 'b.txt'), 'utf8'), '3');
        await check(['call', '-y', 'edit_file', `path=${files}/b.txt`, 'edits:=[{"oldText":"3","newText":"4"}]', 'dryRun=false'], { out: /\+4/ });
        await check(['call', '-y', 'read_multiple_files', `paths=${files}/a.txt,${files}/b.txt`], { out: /hello[^]*4/ });
        await check(['call', '-y', 'read_text_file', 'path=/etc/passwd'], { status: 1, err: /the tool reported a failure[^]*Access denied/ });
    });
});

// ---- the TypeScript SDK 2.x -------------------------------------------------------------------------------

function sdkSuite(name, open, { modern }) {
    const revision = modern ? '2026-07-28' : '2025-11-25';
    suite(`a server on the TypeScript SDK 2.x, ${name}`, async () => {
        const way = await open();
        return { ...way, to: [...(modern ? [] : ['--revision', revision]), ...way.to] };
    }, (check, way) => {
        common(check, { name: 'ts-server', revision, modern });
        it('ls, tree, find, read', async () => {
            await check(['ls'], { out: /^mem:\/\/text\nmem:\/\/blob\n$/ });
            await check(['ls', '--priority', '0.5'], { json: { resources: [{ uri: 'mem://text', annotations: { priority: 1 } }] } });
            await check(['tree'], { out: /text/ });
            await check(['find', 'lines'], { out: /^mem:\/\/text\n$/ });
            await check(['read', 'mem://text'], { out: /^one\ntwo\nthree\n$/ });
            await check(['read', '--tail', '1', 'mem://text'], { out: /^three\n$/ });
            await check(['read', 'mem://blob', '--range', '65-67'], { out: /^ABC$/ });
            await check(['read', 'mem://blob'], { terminal: true, status: 5 });
            await check(['read', 'mem://none'], { status: 1, err: /./ });
        });
        it('template, complete', async () => {
            await check(['template', 'city', 'name=Rome'], { out: /^mem:\/\/city\/Rome\n$/ });
            await check(['template', 'city', 'name=New York', '--read'], { out: /^This is New.* ?York\.$/ });
            await check(['complete', 'mem://city/{name}', 'name', 'Be'], { out: /^Berlin\nBern\n$/ });
            await check(['complete', 'visit', 'city', 'R'], { json: { values: ['Rome'] } });
        });
        it('prompts, prompt', async () => {
            await check(['prompts', '-l'], { out: /^visit\tcity= \[tone=\]\tPlans a visit\n$/ });
            await check(['prompt', 'visit', 'city=Rome'], { out: /^user:\nPlan a short visit to Rome\.\n\nassistant:\nWhen\?\n$/ });
            await check(['prompt', 'visit'], { terminal: true, typed: 'Bern\n\n', out: /Plan a short visit to Bern/ });
        });
        it('tools, call', async () => {
            await check(['tools', '-l'], { out: /^sum\ta= b=\tread-only\tAdds\n/ });
            await check(['call', '-y', 'sum', 'a=1', 'b=2'], { json: { structuredContent: { sum: 3 } } });
            await check(['call', '-y', 'count', 'to=3'], { out: /^Counted to 3, and told\.\n$/ });
            await check(['call', '-y', 'fail'], { status: 1, err: /It does not work/ });
        });
        // This SDK sends input requests only to modern clients.
        if (modern) it('what the server asks', async () => {
            await check(['call', '-y', 'ask'], { terminal: true, typed: 'red\ny\n', out: /Which colour\?[^]*It is red\./ });
            await check(['call', '-y', 'ask'], { status: 6, err: /-32021[^]*which requires a terminal/ });
        });
        it('context', async () => {
            await check(['context'], { out: /^# Context\n\n## text\n\n`mem:\/\/text`\n\n```\none\ntwo\nthree\n```\n$/ });
        });
        // Over stdio no other client can change the resource.
        if (modern && !name.startsWith('stdio')) it('watch', async () => {
            const watching = check(['watch', '--read', '--count', '1', 'mem://text'], { out: /\tupdated\tmem:\/\/text\n[^]*three\n/ });
            let over = false;
            watching.then(() => (over = true), () => (over = true));
            for (let i = 0; !over && i < 100; i++) {
                await check(['call', '-y', 'touch'], { out: /touched/ });
                await new Promise(resolve => setTimeout(resolve, 200));
            }
            await watching;
            assert.ok(way());
        });
    });
}

for (const modern of [true, false]) {
    const era = modern ? 'modern' : 'legacy';
    sdkSuite(`stdio, ${era}`, stdio(node, sdk, 'stdio'), { modern });
    sdkSuite(`HTTP, ${era}`, http('/mcp', node, sdk, '{}'), { modern });
}

// ---- mcpd -------------------------------------------------------------------------------------------------

const tree = join(folder, 'tree');
mkdirSync(join(tree, 'docs'), { recursive: true });
writeFileSync(join(tree, 'README.md'), '# Read me\n\nfirst\nsecond\n');
writeFileSync(join(tree, 'docs/api.md'), 'The interface.\n');
const readme = pathToFileURL(join(tree, 'README.md')).href;

const mcpdAt = where => async () => {
    const address = where === 'unix' ? `unix:${join(folder, 'socket')}` : `127.0.0.1:${await freePort()}`;
    const server = await start(MCPD, ['--http', address, tree], s => s.stderr.includes(' at '));
    return { to: ['-s', where === 'unix' ? address : `http://${address}/mcp`], stop: server.stop };
};

for (const [name, open] of [['stdio', stdio(MCPD, tree)], ['HTTP', mcpdAt('http')], ['a Unix socket', mcpdAt('unix')]]) {
    suite(`mcpd, ${name}`, open, check => {
        common(check, { name: 'mcpd', revision: '2026-07-28', modern: true });
        it('ls, tree, find, read', async () => {
            await check(['ls', '*.md'], { out: /README\.md\n/ });
            await check(['ls', '--type', 'text/*'], { json: got => assert.equal(got.resources.length, 2) });
            await check(['tree', '*.md'], { out: /├── README\.md\n└── docs\/\n {4}└── api\.md\n$|├── docs\/\n│ {3}└── api\.md\n└── README\.md\n$/ });
            await check(['find', 'api'], { out: /docs\/api\.md\n$/ });
            await check(['read', '--lines', '3-3', readme], { out: /^first\n$/ });
            await check(['read', '--tail', '1', readme], { out: /^second\n$/ });
            await check(['read', '--range', '2-5', readme], { out: /^Read$/ });
            await check(['read', `${readme}.not`], { status: 1, err: /not/ });
        });
        it('template, complete', async () => {
            const listed = await check(['template'], { json: got => assert.ok(got.resourceTemplates.length > 0) });
            const { uriTemplate } = JSON.parse(listed.stdout).resourceTemplates[0];
            const path = uriTemplate.match(/\{\+?(\w+)/)[1];
            await check(['complete', uriTemplate, path], { json: got => assert.ok(got.values.length > 0) });
        });
        it('context', async () => {
            await check(['context', 'interface'], { out: /docs\/api\.md[^]*The interface\./ });
        });
        it('watch', async () => {
            const watching = check(['watch', '--count', '1', readme], { out: new RegExp(`\tupdated\t${readme}\n$`) });
            let over = false;
            watching.then(() => (over = true), () => (over = true));
            for (let i = 0; !over && i < 200; i++) {
                appendFileSync(join(tree, 'docs/api.md'), 'x\n');
                appendFileSync(join(tree, 'README.md'), 'second\n');
                await new Promise(resolve => setTimeout(resolve, 100));
            }
            await watching;
        });
        it('shell', async () => {
            await check(['shell'], { typed: `ls *.md\nread --tail 1 ${readme}\n`, out: /README\.md\n[^]*second\n$/ });
        });
    });
}
