// view.js: contents of resources and results, by their type. Nothing here runs what a server sent: text is text, and
// images, sounds and documents are blobs of the types in this file.

import { h, fill, line, prose, bytes, button, save, copy } from "./dom.js";
import { jsonView } from "./json.js";
import { tableView, parseTable, rowsOf } from "./table.js";
import { textView, diffView } from "./text.js";
import { markdownView } from "./markdown.js";

const IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp"]);
const SOUNDS = new Set(["audio/mpeg", "audio/wav", "audio/x-wav", "audio/ogg", "audio/webm", "audio/aac", "audio/flac", "audio/mp4"]);
const MOST_MARKDOWN = 1 << 20;

const base = type => (typeof type === "string" ? type : "").split(";")[0].trim().toLowerCase();

function decode(blob) {
    const bytewise = atob(blob.replace(/\s+/g, ""));
    const data = new Uint8Array(bytewise.length);
    for (let i = 0; i < bytewise.length; i++) data[i] = bytewise.charCodeAt(i);
    return data;
}

// The URL of a blob is released when the element that shows it left the page.
function blobUrl(data, type, element) {
    const url = URL.createObjectURL(new Blob([data], { type }));
    const check = setInterval(() => {
        if (element.isConnected) return;
        clearInterval(check);
        URL.revokeObjectURL(url);
    }, 10_000);
    return url;
}

// The ways to show a text, best first: [name, function that makes the element].
function waysOf(app, text, type, name) {
    const ways = [];
    const ending = /\.([a-z0-9]+)$/i.exec(name ?? "")?.[1]?.toLowerCase();
    const is = (types, endings) => types.test(type) || (type === "text/plain" || !type) && endings?.includes(ending);
    if (is(/[/+]json$/, ["json"]) && text.length < 16 << 20) {
        let value;
        try {
            value = JSON.parse(text);
        } catch {
            value = undefined;
        }
        const rows = rowsOf(value);
        if (rows) ways.push(["Table", () => rows.element ?? blameOr(rows)]);
        if (value !== undefined) ways.push(["Tree", () => jsonView(value)]);
    }
    if (is(/^text\/(csv|tab-separated-values)$/, ["csv", "tsv"]))
        ways.push(["Table", () => tableView(parseTable(text, type.endsWith("values") || ending === "tsv" ? "\t" : ","))]);
    if (is(/^text\/(x-)?(diff|patch)$/, ["diff", "patch"])) ways.push(["Changes", () => diffView(text)]);
    if (is(/^text\/(x-)?markdown$/, ["md", "markdown"]) && app.markdown && text.length <= MOST_MARKDOWN)
        ways.push(["Page", () => markdownView(app, text)]);
    ways.push(["Text", () => textView(text)]);
    return ways;
}

const blameOr = rows => tableView(rows);

function textContent(app, text, type, name) {
    const ways = waysOf(app, text, type, name);
    const place = h("div.body");
    const buttons = ways.map(([label], i) => button(label, () => choose(i), { "aria-pressed": "false" }));
    function choose(i) {
        buttons.forEach((b, k) => b.setAttribute("aria-pressed", i === k));
        fill(place, ways[i][1]());
    }
    choose(0);
    return [h("div.bar.wrap", {}, ways.length > 1 && buttons, h("span.muted", {}, `${type || "text"}, ${bytes(new Blob([text]).size)}`),
        button("Copy", () => copy(text)), button("Save", () => save(name?.split("/").pop() || "text.txt", "text/plain", text))), place];
}

function binary(blob, type, name) {
    let data;
    try {
        data = decode(blob);
    } catch {
        return [h("p.error", {}, "The content is not valid Base64.")];
    }
    const about = h("span.muted", {}, `${line(type || "binary", 100)}, ${bytes(data.length)}`);
    const file = name?.split("/").pop() || "file";
    const bar = h("div.bar.wrap", {}, about, button("Save", () => save(file, "application/octet-stream", data)));
    if (IMAGES.has(type)) {
        const image = h("img.image", { alt: line(file, 100) });
        image.src = blobUrl(data, type, image);
        return [bar, image];
    }
    if (SOUNDS.has(type)) {
        const sound = h("audio", { controls: true, "aria-label": line(file, 100) });
        sound.src = blobUrl(data, type, sound);
        return [bar, sound];
    }
    if (type === "application/pdf") {
        const tab = h("a.button", { target: "_blank", rel: "noopener" }, "Open the PDF in its own tab");
        tab.href = blobUrl(data, type, tab);
        bar.append(tab);
        return [bar];
    }
    return [bar, hexView(data)];
}

function hexView(data) {
    const lines = [];
    for (let i = 0; i < Math.min(data.length, 4096); i += 16) {
        const part = [...data.subarray(i, i + 16)];
        lines.push(`${i.toString(16).padStart(8, "0")}  ${part.map(b => b.toString(16).padStart(2, "0")).join(" ").padEnd(47)}  ${
            part.map(b => b >= 32 && b < 127 ? String.fromCharCode(b) : ".").join("")}`);
    }
    if (data.length > 4096) lines.push("…");
    return textView(lines.join("\n"), { numbers: false });
}

// An element for one of the contents of a resource.
export function showContents(app, content, named) {
    const type = base(content.mimeType);
    const uri = typeof content.uri === "string" ? content.uri : undefined;
    const name = uri?.split(/[?#]/)[0];
    return h("article.content", {}, named && h("h3", {}, line(uri, 300)),
        typeof content.text === "string" ? textContent(app, content.text, type, name)
            : typeof content.blob === "string" ? binary(content.blob, type, name)
            : h("p.error", {}, "The content has neither text nor a blob."));
}

// An element for one block of a result or of a message.
export function showBlock(app, block) {
    switch (block?.type) {
    case "text": {
        const text = String(block.text ?? "");
        const looksLikeJson = /^\s*[[{]/.test(text);
        return showContents(app, { text, mimeType: looksLikeJson ? "application/json" : "text/plain" });
    }
    case "image":
    case "audio":
        return showContents(app, { blob: String(block.data ?? ""), mimeType: block.mimeType });
    case "resource":
        return h("article.content", {}, link(app, block.resource?.uri), showContents(app, block.resource ?? {}));
    case "resource_link":
        return h("article.content", {}, h("p", {}, link(app, block.uri, block.title ?? block.name), block.description &&
            h("span.muted", {}, ` ${line(block.description, 500)}`)));
    default:
        return h("article.content", {}, h("p.muted", {}, `A block of the type ${line(block?.type ?? "?", 100)}`), jsonView(block));
    }
}

// A link to a resource, which opens in this page.
export function link(app, uri, text) {
    return typeof uri === "string" ? button(line(text ?? uri, 200), () => app.open("resources", uri), { class: "link", title: line(uri, 500) })
        : h("span.muted", {}, "a resource without a URI");
}

export { prose };
