// tools.js: the panel of tools: a form, the call as it will be sent, its progress, its result.

import { h, fill, line, prose, button } from "./dom.js";
import { catalogue } from "./catalogue.js";
import { schemaForm } from "./form.js";
import { jsonView } from "./json.js";
import { confirm, dialog } from "./questions.js";
import { changeView } from "./text.js";
import { showResult } from "./result.js";
import { mirrored, McpError } from "./mcp.js";
import { run } from "./run.js";
import { follow } from "./task.js";

const HINTS = { readOnlyHint: ["read-only", "not read-only"], destructiveHint: ["destructive", "not destructive"],
                idempotentHint: ["idempotent", "not idempotent"], openWorldHint: ["open world", "closed world"] };

function badges(tool) {
    const a = tool.annotations ?? {};
    const list = Object.entries(HINTS).map(([key, [yes, no]]) => a[key] === true ? yes : a[key] === false ? no : undefined).filter(Boolean);
    return list.length ? h("p", { title: "What the server says about the tool. It is not checked." }, list.map(t => [h("span.badge", {}, t), " "])) : undefined;
}

// A form, and the same arguments as JSON, of which one is visible. complain(faults) shows what a server finds in them.
export function editor(schema, value) {
    let form = schemaForm(schema, value);
    const text = h("textarea", { rows: 10, spellcheck: "false", "aria-label": "Arguments as JSON" });
    const place = h("div", {}, form.element);
    let asText = false;
    const fault = h("p.error", { role: "alert", hidden: true });
    const read = () => {
        let result;
        if (!asText) result = form.read();
        else try {
            result = { value: JSON.parse(text.value || "{}"), errors: [] };
        } catch (error) {
            result = { errors: [`The arguments are not JSON: ${error.message}`] };
        }
        fault.hidden = !result.errors.length;
        fault.textContent = result.errors[0] ?? "";
        return result.errors.length ? undefined : result.value;
    };
    const toggle = button("As JSON", () => {
        if (!asText) {
            text.value = JSON.stringify(form.read().value, null, 2);
            fill(place, text);
        } else {
            let given;
            try {
                given = JSON.parse(text.value || "{}");
            } catch {
                return read();
            }
            form = schemaForm(schema, given);
            fill(place, form.element);
        }
        asText = !asText;
        toggle.textContent = asText ? "As a form" : "As JSON";
        return undefined;
    });
    const complain = faults => {
        const rest = faults.filter(f => asText || !form.complain(f.path, f.reason));
        fault.hidden = !rest.length;
        fault.textContent = rest.map(f => line(`${f.path || "/"}: ${f.reason}`, 500)).join("; ");
        place.querySelector("[aria-invalid=true]")?.focus();
    };
    return { element: h("div", {}, form.empty && h("p.muted", {}, "It takes no arguments."), place, fault), toggle, read, complain };
}

// The faults of the arguments and their places, which our server names (docs/guide.md): [{path, reason}].
function faultsOf(result) {
    const list = result.isError && result._meta?.["libmcp/faults"];
    return Array.isArray(list) ? list.slice(0, 16).filter(f => typeof f?.path === "string" && typeof f.reason === "string") : [];
}

// Whether a call can be tried: as common/dry_run.h says it.
const canTry = (tool, args) => tool.annotations?.readOnlyHint === false && tool.inputSchema?.properties?.dry_run?.type === "boolean" &&
    args !== null && typeof args === "object" && !Array.isArray(args) && (args.dry_run ?? false) === false;

// What the tool says it would change. Returns false if the call would fail.
function showChange(place, result) {
    const texts = (Array.isArray(result.content) ? result.content : []).filter(c => typeof c?.text === "string").map(c => c.text);
    fill(place, h("h3", {}, result.isError ? "It would fail:" : "What the tool says it would change:"), changeView(texts.join("\n")));
    place.scrollIntoView({ block: "nearest" });
    return !result.isError;
}

// Shows exactly what is sent and, if the user wants it, what it would change. Returns whether to call.
function confirmCall(app, tool, params) {
    const title = `Call ${line(tool.name, 100)}?`;
    const content = [h("p.muted", {}, `This is sent to ${app.serverName}:`), jsonView(params, 3)];
    if (!canTry(tool, params.arguments)) return confirm(title, "Call", ...content);
    return dialog(title, false, undefined, done => {
        const change = h("div", { "data-change": true });
        const yes = button("Call", () => done(true), { class: "primary", autofocus: true });
        const trial = button("Try it first", async () => {
            yes.disabled = trial.disabled = true;
            const tried = { ...params, arguments: { ...params.arguments, dry_run: true } };
            const result = await run(app, change, options => withFreshSchema(app, tool, schema => app.client.request("tools/call", tried, { ...options, schema })));
            trial.disabled = false;
            yes.disabled = result ? !showChange(change, result) : false;
        });
        return [h("div.scroll", {}, content, h("p.muted", {}, "To try it is a call with dry_run. Whether that changes nothing is the server's word."), change),
            h("div.bar.end", {}, button("Cancel", () => done(false)), trial, yes)];
    });
}

async function call(app, tool, args, place, task, complain) {
    const params = { name: tool.name, arguments: args };
    if (!await confirmCall(app, tool, params)) return;
    const place1 = h("div"), place2 = h("div", { "data-result": true });
    fill(place, place1, place2);
    const result = await run(app, place1, options => withFreshSchema(app, tool, schema =>
        app.client.request("tools/call", params, { ...options, schema, ...(task && { task: { ttl: 3_600_000 } }) })));
    if (!result) return;
    if (result.resultType === "task" || result.task) {
        const followed = follow(app, result.task ?? result, tool);
        fill(place2, h("p", {}, "The server goes on with this as a task. "), button("Show the task", () => app.open("tasks", followed.id)));
        return;
    }
    fill(place2, await showResult(app, result, tool.outputSchema));
    place2.scrollIntoView({ block: "nearest" }); // a long form would hide it
    complain(faultsOf(result));
}

// A server that changed the headers of a tool says so with -32020: its tools are read again, once.
async function withFreshSchema(app, tool, send) {
    try {
        return await send(tool.inputSchema);
    } catch (error) {
        if (!(error instanceof McpError) || error.code !== -32020) throw error;
        let fresh;
        await app.client.pages("tools/list", "tools", items => !(fresh = items.find(t => t.name === tool.name)));
        if (!fresh) throw error;
        return send(fresh.inputSchema);
    }
}

export const panel = app => catalogue(app, {
    what: "tools", title: "Tools", none: "This server offers no tools.", second: t => t.description ?? "",
    show(tool, place, arg) {
        const bad = app.client.era === "modern" ? mirrored(tool.inputSchema ?? {}) : [];
        const e = editor(tool.inputSchema ?? { type: "object" }, arg?.arguments);
        const result = h("div");
        const tasks = app.client.era === "legacy" && app.client.capabilities.tasks?.requests?.tools?.call && ["optional", "required"].includes(tool.execution?.taskSupport);
        const asTask = h("input", { type: "checkbox", id: "as-task", checked: tool.execution?.taskSupport === "required" });
        const icon = tool.outputSchema && h("details", {}, h("summary", {}, "Schema of the result"), jsonView(tool.outputSchema, 1));
        fill(place, tool.description && h("p.said", {}, prose(tool.description)), badges(tool),
            typeof bad === "string" ? h("p.warning", {}, `The definition is invalid and cannot be used: ${bad}.`)
                : h("form", { novalidate: true, onsubmit: event => {
                    event.preventDefault();
                    const args = e.read();
                    if (args !== undefined) call(app, tool, args, result, tasks && asTask.checked, e.complain);
                } }, e.element, h("div.bar.wrap", {}, h("button.primary", { type: "submit" }, "Call…"), e.toggle,
                    tasks && [asTask, h("label", { for: "as-task" }, "as a task")])),
            result, h("details", {}, h("summary", {}, "Schema of the arguments"), jsonView(tool.inputSchema ?? {}, 1)), icon);
    },
});
