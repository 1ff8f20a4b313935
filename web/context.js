// context.js: the panel of the context: the collected resources, as one text for a model, within a budget. The text is
// that of `mcpctl context`: a heading, the URI, and the text in a fence longer than any in it.

import { h, fill, line, bytes, button, copy, save, say } from "./dom.js";
import { link } from "./view.js";

// Tokens are estimated: one for four ASCII characters, and one for each other character.
export function tokens(text) {
    let ascii = 0, other = 0;
    for (const c of text) {
        if (c.charCodeAt(0) < 128) ascii++;
        else other++;
    }
    return Math.ceil(ascii / 4) + other;
}

export function section(title, uri, text, cut) {
    const longest = Math.max(2, ...(text.match(/`{3,}/g) ?? []).map(r => r.length));
    const fence = "`".repeat(longest + 1);
    return `## ${line(title, 300)}\n\n${uri}${cut ? " (cut)" : ""}\n\n${fence}\n${text.endsWith("\n") ? text : `${text}\n`}${fence}\n\n`;
}

function cutTo(text, most, cost) {
    let low = 0, high = text.length;
    while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (cost(text.slice(0, middle)) <= most) low = middle;
        else high = middle - 1;
    }
    const end = text.lastIndexOf("\n", low);
    return text.slice(0, end > low / 2 ? end + 1 : low);
}

export function panel(app) {
    const texts = new Map(); // by URI: a text, or an Error
    const limit = h("input", { type: "number", min: "1", id: "budget", value: "8000" });
    const unit = h("select", { "aria-label": "Unit" }, h("option", { value: "tokens" }, "tokens (estimated)"), h("option", { value: "bytes" }, "bytes"));
    const meter = h("meter", { min: "0", "aria-label": "Used part of the budget" });
    const used = h("span.muted"), body = h("tbody"), none = h("p.empty", {}, "Nothing is collected. “Add to context” beside a resource adds it here.");
    const preview = h("textarea", { rows: 12, readOnly: true, "aria-label": "The text" });
    const table = h("table", {}, h("thead", {}, h("tr", {}, ["Resource", "Cost", ""].map(t => t ? h("th", { scope: "col" }, t) : h("td")))), body);
    const element = h("section.panel", {}, h("h2", {}, "Context"), h("p.muted", {}, "Resources that are collected for a model, as one text within a budget."),
        h("div.bar.wrap", {}, h("label", { for: "budget" }, "Budget"), limit, unit, meter, used), none, table,
        h("div.bar.wrap", {}, button("Copy", () => copy(preview.value)), button("Save", () => save("context.md", "text/markdown", preview.value)),
            button("Read again", () => {
                texts.clear();
                update();
            }), button("Remove all", () => app.context.clear())), preview);
    limit.addEventListener("input", draw);
    unit.addEventListener("change", draw);

    const costOf = text => unit.value === "tokens" ? tokens(text) : new TextEncoder().encode(text).length;
    const show = n => unit.value === "tokens" ? `${n.toLocaleString("en")} tokens` : bytes(n);

    async function update() {
        for (const { uri } of app.context.marked.values()) {
            if (texts.has(uri)) continue;
            texts.set(uri, undefined);
            app.read(uri).then(result => {
                const text = (Array.isArray(result.contents) ? result.contents : []).map(c => c?.text).filter(t => typeof t === "string").join("\n");
                texts.set(uri, text === "" ? new Error("it has no text") : text);
            }, error => texts.set(uri, error)).then(draw);
        }
        draw();
    }

    function draw() {
        const budget = Math.max(0, Number(limit.value) || 0);
        let left = budget, all = "";
        const rows = [];
        for (const { uri, item } of app.context.marked.values()) {
            const text = texts.get(uri);
            let note = "reading…";
            if (text instanceof Error) note = text.message;
            else if (text !== undefined) {
                const title = item?.title ?? item?.name ?? uri;
                const frame = costOf(section(title, uri, "", true));
                const cost = costOf(text);
                if (frame >= left) note = "left out: the budget is spent";
                else if (frame + cost <= left) note = show(frame + cost);
                else note = `cut to ${show(left)}`;
                if (frame < left) {
                    const part = section(title, uri, frame + cost <= left ? text : cutTo(text, left - frame, costOf), frame + cost > left);
                    all += part;
                    left = Math.max(0, left - costOf(part));
                }
            }
            rows.push(h("tr", {}, h("td", {}, link(app, uri, item?.title ?? item?.name)), h("td.number", {}, line(note, 200)),
                h("td", {}, button("Remove", () => app.context.toggle(uri)))));
        }
        fill(body, rows);
        none.hidden = rows.length > 0;
        table.hidden = !rows.length;
        preview.value = all;
        meter.max = budget || 1;
        meter.value = budget - left;
        used.textContent = `${show(budget - left)} of ${show(budget)}`;
    }
    app.context.addEventListener("change", () => {
        if (element.isConnected) update();
        say(`${app.context.marked.size} in the context.`);
    });
    update();
    return { element, show: update };
}
