// app.js: the page once it is connected (start.js), with its panels; or why it is not.

import { h, fill, line, button, drawn, say, wait } from "./dom.js";
import { LoginError, MODERN, LEGACY, infoOf, spokenBy } from "./mcp.js";
import { Listing } from "./listing.js";
import { Changes } from "./changes.js";
import * as resources from "./resources.js";
import * as start from "./start.js";

/** @type {[string, string, () => Promise<any>][]} */
const PANELS = [
    ["resources", "Resources", async () => resources],
    ["templates", "Templates", () => import("./templates.js")],
    ["prompts", "Prompts", () => import("./prompts.js")],
    ["tools", "Tools", () => import("./tools.js")],
    ["tasks", "Tasks", () => import("./tasks.js")],
    ["changes", "Changes", () => import("./changes_panel.js")],
    ["context", "Context", () => import("./context.js")],
    ["timeline", "Timeline", () => import("./timeline.js")],
    ["load", "Load", () => import("./load.js")],
    ["server", "Server", () => import("./server.js")],
];

const panelOf = name => PANELS.find(p => p[0] === name) ?? PANELS[0];

const SOON = 100; // ms; entries that arrive until then are drawn in the frame in which the page changes

const place = /** @type {HTMLElement} */(document.getElementById("page"));
export let app; // what the page shows, once it is connected

// The resources that are collected for a context.
class Context extends EventTarget {
    marked = new Map(); // by URI: {uri, item}

    has = uri => this.marked.has(uri);

    toggle(uri, item) {
        if (!this.marked.delete(uri)) this.marked.set(uri, { uri, item });
        this.dispatchEvent(new Event("change"));
    }

    clear() {
        this.marked.clear();
        this.dispatchEvent(new Event("change"));
    }
}

class App {
    journal = start.journal;
    config = start.config;
    program = start.program;
    newClient = start.newClient;
    authorization = start.authorization;
    /** @type {Changes} */
    changes;
    tasks = []; // {id, name, client state}: see tasks.js
    #listings = new Map();
    #panels = new Map();
    #first; // entries of the list of resources, that were asked for before the list is shown
    /** @type {any} what /web/about answers */
    about = undefined;

    constructor({ client, first }) {
        this.#use(client, first);
        this.context = new Context();
    }

    #use(client, first) {
        this.client = client;
        this.#first = first;
        this.changes = new Changes(client);
        this.changes.addEventListener("list", /** @param {any} e */ e => this.#listings.get(e.detail)?.reload());
    }

    // The only server of `mcpctl web`, if there is one.
    get #one() {
        return this.about?.servers?.length === 1 ? this.about.servers[0] : undefined;
    }

    get serverName() {
        const { title, name } = this.client.info, one = this.#one;
        return line(one?.title.includes("/") ? one.name : one?.title ?? title ?? name ?? location.host, 100); // no path of a program
    }

    get serverVersion() {
        const one = this.#one, version = line((one ? infoOf(one.hello?.result) : this.client.info).version ?? "", 40);
        // What the server of `mcpctl web` speaks may be another revision than what mcpctl speaks with this page.
        return one?.hello ? [version, `MCP ${line(spokenBy(one.hello), 40)}`].filter(Boolean).join(" · ") : version;
    }

    // Says which server it is, when the program has said it.
    introduce(about) {
        this.about = about;
        const title = /** @type {HTMLElement | null} */(place.querySelector(".top h1")), version = place.querySelector(".top .version");
        if (!title || !version) return; // a message is shown in its place
        title.textContent = this.serverName;
        title.title = line(this.#one?.target ?? "", 500);
        version.textContent = this.serverVersion;
    }

    // Connects again, with another revision.
    async reconnect(want) {
        const client = this.newClient();
        await client.connect(want);
        this.changes.close();
        this.client.close();
        this.#listings.clear();
        for (const panel of this.#panels.values()) panel.close?.();
        this.#panels.clear();
        this.#use(client);
        await this.layout();
    }

    listing(what) {
        const [method, key] = { resources: ["resources/list", "resources"], templates: ["resources/templates/list", "resourceTemplates"],
                                prompts: ["prompts/list", "prompts"], tools: ["tools/list", "tools"] }[what];
        if (!this.#listings.has(what)) this.#listings.set(what, new Listing(this.client, method, key, what === "resources" ? this.#first : undefined));
        return this.#listings.get(what);
    }

    // Reads all lists again: a server can be used now that could not before.
    reload() {
        for (const listing of this.#listings.values()) listing.reload();
    }

    read(uri, signal) {
        return this.client.request("resources/read", { uri }, { signal });
    }

    // Nodes of Markdown, or undefined if the program does not make them.
    get markdown() {
        if (this.config.mode !== "mcpctl") return undefined;
        return async text => (await this.program("/web/markdown", { text })).nodes;
    }

    // Opens a panel; `arg` is passed to it.
    async open(name, arg) {
        if (this.current !== name) say("");
        this.current = name;
        for (const b of this.nav.children) b.setAttribute("aria-current", b.dataset.panel === name ? "page" : "false");
        if (!this.#panels.has(name)) {
            const module = await panelOf(name)[2]();
            if (!this.#panels.has(name)) this.#panels.set(name, module.panel(this));
        }
        if (this.current !== name) return;
        const panel = this.#panels.get(name);
        if (this.main.firstChild !== panel.element) fill(this.main, panel.element);
        document.title = `${panelOf(name)[1]} · ${this.serverName}`;
        panel.show?.(arg);
    }

    // The plots of the server's figures are for callers who may see these.
    async #offerLoad(load, before) {
        const value = this.authorization();
        const answer = await fetch("/metrics", { method: "HEAD", headers: value ? { Authorization: value } : {}, cache: "no-store", credentials: "omit" });
        if (answer.ok && before.isConnected) before.before(load);
    }

    async layout() {
        this.nav = h("nav", { "aria-label": "Panels", onkeydown: e => {
            const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[e.key];
            if (!step) return;
            e.preventDefault();
            const all = [...this.nav.children];
            all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus();
        } }, PANELS.map(([name, title]) => button(title, () => this.open(name), { "data-panel": name })));
        const [load, server] = ["load", "server"].map(name => this.nav.querySelector(`[data-panel=${name}]`));
        load.remove();
        if (this.config.mode === "mcpd") // after the first entries
            Promise.resolve(this.#first).catch(() => {}).then(drawn).then(() => this.#offerLoad(load, server)).catch(() => {});
        this.main = h("main", { tabIndex: -1 });
        const era = h("select", { "aria-label": "Revision", onchange: () => this.reconnect(era.value).catch(e => {
            say(`Not connected with this revision: ${e.message}`);
            era.value = this.client.revision;
        }) }, [MODERN, ...LEGACY].map(v => h("option", { value: v }, v)));
        era.value = this.client.revision;
        this.open(this.current ?? "resources");
        await Promise.race([this.#first?.catch(() => {}), wait(SOON)]);
        fill(place,
            h("header.top", {}, h("h1", {}, this.serverName), h("span.muted.version", {}, this.serverVersion), h("span.grow"),
                h("label.muted", {}, this.config.mode === "mcpctl" ? "This page and mcpctl: MCP " : "MCP ", era)),
            this.nav, this.main, h("footer", {}, h("p", { id: "status", role: "status" })));
        place.dataset.revision = this.client.revision;
    }

    schemaOf(tool) {
        return this.listing("tools").items.find(t => t.name === tool)?.inputSchema;
    }
}

function message(title, ...content) {
    fill(place, h("main.message", {}, h("h1", {}, title), ...content));
}

// A token that is no longer accepted, or that lacks a scope, while the page is used. Returns whether there is another one.
async function refused(status, challenge, signal) {
    const { login, secret } = start;
    if (!app || secret || !login?.authorization) return false;
    if (status === 401 && await login.renew()) return true;
    const { relogin } = await import("./login.js");
    return relogin(app, login, status, challenge, signal);
}

// What to do without a token: log in, or type one.
async function askToken(fault, challenge) {
    const { login } = start;
    const input = h("input", { type: "password", autocomplete: "off", id: "token", required: true });
    const form = h("form", { onsubmit: e => {
        e.preventDefault();
        start.useSecret(input.value.trim());
        run(start.connect());
    } }, h("label", { for: "token" }, "Token"), input, h("button.primary", { type: "submit" }, "Go on"));
    const offers = login && h("section", { "aria-label": "Login" });
    message(login ? "This server wants a login" : "This server wants a token", fault && h("p.error", { role: "alert" }, line(fault, 300)), offers,
        login && h("p.muted", {}, "Or use a token that you have:"), form,
        h("p.muted", {}, "It is kept in the memory of this page only, and sent to this server only."));
    if (!login) return input.focus();
    const { showOffers } = await import("./login.js");
    return showOffers(login, challenge, offers, () => {
        start.useSecret(undefined);
        run(start.connect());
    });
}

// Says why the page cannot go on.
function explain(error) {
    const { config, secret, login } = start;
    const again = h("p", {}, "Press Enter in the terminal in which ", h("code", {}, "mcpctl web"), " runs. It opens a new page.");
    if (error.kind === "program")
        return message("The program does not answer", h("p", {}, "Is it still running?"), button("Try again", () => run(start.enter().then(start.connect))));
    if (error.kind === "code")
        return message("This page has to be opened again", again, h("p.muted", {}, "The secret of a page stays in the tab in which it was opened."));
    if (error.kind === "exchange") return message("This page cannot be used", h("p", {}, error.message));
    if (error instanceof LoginError && config.mode !== "mcpctl") return askToken(secret || login?.authorization ? error.message : "", error.challenge);
    return message(error instanceof LoginError ? "This page is no longer valid" : "The server cannot be reached",
        h("p.error", { role: "alert" }, line(error.message, 1000)), config.mode === "mcpctl" && again,
        !(error instanceof LoginError) && button("Try again", () => run(start.connect())));
}

// Shows the server, when it is connected.
async function run(connected) {
    try {
        app = new App(await connected);
    } catch (error) {
        return explain(error);
    }
    await app.layout();
    if (app.config.mode === "mcpctl")
        app.program("/web/about").then(about => app.introduce(about), error => say(error.message));
    return undefined;
}

addEventListener("pagehide", () => app?.client.close());
addEventListener("keydown", e => {
    const typing = e.target instanceof Element && e.target.closest("input, textarea, select, dialog");
    if (e.key !== "/" || typing || e.ctrlKey || e.altKey || e.metaKey) return;
    const search = app?.main?.querySelector("input[type=search]");
    if (!search) return;
    e.preventDefault();
    search.focus();
});

start.provide({ ask: async (question, signal) => (await import("./questions.js")).ask(app, question, signal), refused });
if (start.connected) run(start.connected);
else import("./login.js").then(({ comeBack }) => comeBack(message) || run(start.enter().then(start.connect)));
