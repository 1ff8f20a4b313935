// plot.js: a small plot of lines over time, as SVG: one of several beside each other, with the same time axis.

import { h, fill, setText } from "./dom.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 340, HEIGHT = 130, LEFT = 58, RIGHT = 8, TOP = 8, BOTTOM = 22;
export const MOST_LINES = 6; // colours that can be told apart

function s(name, attributes, text) {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
}

// The largest value of the axis: 1, 2 or 5 times a power of ten that is not less.
export function ceiling(value) {
    if (!(value > 0)) return 1;
    const power = 10 ** Math.floor(Math.log10(value));
    return [1, 2, 5, 10].map(n => n * power).find(n => n >= value * 0.999999) ?? 10 * power;
}

// The path of a line; a gap where there is no value.
export function pathOf(times, values, x, y) {
    let path = "", open = false;
    for (let i = 0; i < times.length; i++) {
        if (!Number.isFinite(values[i])) {
            open = false;
            continue;
        }
        path += `${open ? "L" : "M"}${x(times[i]).toFixed(1)} ${y(values[i]).toFixed(1)}`;
        open = true;
    }
    return path;
}

// Options: title; format(value) makes the text of a value with its unit; span: milliseconds that are shown.
export class Plot {
    element;
    #options;
    #svg = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
    #legend = h("ul.legend");
    #names = undefined;

    constructor(options) {
        this.#options = options;
        this.element = h("figure.plot", {}, h("figcaption", {}, options.title), this.#svg, this.#legend);
    }

    // Draws lines [{name, values}], each with a value for each of `times` (milliseconds; the last one is now).
    draw(times, lines) {
        const { format, span, title } = this.#options;
        const now = times.at(-1) ?? 0;
        const top = ceiling(Math.max(0, ...lines.flatMap(l => l.values.filter(Number.isFinite))));
        const x = t => LEFT + (WIDTH - LEFT - RIGHT) * (1 - (now - t) / span);
        const y = v => HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * v / top;
        const label = (text, at, attributes) => s("text", { class: "label", x: at[0], y: at[1], ...attributes }, text);
        this.#svg.replaceChildren(
            ...[0, top / 2, top].flatMap(v => [s("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(v), y2: y(v) }),
                label(format(v), [LEFT - 5, y(v) + 4], { "text-anchor": "end" })]),
            ...[1, 0.5, 0].map(f => label(f ? `−${f * span / 60_000} min` : "now", [x(now - f * span), HEIGHT - 6],
                { "text-anchor": f === 1 ? "start" : f ? "middle" : "end" })),
            ...lines.map((l, i) => s("path", { class: `line line-${i + 1}`, d: pathOf(times, l.values, x, y) })));
        const last = lines.map(l => `${l.name} ${Number.isFinite(l.values.at(-1)) ? format(l.values.at(-1)) : "–"}`);
        this.#svg.setAttribute("aria-label", `${title}, now: ${last.join(", ") || "nothing"}`);
        const names = lines.map(l => l.name).join("\n");
        if (names !== this.#names) fill(this.#legend, lines.map((_, i) => h(`li.key-${i + 1}`)));
        this.#names = names;
        last.forEach((text, i) => setText(this.#legend.children[i], text));
    }
}
