// text.js: plain text and patches. Long texts are drawn in parts of which the browser lays out only the visible ones.

import { h, line, button } from "./dom.js";

const LINES = 200; // of a part
const MOST_LINE = 20_000;
const MOST_PARTS = 100; // at once

const shown = text => text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, c => {
    const code = c.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : "\ufffd";
});

const cutLine = l => l.length > MOST_LINE ? `${l.slice(0, MOST_LINE)}… (${(l.length - MOST_LINE).toLocaleString("en")} more characters)` : l;

function parts(lines, make) {
    const view = h("div.text", { tabIndex: 0, role: "group", "aria-label": "Text" });
    const grow = from => {
        let i = from;
        for (let n = 0; i < lines.length && n < MOST_PARTS; i += LINES, n++) view.append(make(lines.slice(i, i + LINES), i));
        if (i < lines.length) {
            const more = button(`${(lines.length - i).toLocaleString("en")} more lines`, () => {
                more.remove();
                grow(i);
            });
            view.append(more);
        }
    };
    grow(0);
    return view;
}

const linesOf = text => shown(text.replace(/\r\n?/g, "\n").replace(/\n$/, "")).split("\n").map(cutLine);

export function textView(text, { numbers = true } = {}) {
    const lines = linesOf(text);
    const wide = `${String(lines.length).length + 1}ch`;
    return parts(lines, (part, from) => {
        const chunk = h("div.chunk", {}, numbers && h("pre.numbers", { "aria-hidden": "true" }, part.map((_, i) => from + i + 1).join("\n")),
            h("pre", { dir: "auto" }, part.join("\n")));
        chunk.style.setProperty("--lines", part.length);
        chunk.style.setProperty("--digits", wide);
        return chunk;
    });
}

/** @type {[RegExp, string][]} */
const KINDS = [[/^(diff |index |---|\+\+\+|new file|deleted file|similarity|rename|copy )/, "file"], [/^@@/, "hunk"], [/^\+/, "new"], [/^-/, "old"]];

// A difference that is to be judged: nothing in it is invisible, or changes the direction of a text.
export const changeView = (text, options) => h("div.change", {}, diffView(text.split("\n").map(l => l.split("\t").map(p => line(p, MOST_LINE)).join("\t")).join("\n"), options));

// A line of a question may have a mark before what it shows of a file.
export function diffView(text, { mark = "" } = {}) {
    const kindOf = l => KINDS.find(([pattern]) => pattern.test(l.startsWith(mark) ? l.slice(mark.length) : l))?.[1] ?? "same";
    return parts(linesOf(text), part => {
        const chunk = h("div.chunk", {}, h("pre", {}, part.map(l => h(`span.diff-${kindOf(l)}`, {}, l + "\n"))));
        chunk.style.setProperty("--lines", part.length);
        return chunk;
    });
}
