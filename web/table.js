// table.js: tables that are sorted by a click on a heading.

import { h, fill, line, button } from "./dom.js";

const MOST_COLUMNS = 200;
const PART = 200; // rows that are drawn at once

// RFC 4180, leniently. Returns {columns, rows}.
export function parseTable(text, separator = ",", most = 100_000) {
    const rows = [];
    let row = [], field = "", quoted = false;
    const endField = () => {
        row.push(field);
        field = "";
    };
    const endRow = () => {
        endField();
        if (row.length > 1 || row[0] !== "") rows.push(row);
        row = [];
    };
    for (let i = 0; i < text.length && rows.length <= most; i++) {
        const c = text[i];
        if (quoted) {
            if (c !== '"') field += c;
            else if (text[i + 1] === '"') field += text[++i];
            else quoted = false;
        } else if (c === '"' && field === "") quoted = true;
        else if (c === separator) endField();
        else if (c === "\n") endRow();
        else if (c !== "\r") field += c;
    }
    if (field !== "" || row.length) endRow();
    const columns = (rows.shift() ?? []).slice(0, MOST_COLUMNS);
    return { columns, rows };
}

// Rows of a JSON value: an array of objects, or an object with one member that is such an array (as `mcpd` answers rows
// and histories). Returns {columns, rows} or undefined.
export function rowsOf(value) {
    if (value !== null && typeof value === "object" && !Array.isArray(value)) {
        if (Array.isArray(value.columns) && Array.isArray(value.rows) && value.rows.every(Array.isArray))
            return { columns: value.columns.map(c => typeof c === "string" ? c : c?.name ?? "").slice(0, MOST_COLUMNS), rows: value.rows };
        const arrays = Object.values(value).filter(v => Array.isArray(v) && v.length && v.every(isRecord));
        if (arrays.length !== 1) return undefined;
        value = arrays[0];
    }
    if (!Array.isArray(value) || !value.length || !value.every(isRecord)) return undefined;
    const columns = [...new Set(value.slice(0, 1000).flatMap(r => Object.keys(r)))].slice(0, MOST_COLUMNS);
    return { columns, rows: value.map(r => columns.map(c => Object.hasOwn(r, c) ? r[c] : undefined)) };
}

const isRecord = v => v !== null && typeof v === "object" && !Array.isArray(v);
const textOf = v => v === undefined || v === null ? "" : typeof v === "object" ? JSON.stringify(v) : String(v);
const numeric = v => typeof v === "number" || typeof v === "string" && v.trim() !== "" && Number.isFinite(Number(v));

function compare(a, b) {
    if (numeric(a) && numeric(b)) return Number(a) - Number(b);
    return textOf(a).localeCompare(textOf(b));
}

export function tableView({ columns, rows }) {
    let order = rows, sorted = -1, up = true, shown = PART;
    const body = h("tbody");
    const more = button("", () => {
        shown += 5 * PART;
        draw();
    });
    const heads = columns.map((c, i) => h("th", { scope: "col" }, button(line(textOf(c), 100) || "?", () => sort(i))));
    function sort(i) {
        up = sorted === i ? !up : true;
        sorted = i;
        order = [...rows].sort((a, b) => compare(a[i], b[i]) * (up ? 1 : -1));
        heads.forEach((head, k) => {
            if (k === i) head.setAttribute("aria-sort", up ? "ascending" : "descending");
            else head.removeAttribute("aria-sort");
        });
        draw();
    }
    function draw() {
        fill(body, order.slice(0, shown).map(row => h("tr", {}, columns.map((_, i) =>
            row[i] === null ? h("td.null", {}, "NULL") : h("td", { class: numeric(row[i]) ? "number" : undefined }, line(textOf(row[i]), 500))))));
        more.hidden = shown >= rows.length;
        more.textContent = `${(rows.length - shown).toLocaleString("en")} more rows`;
    }
    draw();
    return h("div.table", { tabIndex: 0, role: "group", "aria-label": `Table of ${rows.length} rows` }, h("table", {}, h("thead", {}, h("tr", {}, heads)), body), more);
}
