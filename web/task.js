// task.js: tasks that this page follows: they are asked for their state until they end. In 2026-07-28 they are an
// extension (SEP-2663), in 2025-11-25 an experimental part (basic/utilities/tasks).

import { wait } from "./dom.js";

const ENDS = new Set(["completed", "failed", "cancelled"]);

// Begins to follow a task of which the server told. Returns {id, name, task, result, error, history}.
export function follow(app, task, tool) {
    const known = app.tasks.find(t => t.id === task.taskId && t.client === app.client);
    if (known) return known;
    const entry = { id: String(task.taskId), name: tool?.name ?? "", schema: tool?.outputSchema, task, client: app.client, began: Date.now(),
                    history: [], stop: new AbortController() };
    app.tasks.unshift(entry);
    if (app.tasks.length > 200) app.tasks.pop();
    note(app, entry, task);
    watch(app, entry).catch(error => {
        entry.error = error;
        tell(app);
    });
    return entry;
}

const tell = app => app.journal.dispatchEvent(new Event("tasks"));

function note(app, entry, task) {
    const before = entry.task;
    entry.task = { ...before, ...task };
    if (!entry.history.length || before.status !== task.status || before.statusMessage !== task.statusMessage)
        entry.history.push({ at: Date.now(), status: task.status, text: task.statusMessage });
    if (entry.history.length > 200) entry.history.shift();
    tell(app);
}

async function watch(app, entry) {
    const { client, stop } = entry;
    const modern = client.era === "modern";
    const answered = new Set();
    for (;;) {
        const { status } = entry.task;
        if (ENDS.has(status)) break;
        if (status === "input_required" && !modern) break; // tasks/result brings the questions
        const every = entry.task.pollIntervalMs ?? entry.task.pollInterval;
        await wait(Math.min(30_000, Math.max(200, Number(every) || 1000)), stop.signal);
        const task = await client.request("tasks/get", { taskId: entry.id }, { signal: stop.signal });
        note(app, entry, task);
        const open = Object.entries(task.inputRequests ?? {}).filter(([key]) => !answered.has(key));
        if (task.status !== "input_required" || !open.length) continue;
        const inputResponses = await client.answer(Object.fromEntries(open), { method: "tools/call", params: { name: entry.name } }, stop.signal);
        for (const [key] of open) answered.add(key);
        await client.request("tasks/update", { taskId: entry.id, inputResponses }, { signal: stop.signal });
    }
    if (modern) {
        entry.result = entry.task.result;
        if (entry.task.error) entry.error = entry.task.error;
    } else if (entry.task.status !== "cancelled") {
        const ended = client.request("tasks/result", { taskId: entry.id }, { signal: stop.signal });
        if (!ENDS.has(entry.task.status)) again(app, entry, ended);
        entry.result = await ended;
        note(app, entry, await client.request("tasks/get", { taskId: entry.id }));
    }
    tell(app);
}

// The state, while tasks/result waits.
async function again(app, entry, ended) {
    let done = false;
    ended.finally(() => { done = true; }).catch(() => {});
    while (!done) {
        await wait(1000);
        if (!done) note(app, entry, await entry.client.request("tasks/get", { taskId: entry.id }).catch(() => entry.task));
    }
}

export async function cancel(app, entry) {
    const task = await entry.client.request("tasks/cancel", { taskId: entry.id });
    if (task.status) note(app, entry, task);
}
