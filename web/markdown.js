// markdown.js: Markdown, from the nodes that the program makes of it (POST /web/markdown).

import { h, line, button, fill } from "./dom.js";
import { textView } from "./text.js";

const PLAIN = { p: "p", quote: "blockquote", ul: "ul", thead: "thead", tbody: "tbody", tr: "tr", em: "em", strong: "strong",
                codespan: "code", del: "del" };
const MOST_NODES = 50_000;

export function markdownView(app, text) {
    const place = h("div.markdown", {}, h("p.muted", {}, "…"));
    app.markdown(text).then(nodes => {
        let left = MOST_NODES;
        const make = node => {
            if (--left < 0) return "";
            if (typeof node === "string") return node;
            const children = (Array.isArray(node?.c) ? node.c : []).map(make);
            const t = node?.t;
            if (PLAIN[t]) return h(PLAIN[t], {}, children);
            switch (t) {
            case "h": return h(`h${Math.min(6, (Number(node.level) || 1) + 2)}`, {}, children);
            case "ol": return h("ol", { start: Number.isInteger(node.start) ? node.start : undefined }, children);
            case "li": return h("li", {}, node.task === undefined ? [] : h("input", { type: "checkbox", checked: node.task === true, disabled: true, "aria-label": "done" }), children);
            case "hr": return h("hr");
            case "br": return h("br");
            case "code": return h("pre.block", {}, children);
            case "table": return h("table", {}, children);
            case "th":
            case "td": return h(t, { class: ["left", "center", "right"].includes(node.align) ? node.align : undefined }, children);
            case "a": return anchor(app, node, children);
            case "img": return h("span.muted", {}, "[image: ", children.length ? children : line(node.src, 100), "]");
            default: return h("span", {}, children);
            }
        };
        fill(place, (Array.isArray(nodes) ? nodes : []).map(make));
    }, () => fill(place, textView(text)));
    return place;
}

function anchor(app, node, children) {
    const href = String(node.href ?? "");
    if (/^https?:\/\//i.test(href)) {
        try {
            return h("a", { href: new URL(href).href, target: "_blank", rel: "noopener noreferrer", title: line(href, 500) }, children,
                h("span.muted", {}, ` (${line(new URL(href).host, 100)})`));
        } catch {
            return h("span", {}, children);
        }
    }
    if (/^[a-z][a-z0-9+.-]*:/i.test(href) && !/^(javascript|data|vbscript|blob):/i.test(href))
        return button("", () => app.open("resources", href), { class: "link", title: line(href, 500) }).appendChild(h("span", {}, children)).parentNode;
    return h("span", { title: line(href, 500) }, children);
}
