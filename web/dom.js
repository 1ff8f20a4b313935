// dom.js: elements, made of createElement and text only, so that no text of a server is ever markup.

const PROPERTIES = new Set(["value", "checked", "disabled", "hidden", "selected", "readOnly", "open", "tabIndex",
    "multiple", "indeterminate", "required"]);

// Makes an element: h("button.primary", {type: "button", onclick: f}, "text", child, [children]).
export function h(what, attributes = {}, ...children) {
    const [name, ...classes] = what.split(".");
    const element = document.createElement(name);
    if (classes.length) element.className = classes.join(" ");
    for (const [key, value] of Object.entries(attributes)) {
        if (value === undefined || value === null || value === false && !PROPERTIES.has(key)) continue;
        if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
        else if (PROPERTIES.has(key)) element[key] = value;
        else element.setAttribute(key, value === true ? "" : value);
    }
    add(element, children);
    return element;
}

export function add(element, children) {
    for (const child of children) {
        if (Array.isArray(child)) add(element, child);
        else if (child !== undefined && child !== null && child !== false) element.append(child);
    }
}

export const fill = (element, ...children) => {
    element.replaceChildren();
    add(element, children);
    return element;
};

// The spans of a row of a list, made once for each element: cells(row, "name uri meta") returns them in this order.
export function cells(row, classes) {
    if (row.dataset.cells !== classes) {
        row.dataset.cells = classes;
        fill(row, classes.split(" ").map(c => h(`span.${c}`)));
    }
    return row.children;
}

export const setText = (element, text) => {
    if (element.firstChild) {
        if (element.firstChild.data !== text) element.firstChild.data = text;
    } else if (text) {
        element.append(text);
    }
};

export const button = (text, onclick, attributes = {}) => h("button", { type: "button", onclick, ...attributes }, text);

let ids = 0;
export const newId = prefix => `${prefix}-${++ids}`;

// Text of a server for one line: control characters and characters that change the direction of
// text are shown as symbols, and the length is limited.
export function line(text, most = 300) {
    let s = typeof text === "string" ? text : text === undefined ? "" : String(text);
    const cut = s.length > most;
    if (cut) s = s.slice(0, most);
    s = s.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu, c => {
        const code = c.charCodeAt(0);
        return code < 0x20 ? String.fromCharCode(0x2400 + code) : "\ufffd";
    });
    return cut ? s + "…" : s;
}

// Paragraphs of a server: the same, but line ends stay.
export const prose = (text, most = 20000) => line(text, Infinity).length > most || typeof text !== "string"
    ? line(text, most) : text.split("\n").map(l => line(l, most)).join("\n");

export function bytes(n) {
    if (!Number.isFinite(n)) return "";
    if (n < 1000) return `${Math.round(n)} B`;
    for (const unit of ["kB", "MB", "GB"]) {
        n /= 1000;
        if (n < 1000) return `${n < 10 ? n.toFixed(1) : Math.round(n)} ${unit}`;
    }
    return `${Math.round(n)} TB`;
}

export const ms = n => n < 10 ? `${n.toFixed(1)} ms` : n < 10000 ? `${Math.round(n)} ms` : `${(n / 1000).toFixed(1)} s`;

// Ends the current task, so that the page can draw and take input.
export const pause = () => "scheduler" in globalThis && "yield" in scheduler ? scheduler.yield() : new Promise(done => {
    const channel = new MessageChannel();
    channel.port1.onmessage = done;
    channel.port2.postMessage(0);
});

// The next frame was drawn. A page that is not visible draws none.
export const drawn = () => /** @type {Promise<void>} */(new Promise(done => {
    const late = setTimeout(done, 300);
    requestAnimationFrame(() => setTimeout(() => {
        clearTimeout(late);
        done();
    }));
}));

export const wait = (milliseconds, signal) => new Promise((done, fail) => {
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener("abort", () => {
        clearTimeout(timer);
        fail(signal.reason);
    }, { once: true });
});

// A sentence for people who use a screen reader, and for the line at the bottom of the page.
export function say(text) {
    const status = document.getElementById("status");
    if (status) status.textContent = text;
}

// Offers bytes as a file.
export function save(name, type, ...parts) {
    const url = URL.createObjectURL(new Blob(parts, { type }));
    h("a", { href: url, download: line(name, 100).replace(/[\\/:*?"<>|]/g, "_") || "file" }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

export async function copy(text) {
    try {
        await navigator.clipboard.writeText(text);
        say("Copied.");
    } catch {
        say("The browser did not allow copying.");
    }
}
