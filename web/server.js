// server.js: the panel of the server: what it is, what it can do, in each revision.

import { h, fill, line, prose, button, say } from "./dom.js";
import { MODERN, LEGACY } from "./mcp.js";
import { jsonView } from "./json.js";

const fact = (name, value) => value === undefined || value === "" ? [] : [h("dt", {}, name), h("dd", {}, value)];

function facts(info, extra) {
    return h("dl", {}, fact("Name", line(info?.name, 200)), fact("Title", line(info?.title, 200)), fact("Version", line(info?.version, 100)),
        fact("Website", line(info?.websiteUrl, 500)), fact("Description", line(info?.description, 1000)), extra);
}

export function panel(app) {
    const side = h("div"), servers = h("div");
    const { client } = app;
    const element = h("section.panel", {}, h("h2", {}, "Server"), servers, app.config.mode === "mcpctl" && h("h3", {}, "As this page gets it"), facts(client.info, [fact("Revision", client.revision),
        fact("Speaks", (client.hello?.supportedVersions ?? []).map(v => line(v, 40)).join(", "))]),
        client.hello?.instructions && [h("h3", {}, "Instructions"), h("p.said", {}, prose(client.hello.instructions))],
        h("h3", {}, "Capabilities"), jsonView(client.capabilities, 3),
        h("div.bar.wrap", {}, button("Compare the revisions", compare)), side);

    // What the server says in each revision, side by side.
    async function compare() {
        fill(side, h("p.muted", {}, "Asking…"));
        const columns = [];
        for (const revision of [MODERN, ...LEGACY]) {
            const other = app.newClient();
            try {
                await other.connect(revision);
                columns.push([other.revision, other.capabilities]);
            } catch (error) {
                columns.push([revision, error.message]);
            } finally {
                other.close();
            }
        }
        const unique = columns.filter(([r], i) => columns.findIndex(c => c[0] === r) === i);
        const names = [...new Set(unique.flatMap(([, c]) => typeof c === "string" ? [] : Object.entries(c).flatMap(([k, v]) =>
            k === "extensions" || k === "experimental" ? Object.keys(v ?? {}).map(e => `${k}: ${e}`) : [k])))];
        const valueOf = (c, name) => {
            const [outer, ...rest] = name.split(": ");
            return rest.length ? c[outer]?.[rest.join(": ")] : c[outer];
        };
        const cell = (c, name) => {
            if (typeof c === "string") return "";
            const v = valueOf(c, name);
            if (v === undefined) return "–";
            const text = Object.entries(v ?? {}).map(([k, x]) => x === true ? k : `${k}: ${JSON.stringify(x)}`).join(", ");
            return line(`yes${text ? `: ${text}` : ""}`, 300);
        };
        fill(side, h("div.table", { tabIndex: 0, role: "region", "aria-label": "Capabilities by revision" }, h("table", {}, h("thead", {}, h("tr", {}, h("td", {}, "Capability"), unique.map(([r]) => h("th", { scope: "col" }, h("span.pad", {}, r))))),
            h("tbody", {}, names.map(n => h("tr", {}, h("td", {}, line(n, 100)), unique.map(([, c]) => h("td", {}, cell(c, n))))),
                unique.some(([, c]) => typeof c === "string") && h("tr", {}, h("td", {}, "Error"), unique.map(([, c]) => h("td", {}, typeof c === "string" ? line(c, 200) : "")))))));
    }

    // The servers of `mcpctl web`, with what each said.
    async function list() {
        if (app.config.mode !== "mcpctl") return;
        const about = app.about = await app.program("/web/about");
        fill(servers, h("div.cards", {}, about.servers.map(s => h("article.card", {}, h("h3", {}, line(s.title || s.name, 200)),
            h("p.address", {}, line(s.target, 1000)), s.uriPrefix && h("p.muted", {}, "Names begin with ", h("code", {}, line(s.prefix, 60)), ", addresses with ", h("code", {}, line(s.uriPrefix, 80))),
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
