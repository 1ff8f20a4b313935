// mcpd in front of three official servers (everything, filesystem, memory), which it takes from a host's configuration
// file, with every client at one endpoint at the same time.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { clients, dial } from './support/peers.mjs';
import { start } from './support/server.mjs';
import { until } from './support/wait.mjs';

const { MCPD } = process.env;
const modules = join(import.meta.dirname, '../node_modules/@modelcontextprotocol');
const token = index => `${index}`.repeat(32);
const textOf = result => result.content.map(content => content.text ?? '').join('\n');

let home, gateway;

const program = (name, ...args) => ({ command: process.execPath, args: [join(modules, name, 'dist/index.js'), ...args] });

before(async () => {
    home = realpathSync(mkdtempSync(join(tmpdir(), 'mcpd-gateway-')));
    mkdirSync(join(home, 'files'));
    writeFileSync(join(home, 'files/a.txt'), 'alpha\n');
    writeFileSync(join(home, 'claude.json'), JSON.stringify({
        mcpServers: {
            Everything: program('server-everything'),
            files: program('server-filesystem', join(home, 'files')),
            // One file for each of the processes, because they do not lock it.
            memory: {
                command: '/bin/sh',
                args: ['-c', `MEMORY_FILE_PATH=${home}/$$.jsonl exec "$@"`, 'sh', process.execPath, join(modules, 'server-memory/dist/index.js')],
            },
            broken: { command: '/bin/false' },
        },
    }));
    writeFileSync(join(home, 'mcpd.json'), JSON.stringify({
        servers: 'claude.json', http: ['127.0.0.1:0'],
        tokens: Object.fromEntries(clients.map((_, i) => [`client${i}`, token(i)])),
    }), { mode: 0o600 });
    gateway = await start(MCPD, ['--config', join(home, 'mcpd.json')], server => (server.url = / at (http:\S+)\n/.exec(server.stderr)?.[1]));
});
after(async () => {
    await gateway?.stop();
    assert.doesNotMatch(gateway?.stderr ?? '', /Sanitizer|runtime error/);
    if (home) rmSync(home, { recursive: true });
});

clients.forEach((client, index) => describe(`three servers as one: ${client.name}`, { timeout: 90_000 }, () => {
    let peer;
    const answers = {};
    const asked = [];
    before(async () => {
        const on = method => request => {
            asked.push(structuredClone({ method, ...request.params }));
            return answers[method];
        };
        peer = await dial(client, gateway.url, { Authorization: `Bearer ${token(index)}` }, {
            capabilities: { elicitation: { form: {} }, sampling: {} },
            'elicitation/create': on('elicitation/create'),
            'sampling/createMessage': on('sampling/createMessage'),
        });
    });
    after(() => peer?.close());

    const resources = async () => {
        const all = [];
        for (let cursor; ; ) {
            const page = await peer.page(cursor);
            all.push(...page.resources.map(resource => resource.uri));
            cursor = page.nextCursor;
            if (cursor === undefined) return all;
        }
    };

    it('lists everything under its own name, without the server that does not work', async () => {
        const tools = (await peer.tools()).map(tool => tool.name);
        for (const name of ['everything_echo', 'everything_trigger-elicitation-request', 'everything_trigger-sampling-request',
            'files_read_text_file', 'memory_read_graph'])
            assert.ok(tools.includes(name), `${name} is not among ${tools}`);
        assert.equal(new Set(tools).size, tools.length);
        assert.ok(tools.every(name => /^(everything|files|memory)_[A-Za-z0-9_-]{1,53}$/.test(name)), `${tools}`);
        assert.ok((await peer.prompts()).some(prompt => prompt.name === 'everything_completable-prompt'));
        assert.ok((await peer.templates()).some(({ uriTemplate }) => uriTemplate === 'mcp+everything:demo://resource/dynamic/text/{resourceId}'));
        const uris = await resources();
        assert.ok(uris.includes('mcp+memory:memory://knowledge-graph'), `${uris}`);
        assert.ok(uris.every(uri => /^mcp\+(everything:demo|memory:memory):|^mcp\+broken:$/.test(uri)), `${uris}`);
        assert.ok(uris.includes('mcp+broken:'), 'nothing says that a server is missing');
    });

    it('calls tools of each server', async () => {
        assert.match(textOf(await peer.call('everything_echo', { message: 'hello' })), /hello/);
        assert.match(textOf(await peer.call('files_read_text_file', { path: join(home, 'files/a.txt') })), /^alpha/);
        const made = await peer.call('memory_create_entities', {
            entities: [{ name: `of ${client.name}`, entityType: 'test', observations: ['one'] }],
        });
        assert.ok(!made.isError, textOf(made));
        const graph = await peer.call('memory_read_graph', {});
        // Each caller has a process of its own.
        assert.deepEqual(graph.structuredContent.entities.map(entity => entity.name), [`of ${client.name}`]);
        const weather = await peer.call('everything_get-structured-content', { location: 'Chicago' });
        assert.deepEqual(Object.keys(weather.structuredContent).sort(), ['conditions', 'humidity', 'temperature']);
        const outside = await peer.call('files_read_text_file', { path: '/etc/hostname' });
        assert.ok(outside.isError);
    });

    it('reads resources, those of links too', async () => {
        const [content] = await peer.read('mcp+everything:demo://resource/dynamic/text/1');
        assert.equal(content.uri, 'mcp+everything:demo://resource/dynamic/text/1');
        assert.match(content.text, /Resource 1/);
        const links = (await peer.call('everything_get-resource-links', { count: 2 })).content.filter(({ type }) => type === 'resource_link');
        assert.ok(links.length > 0);
        for (const { uri } of links) {
            assert.ok(uri.startsWith('mcp+everything:demo://'), uri);
            assert.equal((await peer.read(uri))[0].uri, uri);
        }
        await assert.rejects(peer.read('mcp+everything:demo://resource/dynamic/text/no-number'));
        await assert.rejects(peer.read('mcp+nobody:demo://resource/dynamic/text/1'));
    });

    it('gets prompts and completes their arguments', async () => {
        const ref = { type: 'ref/prompt', name: 'everything_completable-prompt' };
        const { values } = await peer.complete({ ref, argument: { name: 'department', value: 'S' } });
        assert.ok(values.length && values.every(value => value.startsWith('S')), `${values}`);
        const { messages } = await peer.prompt('everything_args-prompt', { city: 'Kyiv' });
        assert.match(messages[0].content.text, /Kyiv/);
    });

    it('passes questions of a server to the caller', async () => {
        answers['elicitation/create'] = { action: 'accept', content: { name: client.name, check: true, integer: 7 } };
        const got = textOf(await peer.call('everything_trigger-elicitation-request', {}));
        assert.ok(got.includes(client.name), got);
        assert.match(asked.at(-1).message, /^everything: /);
        answers['sampling/createMessage'] = { role: 'assistant', model: 'm', stopReason: 'endTurn', content: { type: 'text', text: `by ${client.name}` } };
        const sampled = textOf(await peer.call('everything_trigger-sampling-request', { prompt: 'Say it', maxTokens: 10 }));
        assert.ok(sampled.includes(`by ${client.name}`), sampled);
    });

    it('passes progress', async () => {
        const steps = [];
        const result = await peer.callWith({ name: 'everything_trigger-long-running-operation', arguments: { duration: 0.6, steps: 3 } },
            { onprogress: ({ progress }) => steps.push(progress) });
        assert.match(textOf(result), /completed/i);
        assert.deepEqual(steps, [1, 2, 3]);
    });

    it('passes changes to a resource that is watched', async () => {
        const uri = 'mcp+memory:memory://knowledge-graph';
        const watch = await peer.watch({ uris: [uri] });
        const updated = () => peer.events.filter(event => event.method === 'notifications/resources/updated' && event.params.uri === uri).length;
        const before = updated();
        await peer.call('memory_add_observations', { observations: [{ entityName: `of ${client.name}`, contents: ['two'] }] });
        await until(() => updated() > before, 'the update of the graph');
        assert.match((await peer.read(uri))[0].text, /two/);
        await watch.close();
    });
}));
