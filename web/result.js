// result.js: results of tools.

import { h } from "./dom.js";
import { jsonView } from "./json.js";
import { rowsOf } from "./table.js";
import { showBlock, showContents } from "./view.js";

// Whether a value is rows of a database, which are shown as those of a resource.
const isRows = value => Array.isArray(value?.columns) && rowsOf(value) !== undefined;

export async function showResult(app, result, outputSchema) {
    const parts = [];
    if (result.isError) parts.push(h("p.error", { role: "alert" }, "The tool reports an error:"));
    if (result.structuredContent !== undefined) {
        parts.push(h("h3", {}, "Structured result"));
        parts.push(isRows(result.structuredContent)
            ? showContents(app, { text: JSON.stringify(result.structuredContent, null, 2), mimeType: "application/json" })
            : jsonView(result.structuredContent, 3));
    } else if (outputSchema && !result.isError) {
        parts.push(h("p.error", { role: "alert" }, "The tool has a schema for its result, but the result has no structured content."));
    }
    const blocks = Array.isArray(result.content) ? result.content : [];
    if (blocks.length) parts.push(h("h3", {}, result.structuredContent === undefined ? "Result" : "Content"));
    for (const block of blocks.slice(0, 500)) parts.push(showBlock(app, block));
    if (!parts.length) parts.push(h("p.empty", {}, "The result is empty."));
    if (result._meta && Object.keys(result._meta).length) parts.push(h("details", {}, h("summary", {}, "_meta"), jsonView(result._meta, 1)));
    return parts;
}
