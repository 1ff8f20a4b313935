// questions.js: questions of the server to the user, one at a time: forms, addresses to open, requests to a model.
// Nothing is answered and nothing is opened before the user says so.

import { h, line, prose, button, say } from "./dom.js";
import { changeView } from "./text.js";

let queue = Promise.resolve();

// Returns the result that the server gets.
export function ask(app, question, signal) {
    const turn = queue.then(() => {
        if (signal?.aborted) throw signal.reason;
        return show(app, question, signal);
    });
    queue = turn.catch(() => {});
    return turn;
}

// Shows a dialog. `make(done)` returns its content; done(result) closes it. Escape gives `dismissed`.
export function dialog(title, dismissed, signal, make) {
    return new Promise((resolve, reject) => {
        const before = document.activeElement;
        let result = dismissed;
        const done = value => {
            result = value;
            element.close();
        };
        const element = h("dialog", { "aria-label": title, onclose: () => {
            element.remove();
            if (before instanceof HTMLElement) before.focus();
            if (signal?.aborted) reject(signal.reason);
            else resolve(result);
        } }, h("h2", {}, title));
        signal?.addEventListener("abort", () => element.close(), { once: true });
        element.append(...make(done));
        document.body.append(element);
        element.showModal();
    });
}

// Asks whether to go on. Returns true or false.
export const confirm = (title, yes, ...content) => dialog(title, false, undefined, done =>
    [h("div.scroll", {}, content), h("div.bar.end", {}, button("Cancel", () => done(false)), button(yes, () => done(true), { class: "primary", autofocus: true }))]);

// A message of several lines may show what is to be changed: its lines are kept, and begin below each other.
function message(text) {
    if (typeof text !== "string" || !text.trim().includes("\n")) return h("p.said", {}, prose(text));
    return changeView(text, { mark: "| " });
}

const reason = about => about && h("p.muted", {}, `It needs this for ${about.method} ${line(about.params?.name ?? about.params?.uri ?? "", 200)}`);

async function show(app, { method, params, about, visited }, signal) {
    if (method === "elicitation/create")
        return params.mode === "url" ? askUrl(app, params, about, visited, signal) : askForm(app, params, about, signal);
    if (method === "sampling/createMessage") return askModel(app, params, about, signal);
    if (method === "roots/list") return { roots: [] };
    throw Object.assign(new Error(`the server asked for ${line(method, 100)}, which this page does not know`), { code: -32601 });
}

async function askForm(app, params, about, signal) {
    const { schemaForm } = await import("./form.js");
    return dialog(`${app.serverName} asks`, { action: "cancel" }, signal, done => {
        const form = schemaForm(params.requestedSchema ?? { type: "object" });
        const fault = h("p.error", { role: "alert", hidden: true });
        return [reason(about), message(params.message),
            h("form", { novalidate: true, onsubmit: e => {
                e.preventDefault();
                const { value, errors } = form.read();
                fault.hidden = !errors.length;
                fault.textContent = errors[0] ?? "";
                if (!errors.length) done({ action: "accept", content: value });
            } }, h("div.scroll", {}, form.element), fault, h("p.muted", {}, "The server gets what you fill in. Do not give it passwords here."),
            h("div.bar.end", {}, button("Cancel", () => done({ action: "cancel" })), button("Decline", () => done({ action: "decline" })),
                h("button.primary", { type: "submit" }, "Send")))].filter(Boolean);
    });
}

// The address with its host set off, as text.
function address(url) {
    const at = url.href.indexOf(url.host, url.protocol.length);
    return h("p.address.big", {}, url.href.slice(0, at), h("strong", {}, url.host), url.href.slice(at + url.host.length));
}

function warnings(url, given) {
    const list = [];
    if (url.protocol === "http:") list.push("The connection is not encrypted (http).");
    if (url.username || url.password) list.push("The address contains a user name: what follows the @ is the host.");
    if (/(^|\.)xn--/.test(url.hostname)) list.push("The host contains letters that can look like others (Punycode).");
    if (/^[\d.]+$|^\[/.test(url.hostname)) list.push("The host is a number, not a name.");
    if (given.trim() !== given || /[\u0000-\u0020\u007f-\uffff]/.test(given)) list.push("The address contains unusual characters.");
    return list.map(w => h("p.warning", {}, w));
}

// With `visited`, the dialog stays until the user has done what is to be done there, or the server says so.
async function askUrl(app, params, about, visited, signal) {
    let url;
    try {
        url = new URL(String(params.url));
    } catch {
        url = undefined;
    }
    const allowed = url && ["https:", "http:"].includes(url.protocol);
    return dialog(`${app.serverName} asks you to open an address`, { action: "cancel" }, signal, done => [
        reason(about), message(params.message),
        allowed ? address(url) : h("p.address.big", {}, line(String(params.url), 2000)),
        ...(allowed ? warnings(url, String(params.url)) : [h("p.warning", {}, "This page opens only addresses that begin with https or http.")]),
        h("p.muted", {}, "It opens in a tab of its own. This page does not see what you do there."),
        h("div.bar.end", {}, button("Cancel", () => done({ action: "cancel" }), { autofocus: true }), button("Decline", () => done({ action: "decline" })),
            allowed && button(`Open ${line(url.host, 60)}`, e => {
                window.open(url.href, "_blank", "noopener,noreferrer");
                if (!visited) return done({ action: "accept" });
                visited.then(() => done({ action: "accept" }));
                const go = button("Go on", () => done({ action: "accept" }), { class: "primary" });
                e.target.replaceWith(go);
                go.focus();
                return say("When you are done there, go on here.");
            }, { class: "primary" })),
    ].filter(Boolean));
}

function block(content) {
    if (content?.type === "text") return h("p.said", {}, prose(content.text));
    return h("p.muted", {}, `A block of the type ${line(content?.type, 50)}.`);
}

async function askModel(app, params, about, signal) {
    const messages = Array.isArray(params.messages) ? params.messages : [];
    const answer = h("textarea", { rows: 5, id: "sampled", required: true });
    const model = h("input", { id: "model", value: "a person" });
    const refused = Object.assign(new Error("the user declined the request to a model"), { code: -1 });
    const result = await dialog(`${app.serverName} asks a model`, refused, signal, done => [
        reason(about),
        h("p.muted", {}, "This page has no model. You can give it the text, and answer here in its place."),
        h("div.scroll", {},
            params.systemPrompt !== undefined && h("details", { open: true }, h("summary", {}, "System prompt"), h("p.said", {}, prose(params.systemPrompt))),
            messages.map(m => h("section", {}, h("h3", {}, m?.role === "assistant" ? "Assistant" : "User"),
                (Array.isArray(m?.content) ? m.content : [m?.content]).map(block))),
            h("p.muted", {}, `At most ${line(params.maxTokens ?? "?", 20)} tokens.`)),
        h("label", { for: "sampled" }, "Answer"), answer, h("label", { for: "model" }, "Model that gave it"), model,
        h("div.bar.end", {}, button("Decline", () => done(refused)), button("Answer", () => {
            if (!answer.value) answer.focus();
            else done({ role: "assistant", content: { type: "text", text: answer.value }, model: model.value || "unknown", stopReason: "endTurn" });
        }, { class: "primary" })),
    ].filter(Boolean));
    if (result instanceof Error) throw result;
    return result;
}
