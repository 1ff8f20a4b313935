// tasks.js: the panel of tasks.

import { h, fill, line, button, say } from "./dom.js";
import { jsonView } from "./json.js";
import { showResult } from "./result.js";
import { follow, cancel } from "./task.js";

const ENDS = ["completed", "failed", "cancelled"];
const time = at => new Date(at).toLocaleTimeString();

export function panel(app) {
    const list = h("div.cards");
    const none = h("p.empty", {}, app.client.hasTasks ? "No tasks yet. A tool that takes long may answer with one." : "This server has no tasks.");
    const id = h("input", { id: "task-id", autocomplete: "off", spellcheck: "false" });
    const element = h("section.panel", {}, h("h2", {}, "Tasks"), app.client.hasTasks && h("form.bar.wrap", { onsubmit: e => {
        e.preventDefault();
        const taskId = id.value.trim();
        if (taskId) app.client.request("tasks/get", { taskId }).then(task => follow(app, task), error => say(error.message));
    } }, h("label", { for: "task-id" }, "Follow a task by its id"), id, h("button", { type: "submit" }, "Follow"),
        app.client.capabilities.tasks?.list && button("List the tasks", () => all().catch(error => say(error.message)))), none, list);

    async function all() {
        await app.client.pages("tasks/list", "tasks", tasks => {
            for (const task of tasks.slice(0, 100)) follow(app, task);
            return app.tasks.length < 200;
        });
    }

    const cards = new Map();
    function card(entry) {
        if (!cards.has(entry)) {
            const place = h("article.card", { "aria-label": `Task ${line(entry.id, 60)}` });
            cards.set(entry, { place, state: "" });
        }
        const c = cards.get(entry);
        const { status, statusMessage } = entry.task;
        const state = JSON.stringify([status, statusMessage, entry.history.length, Boolean(entry.result), entry.error?.message]);
        if (c.state === state) return c.place;
        c.state = state;
        const result = h("div");
        if (entry.result) showResult(app, entry.result, entry.schema).then(parts => fill(result, parts), () => fill(result, jsonView(entry.result)));
        fill(c.place, h("h3", {}, line(entry.name || "Task", 100), " ", h("span.badge", { "data-status": line(status, 30) }, line(status, 30))),
            h("p.address", {}, line(entry.id, 200)), statusMessage && h("p", {}, line(statusMessage, 500)),
            h("ol.muted", {}, entry.history.map(e => h("li", {}, `${time(e.at)} ${line(e.status, 30)}${e.text ? `: ${line(e.text, 200)}` : ""}`))),
            !ENDS.includes(status) && !entry.error && button("Cancel", () => cancel(app, entry).catch(error => say(error.message))),
            entry.error && h("p.error", {}, line(entry.error.message, 500)), result);
        return c.place;
    }
    function update() {
        none.hidden = app.tasks.length > 0;
        fill(list, app.tasks.map(card));
    }
    app.journal.addEventListener("tasks", update);
    update();
    return { element, show: wanted => { if (wanted) cards.get(app.tasks.find(t => t.id === wanted))?.place.scrollIntoView(); } };
}
