// Calls that go on as tasks, as the only official client that has them drives them: 1.x, the experimental tasks of
// 2025-11-25. The server is the one of the conformance suite, whose own scenarios drive the extension.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { behind } from './support/behind.mjs';
import { callers } from './support/peers.mjs';

const build = process.env.MCP_BUILD_DIR;
const server = { path: `${build}/tests/conformance-server`, stdio: () => ['--stdio'], http: port => [`${port}`] };

const both = [['', server], [', behind mcpd', behind(server)]];
for (const { name, open } of callers.filter(c => c.name.startsWith('sdk 1.'))) for (const [where, at] of both) {
    describe(`tasks, ${name}${where}`, { timeout: 60_000 }, () => {
        const asked = [];
        let peer, tasks;
        before(async () => {
            peer = await open(at, {
                capabilities: { elicitation: { form: {} } },
                'elicitation/create': request => {
                    asked.push(request.params);
                    return { action: 'accept', content: { confirm: true, name: 'Ada' } };
                },
            });
            tasks = peer.client.experimental.tasks;
            await peer.tools(); // the client learns which tools need it
        });
        after(async () => {
            await peer?.close();
            assert.doesNotMatch(peer?.stderr() ?? '', /Sanitizer|runtime error/);
        });

        // What the client saw on the way: the states, and the end.
        async function run(tool, args = {}) {
            const seen = { states: new Set() };
            const stream = tasks.callToolStream({ name: tool, arguments: args }, CallToolResultSchema, {
                task: { ttl: 60_000 },
            });
            for await (const message of stream) {
                if (message.task) seen.states.add(message.task.status);
                if (message.task) seen.id = message.task.taskId;
                if (message.result) seen.result = message.result;
                if (message.error) seen.error = message.error;
            }
            return { ...seen, states: [...seen.states] };
        }

        it('waits for a result', async () => {
            const { states, id, result } = await run('slow_compute', { seconds: 0.3, label: 'pi' });
            assert.deepEqual(states, ['working', 'completed']);
            assert.deepEqual(result.content, [{ type: 'text', text: 'Computed pi' }]);
            assert.equal(result._meta['io.modelcontextprotocol/related-task'].taskId, id);
        });

        it('sees both kinds of failures, and what they gave', async () => {
            const failing = await run('failing_job');
            assert.deepEqual(failing.states, ['working', 'failed']);
            assert.equal((await tasks.getTaskResult(failing.id, CallToolResultSchema)).isError, true);
            const broken = await run('protocol_error_job');
            assert.deepEqual(broken.states, ['working', 'failed']);
            await assert.rejects(tasks.getTaskResult(broken.id, CallToolResultSchema), { code: -32603 });
        });

        it('is asked, as part of the task', async () => {
            const { states, id, result } = await run('multi_input');
            assert.ok(states.includes('input_required'));
            assert.equal(result.content[0].text, 'Both are known.');
            assert.equal(asked.length, 2);
            for (const { _meta } of asked)
                assert.equal(_meta['io.modelcontextprotocol/related-task'].taskId, id);
        });

        it('cancels', async () => {
            const stream = tasks.callToolStream(
                { name: 'slow_compute', arguments: { seconds: 30, label: 'e' } }, CallToolResultSchema,
                { task: { ttl: 60_000 } });
            const { taskId } = (await stream.next()).value.task;
            assert.equal((await tasks.cancelTask(taskId)).status, 'cancelled');
            assert.equal((await tasks.getTask(taskId)).status, 'cancelled');
            await assert.rejects(tasks.cancelTask(taskId), { code: -32602 });
        });

        it('lists them where nobody else can', async () => {
            const listed = Boolean(peer.capabilities().tasks.list);
            assert.equal(listed, name.endsWith('stdio') || Boolean(at.headers)); // a caller with a token is somebody
            if (listed) assert.ok((await tasks.listTasks()).tasks.length >= 5);
            else await assert.rejects(tasks.listTasks(), { code: -32601 });
        });
    });
}
