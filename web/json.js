// json.js: a JSON value as a tree, whose branches are made when they are opened.

import { h, line, button } from "./dom.js";

const PART = 200; // members that are shown at once

const plain = value => value === null || typeof value !== "object";
const scalar = value => h(`span.json-${value === null ? "null" : typeof value}`, {},
    typeof value === "string" ? `"${line(value, 2000)}"` : String(value));

function summary(value) {
    if (Array.isArray(value)) return `[ ${value.length.toLocaleString("en")} ]`;
    const keys = Object.keys(value);
    return `{ ${keys.slice(0, 4).map(k => line(k, 30)).join(", ")}${keys.length > 4 ? ", …" : ""} }`;
}

function member(key, value, open) {
    const label = key === undefined ? [] : [h("span.json-key", {}, line(String(key), 200)), ": "];
    if (plain(value)) return h("div.json-row", {}, label, scalar(value));
    const details = h("details.json-row", {}, h("summary", {}, label, h("span.muted", {}, summary(value))));
    let made = false;
    const make = () => {
        if (made || !details.open) return;
        made = true;
        const entries = Array.isArray(value) ? value.map((v, i) => [i, v]) : Object.entries(value);
        part(details, entries, 0);
    };
    details.addEventListener("toggle", make);
    if (open > 0) {
        details.open = true;
        made = true;
        const entries = Array.isArray(value) ? value.map((v, i) => [i, v]) : Object.entries(value);
        part(details, entries, 0, open - 1);
    }
    return details;
}

function part(details, entries, from, open = 0) {
    const group = h("div.json-group", {}, entries.slice(from, from + PART).map(([k, v]) => member(k, v, entries.length > 20 || k === "_meta" ? 0 : open)));
    details.append(group);
    if (from + PART < entries.length) {
        const more = button(`${(entries.length - from - PART).toLocaleString("en")} more`, () => {
            more.remove();
            part(details, entries, from + PART);
        });
        details.append(more);
    }
}

export const jsonView = (value, open = 2) => h("div.json", {}, member(undefined, value, open));
