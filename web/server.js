// server.js: the panel of the server: what it is, what it can do, in each revision.

import { h, fill, line, prose, button, say } from "./dom.js";
import { MODERN, LEGACY, spokenBy } from "./mcp.js";
import { jsonView } from "./json.js";

const fact = (name, value) => value === undefined || value === "" ? [] : [h("dt", {}, name), h("dd", {}, value)];

function facts(info, extra) {
    return h("dl", {}, fact("Name", line(info?.name, 200)), fact("Title", line(info?.title, 200)), fact("Version", line(info?.version, 100)),
        fact("Website", line(info?.websiteUrl, 500)), fact("Description", line(info?.description, 1000)), extra);
}

// What the endpoint of this page declares in a revision: {title, capabilities, error}.
async function declared(app, revision) {
    const other = app.newClient();
    try {
        await other.connect(revision);
        return other.revision === revision ? { title: revision, capabilities: other.capabilities }
            : { title: revision, error: `the server chose ${line(other.revision, 40)}` };
    } catch (error) {
        return { title: revision, error: error.message };
    } finally {
        other.close();
    }
}

// What the servers of `mcpctl web` declared themselves.
const themselves = servers => (servers ?? []).filter(s => s.hello).map(({ name, hello: { method, result } }) =>
    ({ title: `${line(name, 60)} itself, ${line(spokenBy({ method, result }), 40)}`, capabilities: result?.capabilities }));

const isObject = value => value !== null && typeof value === "object" && !Array.isArray(value);
const member = (value, key) => isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
const inCell = value => value === undefined ? "–" : value === true || isObject(value) ? "yes" : value === false ? "no" : line(JSON.stringify(value), 200);

// The rows of a table of several capability objects: [{path, cells}], with the members of objects below them.
export function comparison(values, path = [], rows = []) {
    const keys = new Set(values.flatMap(v => isObject(v) ? Object.keys(v) : []));
    for (const key of keys) {
        if (rows.length === 300) break;
        const inside = values.map(v => member(v, key));
        rows.push({ path: [...path, key], cells: inside.map(inCell) });
        if (path.length < 6) comparison(inside, [...path, key], rows);
    }
    return rows;
}

export function panel(app) {
    const side = h("div"), servers = h("div");
    const { client } = app;
    const element = h("section.panel", {}, h("h2", {}, "Server"), servers, app.config.mode === "mcpctl" && h("h3", {}, "As this page gets it"), facts(client.info, [fact("Revision", client.revision),
        fact("Speaks", (client.hello?.supportedVersions ?? []).map(v => line(v, 40)).join(", "))]),
        client.hello?.instructions && [h("h3", {}, "Instructions"), h("p.said", {}, prose(client.hello.instructions))],
        h("h3", {}, "Capabilities"), jsonView(client.capabilities, 3),
        h("div.bar.wrap", {}, button("Compare the revisions", compare)), side);

    // What is declared in each revision, side by side.
    async function compare() {
        fill(side, h("p.muted", {}, "Asking…"));
        const offered = await Promise.all([MODERN, ...LEGACY].map(revision => declared(app, revision)));
        await list(); // now each server that works has introduced itself
        const columns = [...themselves(app.about?.servers), ...offered];
        fill(side, h("div.table.compare", { tabIndex: 0, role: "region", "aria-label": "Capabilities by revision" }, h("table", {},
            h("thead", {}, h("tr", {}, h("th", { scope: "col" }, h("span.pad", {}, "Capability")), columns.map(c => h("th", { scope: "col" }, h("span.pad", {}, c.title))))),
            h("tbody", {}, comparison(columns.map(c => c.capabilities)).map(row => h("tr", {},
                h("th.plain", { scope: "row" }, row.path.map((step, i) => [i > 0 && " › ", line(step, 100)])), row.cells.map(c => h("td", {}, c)))),
                columns.some(c => c.error) && h("tr", {}, h("th.plain", { scope: "row" }, "Not spoken"), columns.map(c => h("td", {}, line(c.error ?? "", 200))))))),
            app.config.mode === "mcpctl" && h("p.muted", {}, "The columns of revisions are what mcpctl offers to this page, in front of the servers; those before them, what each server said itself."));
    }

    // The servers of `mcpctl web`, with what each said.
    async function list() {
        if (app.config.mode !== "mcpctl") return;
        const about = await app.program("/web/about");
        app.introduce(about);
        fill(servers, h("div.cards", {}, about.servers.map(s => h("article.card", {}, h("h3", {}, line(s.title || s.name, 200)),
            s.target !== s.title && h("p.address", {}, line(s.target, 1000)), s.uriPrefix && h("p.muted", {}, "Names begin with ", h("code", {}, line(s.prefix, 60)), ", addresses with ", h("code", {}, line(s.uriPrefix, 80))),
            s.problem && h("p.error", {}, line(s.problem, 500)), s.loginMessage && h("p.error", {}, line(s.loginMessage, 500)),
            s.login !== "none" && s.login !== undefined && h("p", {}, s.login === "running" ? "Logging in, in another tab…" : button("Log in", () => app.program("/web/login", { server: s.name }).then(again, e => say(e.message)))),
            s.hello && h("details", { open: about.servers.length === 1 }, h("summary", {}, `Its answer to ${line(s.hello.method, 60)}`), jsonView(s.hello.result, 2))))));
    }
    async function again() {
        for (let i = 0; i < 300; i++) {
            await list();
            if (app.about.servers.some(s => s.login === "done")) app.reload();
            if (!app.about.servers.some(s => s.login === "running")) return;
            await new Promise(done => setTimeout(done, 1000));
        }
    }
    list().catch(e => say(e.message));
    return { element, show: () => list().catch(e => say(e.message)) };
}
