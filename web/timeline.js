// timeline.js: the panel of messages: which side sent what and when, how long an answer took, and how large it was.

import { h, fill, line, bytes, ms, button, cells, setText, save, say } from "./dom.js";
import { VirtualList } from "./vlist.js";
import { jsonView } from "./json.js";
import { textView, diffView } from "./text.js";
import { confirm } from "./questions.js";
import { exportTrace } from "./trace.js";
import { run } from "./run.js";
import { Journal } from "./journal.js";

const KINDS = [["all", "All"], ["request", "Requests"], ["result", "Results"], ["error", "Errors"], ["notification", "Notifications"]];
const ARROW = { page: "→", client: "→", server: "←", stderr: "!" };

// Lines of both texts, as a patch: the common ones once. Texts of a message are short enough for this.
export function difference(a, b, most = 2000) {
    const x = a.split("\n").slice(0, most), y = b.split("\n").slice(0, most);
    let start = 0;
    while (start < x.length && start < y.length && x[start] === y[start]) start++;
    let endX = x.length, endY = y.length;
    while (endX > start && endY > start && x[endX - 1] === y[endY - 1]) { endX--; endY--; }
    const p = x.slice(start, endX), q = y.slice(start, endY);
    const out = x.slice(0, start).map(l => ` ${l}`);
    if (p.length * q.length > 1_000_000) out.push(...p.map(l => `-${l}`), ...q.map(l => `+${l}`));
    else {
        const table = Array.from({ length: p.length + 1 }, () => new Uint16Array(q.length + 1));
        for (let i = p.length - 1; i >= 0; i--)
            for (let j = q.length - 1; j >= 0; j--) table[i][j] = p[i] === q[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
        let i = 0, j = 0;
        while (i < p.length || j < q.length) {
            if (i < p.length && j < q.length && p[i] === q[j]) { out.push(` ${p[i]}`); i++; j++; }
            else if (j >= q.length || i < p.length && table[i + 1][j] >= table[i][j + 1]) out.push(`-${p[i++]}`);
            else out.push(`+${q[j++]}`);
        }
    }
    return [...out, ...x.slice(endX).map(l => ` ${l}`)].join("\n");
}

const pretty = text => {
    try {
        return JSON.stringify(JSON.parse(text), null, 2);
    } catch {
        return text;
    }
};

export function panel(app) {
    const programs = app.config.mode === "mcpctl" ? new Journal() : undefined; // messages between the program and the servers
    let journal = programs ?? app.journal, shown = [], marked, query = "", kind = "all";
    const side = programs && h("select", { "aria-label": "Which messages", onchange: () => {
        journal = side.value === "page" ? app.journal : programs;
        update(false);
    } }, h("option", { value: "programs" }, "mcpctl and the servers"), h("option", { value: "page" }, "this page and mcpctl"));
    const filter = h("input", { type: "search", "aria-label": "Filter messages", placeholder: "Filter ( / )", oninput: () => {
        query = filter.value.trim().toLowerCase();
        update(false);
    } });
    const kinds = h("select", { "aria-label": "Kind", onchange: () => {
        kind = kinds.value;
        update(false);
    } }, KINDS.map(([value, title]) => h("option", { value }, title)));
    const level = h("select", { id: "level", onchange: () => setLevel(level.value) }, ["", "debug", "info", "notice", "warning", "error"].map(v => h("option", { value: v }, v || "none")));
    const state = h("span.muted");
    const list = new VirtualList({ label: "Messages", open: show, className: "messages", row });
    const detail = h("div.preview", { tabIndex: -1 }, h("p.empty", {}, "Choose a message to see it."));
    const picture = h("canvas.picture", { height: "56", role: "img", "aria-label": "Messages in time" });
    const element = h("section.split", { "data-panel": "timeline" }, h("div.side", {}, h("div.bar.wrap", {}, filter, kinds, side), picture, list.element,
        h("div.bar.foot.wrap", {}, state, app.client.capabilities.logging && h("span", {}, h("label", { for: "level" }, "Log level "), level),
            button("Export", () => save("trace.json", "application/json", exportTrace(journal.entries, { page: app.config.version, server: app.client.info, revision: app.client.revision }, []))))),
        detail);

    async function setLevel(value) {
        if (app.client.era === "modern") app.client.logLevel = value;
        else if (value) await app.client.request("logging/setLevel", { level: value }).catch(e => say(e.message));
    }

    function row(el, i) {
        const e = shown[i];
        if (!e) return;
        el.classList.toggle("bad", e.kind === "error" || e.from === "stderr");
        const [arrow, name, what, meta] = cells(el, "arrow name uri meta");
        setText(arrow, ARROW[e.from] ?? "?");
        setText(name, line(e.kind === "text" ? e.text : e.method || e.kind, 120));
        setText(what, `${e.peer ? `${line(e.peer, 30)} ` : ""}${line(e.what ?? "", 120)}`);
        setText(meta, `${e.ms === undefined ? "" : ms(e.ms)} ${bytes(e.size)}`);
    }

    function update(keep = true) {
        const atEnd = list.element.scrollTop + list.element.clientHeight > list.element.scrollHeight - 60;
        shown = journal.entries.filter(e => (kind === "all" || e.kind === kind) && (!query || e.method.toLowerCase().includes(query) || (e.what ?? "").toLowerCase().includes(query) ||
            e.text.length < 20_000 && e.text.toLowerCase().includes(query)));
        list.resize(shown.length, keep);
        if (atEnd && shown.length) list.show(shown.length - 1);
        state.textContent = `${shown.length.toLocaleString("en")} messages${journal.lost ? `, ${journal.lost} older ones were dropped` : ""}`;
        paint();
    }

    // The last messages in time: a bar from each request to its answer, its height by the size of the answer.
    function paint() {
        const width = picture.clientWidth;
        if (!width) return;
        if (picture.width !== width) picture.width = width;
        const g = picture.getContext("2d");
        const style = getComputedStyle(picture);
        g.clearRect(0, 0, width, 56);
        const last = shown.slice(-300);
        if (!last.length) return;
        const start = Math.min(...last.map(e => e.request?.clock ?? e.clock)), end = Math.max(...last.map(e => e.clock), start + 1);
        const x = clock => (clock - start) / (end - start) * (width - 4) + 2;
        for (const e of last) {
            const y = e.from === "server" ? 4 : 44;
            g.fillStyle = style.getPropertyValue(e.kind === "error" ? "--error" : e.kind === "notification" ? "--good" : "--accent");
            if (e.request) {
                const high = 4 + Math.min(24, Math.log2(1 + e.size / 100) * 2);
                g.globalAlpha = .5;
                g.fillRect(x(e.request.clock), 38 - high, Math.max(2, x(e.clock) - x(e.request.clock)), high);
            }
            g.globalAlpha = 1;
            g.fillRect(x(e.clock) - 1, y, 2, 8);
        }
        picture.setAttribute("aria-label", `The last ${last.length} messages, in ${ms(end - start)}`);
    }

    function show(i) {
        const e = shown[i];
        if (!e) return;
        element.classList.add("reading");
        let value;
        try {
            value = JSON.parse(e.text);
        } catch {
            value = undefined;
        }
        const place = h("div"), body = h("div");
        const partner = e.answer ?? e.request;
        fill(detail, h("header", {}, h("div.bar", {}, button("‹ List", () => {
            element.classList.remove("reading");
            list.element.focus();
        }, { class: "back" }), h("h2", {}, line(e.kind === "text" ? "Text" : e.method || e.kind, 200))),
            h("p.muted", {}, `${e.from === "server" ? "from the server" : e.from === "stderr" ? "error output of the server" : "to the server"}${e.peer ? ` ${line(e.peer, 60)}` : ""}, ${e.kind}, ${
                new Date(e.at).toLocaleTimeString()}, ${bytes(e.size)}${e.ms === undefined ? "" : `, after ${ms(e.ms)}`}`),
            e.cut && h("p.warning", {}, "Only the first 64 KB of this message were kept."),
            h("div.bar.wrap", {}, partner && button(e.answer ? "Its answer" : "Its request", () => {
                const at = shown.indexOf(partner);
                if (at >= 0) list.select(at);
                showEntry(partner);
            }), button("Mark to compare", () => {
                marked = e;
                say("Marked. Choose another message, then “Compare”.");
                show(i);
            }), marked && marked !== e && button("Compare with the marked one", () => fill(body, diffView(difference(pretty(marked.text), pretty(e.text))))),
            e.from === "page" && e.kind === "request" && !e.cut && e.method !== "initialize" && e.method !== "subscriptions/listen" && button("Send again…", () => replay(value, place)))),
            place, body);
        fill(body, value === undefined ? textView(e.text) : jsonView(value, 4));
    }
    function showEntry(e) {
        const before = shown;
        shown = [e];
        show(0);
        shown = before;
    }

    async function replay(message, place) {
        const { _meta, ...params } = message.params ?? {};
        if (!await confirm(`Send ${line(message.method, 100)} again?`, "Send", jsonView(params, 3))) return;
        const schema = message.method === "tools/call" ? app.schemaOf(params.name) : undefined;
        const result = await run(app, place, options => app.client.request(message.method, params, { ...options, schema }));
        if (result) place.append(jsonView(result, 2));
    }

    // The messages of the program, asked for while this panel is visible.
    let after = 0;
    async function poll() {
        if (!programs) return;
        while (element.isConnected) {
            if (side.value === "programs") try {
                const { entries, first } = await app.program("/web/journal", { after, limit: 1000 });
                if (after && first > after + 1) programs.lost += first - after - 1;
                for (const e of entries) {
                    after = e.n;
                    programs.add(e.from === "client" ? "page" : e.from, e.message, { peer: e.server, scope: e.server, size: e.bytes, at: e.at, clock: e.us / 1000 });
                }
                if (entries.length === 1000) continue;
            } catch (error) {
                say(error.message);
            }
            await new Promise(done => setTimeout(done, 1000));
        }
    }
    for (const j of [app.journal, programs]) j?.addEventListener("change", () => { if (j === journal && element.isConnected) update(); });
    new ResizeObserver(paint).observe(picture);
    let polling = false;
    return { element, show: () => {
        update();
        if (polling || !programs) return;
        polling = true;
        poll().finally(() => { polling = false; });
    }, focus: () => filter.focus() };
}
