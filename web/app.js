// app.js: the start of the page: who may use it, the connection, and the panels.

import { h, fill, line, button, say } from "./dom.js";
import { Client, LoginError, MODERN, LEGACY } from "./mcp.js";
import { Journal } from "./journal.js";
import { Listing } from "./listing.js";
import { Changes } from "./changes.js";
import { Context } from "./marks.js";
import { ask } from "./questions.js";
import * as resources from "./resources.js";

const PANELS = [
    ["resources", "Resources", async () => resources],
    ["templates", "Templates", () => import("./templates.js")],
    ["prompts", "Prompts", () => import("./prompts.js")],
    ["tools", "Tools", () => import("./tools.js")],
    ["tasks", "Tasks", () => import("./tasks.js")],
    ["changes", "Changes", () => import("./changes_panel.js")],
    ["context", "Context", () => import("./context.js")],
    ["timeline", "Timeline", () => import("./timeline.js")],
    ["server", "Server", () => import("./server.js")],
];

const place = document.getElementById("page");
let secret; // of mcpctl web, or the token that was typed; it is kept in memory only
let config = {};
export let app; // what the page shows, once it is connected

// A request to the program beside the MCP endpoint. Returns its JSON.
async function program(path, body) {
    const answer = await fetch(path, {
        method: "POST",
        headers: { "Content-Type": "application/json", ...(secret && { Authorization: `Bearer ${secret}` }) },
        body: JSON.stringify(body ?? {}),
        cache: "no-store",
        credentials: "omit",
    });
    const value = await answer.json().catch(() => ({}));
    if (answer.status === 401) throw new LoginError(value.message ?? "the secret of this page is not valid any more", 401);
    if (!answer.ok) throw Object.assign(new Error(value.message ?? `the program answered ${answer.status}`), { word: value.error });
    return value;
}

class App {
    journal = new Journal();
    tasks = []; // {id, name, client state}: see tasks.js
    #listings = new Map();
    #panels = new Map();
    #schemas = new Map();
    about = undefined;

    constructor() {
        this.config = config;
        this.program = program;
        this.client = this.newClient();
    }

    newClient() {
        return new Client({
            endpoint: config.endpoint ?? "/mcp",
            authorization: () => secret && `Bearer ${secret}`,
            journal: this.journal,
            ask: (question, signal) => ask(this, question, signal),
            version: config.version ?? "0",
        });
    }

    get serverName() {
        const { title, name } = this.client.info;
        const one = this.about?.servers?.length === 1 ? this.about.servers[0] : undefined;
        return line(one?.title ?? title ?? name ?? location.host, 100);
    }

    async connect(want) {
        await this.client.connect(want);
        this.changes = new Changes(this.client);
        this.context = new Context();
        this.changes.addEventListener("list", e => this.#listings.get(e.detail)?.reload());
    }

    // Connects again, with another revision.
    async reconnect(want) {
        const client = this.newClient();
        await client.connect(want);
        this.changes?.close();
        this.client.close();
        this.client = client;
        this.changes = new Changes(client);
        this.changes.addEventListener("list", e => this.#listings.get(e.detail)?.reload());
        this.#listings.clear();
        this.#panels.clear();
        this.layout();
    }

    listing(what) {
        const [method, key] = { resources: ["resources/list", "resources"], templates: ["resources/templates/list", "resourceTemplates"],
                                prompts: ["prompts/list", "prompts"], tools: ["tools/list", "tools"] }[what];
        if (!this.#listings.has(what)) this.#listings.set(what, new Listing(this.client, method, key));
        return this.#listings.get(what);
    }

    read(uri, signal) {
        return this.client.request("resources/read", { uri }, { signal });
    }

    // Nodes of Markdown, or undefined if the program does not make them.
    get markdown() {
        if (config.mode !== "mcpctl") return undefined;
        return async text => (await program("/web/markdown", { text })).nodes;
    }

    // Opens a panel; `arg` is passed to it.
    async open(name, arg) {
        this.current = name;
        for (const b of this.nav.children) b.setAttribute("aria-current", b.dataset.panel === name ? "page" : "false");
        if (!this.#panels.has(name)) {
            const module = await PANELS.find(p => p[0] === name)[2]();
            if (!this.#panels.has(name)) this.#panels.set(name, module.panel(this));
        }
        if (this.current !== name) return;
        const panel = this.#panels.get(name);
        if (this.main.firstChild !== panel.element) fill(this.main, panel.element);
        document.title = `${PANELS.find(p => p[0] === name)[1]} · ${this.serverName}`;
        panel.show?.(arg);
    }

    layout() {
        this.nav = h("nav", { "aria-label": "Panels", onkeydown: e => {
            const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[e.key];
            if (!step) return;
            e.preventDefault();
            const all = [...this.nav.children];
            all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus();
        } }, PANELS.map(([name, title]) => button(title, () => this.open(name), { "data-panel": name })));
        this.main = h("main", { tabIndex: -1 });
        const era = h("select", { "aria-label": "Revision", onchange: () => this.reconnect(era.value).catch(e => {
            say(`Not connected with this revision: ${e.message}`);
            era.value = this.client.revision;
        }) }, [MODERN, ...LEGACY].map(v => h("option", { value: v }, v)));
        era.value = this.client.revision;
        const info = this.client.info;
        fill(place,
            h("header.top", {}, h("h1", {}, this.serverName), h("span.muted.version", {}, line(info.version ?? "", 40)), h("span.grow"),
                h("label.muted", {}, "MCP ", era)),
            this.nav, this.main, h("footer", {}, h("p", { id: "status", role: "status" })));
        place.dataset.revision = this.client.revision;
        this.open(this.current ?? "resources");
    }

    schemaOf(tool) {
        return this.listing("tools").items.find(t => t.name === tool)?.inputSchema;
    }
}

function message(title, ...content) {
    fill(place, h("main.message", {}, h("h1", {}, title), ...content));
}

// The secret of a page of `mcpctl web`, for the code in its address.
async function exchange() {
    const code = /^#code=([\w.~-]+)$/.exec(location.hash)?.[1];
    history.replaceState(null, "", "/");
    if (!code) {
        message("This page has to be opened again", h("p", {}, "Press Enter in the terminal in which ", h("code", {}, "mcpctl web"),
            " runs. It opens a new page."), h("p.muted", {}, "The secret of a page is kept in memory only, so a page that is loaded again has none."));
        return false;
    }
    try {
        ({ secret } = await program("/web/secret", { code }));
        return true;
    } catch (error) {
        message("This page cannot be used", h("p", {}, error.message));
        return false;
    }
}

function askToken(fault) {
    const input = h("input", { type: "password", autocomplete: "off", id: "token", required: true });
    const form = h("form", { onsubmit: e => {
        e.preventDefault();
        secret = input.value.trim();
        start();
    } }, h("label", { for: "token" }, "Token"), input, h("button.primary", { type: "submit" }, "Go on"));
    message("This server wants a token", fault && h("p.error", { role: "alert" }, line(fault, 300)), form,
        h("p.muted", {}, "It is kept in the memory of this page only, and sent to this server only."));
    input.focus();
}

async function start() {
    app = new App();
    try {
        await app.connect("auto");
    } catch (error) {
        if (error instanceof LoginError && config.mode !== "mcpctl") return askToken(secret ? error.message : "");
        return message(error instanceof LoginError ? "This page is not valid any more" : "The server cannot be reached",
            h("p.error", { role: "alert" }, line(error.message, 1000)),
            config.mode === "mcpctl" && h("p", {}, "Press Enter in the terminal in which ", h("code", {}, "mcpctl web"), " runs to open a new page."),
            !(error instanceof LoginError) && button("Try again", start));
    }
    app.layout();
    if (config.mode === "mcpctl")
        program("/web/about").then(about => {
            app.about = about;
            place.querySelector("h1").textContent = app.serverName;
        }, error => say(error.message));
    addEventListener("pagehide", () => app.client.close());
    addEventListener("keydown", e => {
        const typing = e.target.closest?.("input, textarea, select, dialog");
        if (e.key === "/" && !typing && !e.ctrlKey && !e.altKey && !e.metaKey) {
            const search = app.main.querySelector("input[type=search]");
            if (!search) return;
            e.preventDefault();
            search.focus();
        }
    });
}

async function begin() {
    try {
        config = await (await fetch("/web/config", { cache: "no-store" })).json();
    } catch {
        return message("The program does not answer", h("p", {}, "Is it still running?"), button("Try again", begin));
    }
    if (config.mode === "mcpctl" && !await exchange()) return;
    await start();
}

begin();
