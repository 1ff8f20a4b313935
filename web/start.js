// start.js: the first things of the page, which need few modules: who may use it, and the connection. They go on while the
// modules of the panels are loaded, and the first entries of the list of resources are asked for at once.

import { Client, LoginError } from "./mcp.js";
import { Journal } from "./journal.js";

export let config = {}; // what the program says about itself: /web/config
export let secret; // of mcpctl web, or the token that was typed, which is kept in memory only
export let login; // at an issuer (oauth.js), if the program says where
export const journal = new Journal();

// What the user interface does for the client, when it is there: ask() and refused() of mcp.js.
export let provide;
const ui = new Promise(done => (provide = done));

export const useSecret = value => (secret = value);
export const authorization = () => secret ? `Bearer ${secret}` : login?.authorization;

// A request to the program beside the MCP endpoint. Returns its JSON.
export async function program(path, body) {
    const answer = await fetch(path, {
        method: "POST",
        headers: { "Content-Type": "application/json", ...(secret && { Authorization: `Bearer ${secret}` }) },
        body: JSON.stringify(body ?? {}),
        cache: "no-store",
        credentials: "omit",
    });
    const value = await answer.json().catch(() => ({}));
    if (answer.status === 401) throw new LoginError(value.message ?? "the secret of this page is no longer valid", 401);
    if (!answer.ok) throw Object.assign(new Error(value.message ?? `the program answered ${answer.status}`), { word: value.error });
    return value;
}

export const newClient = () => new Client({
    endpoint: config.endpoint ?? "/mcp",
    authorization,
    refused: async (...about) => (await ui).refused(...about),
    journal,
    ask: async (...question) => (await ui).ask(...question),
    version: config.version ?? "0",
});

// Why the page cannot go on; the user interface says it. `kind` is "program", "code" (there is none) or "exchange".
export class StartError extends Error {
    constructor(kind, text) {
        super(text);
        this.kind = kind;
    }
}

// The secret of a page of `mcpctl web` stays in its tab, so that the page can be loaded again. A browser may have no such
// place, by its settings.
const KEPT = "secret";
function kept(value) {
    try {
        if (value) sessionStorage.setItem(KEPT, value);
        return sessionStorage.getItem(KEPT) ?? undefined;
    } catch {
        return undefined;
    }
}

const codeOf = hash => /^#code=([\w.~-]+)$/.exec(hash)?.[1];

// The secret of a page of `mcpctl web`, for the code in its address.
async function exchange(code) {
    try {
        ({ secret } = await program("/web/secret", { code }));
    } catch (error) {
        throw new StartError("exchange", error.message);
    }
    kept(secret);
}

// Gets the configuration, and the right to use the page. Both are asked for at the same time.
let exchanged; // a code is used once
export async function enter() {
    const code = codeOf(location.hash);
    exchanged ??= code && exchange(code).catch(error => {
        exchanged = undefined;
        throw error;
    });
    exchanged?.catch(() => {});
    try {
        config = await (await fetch("/web/config")).json(); // index.html has asked for it
    } catch {
        throw new StartError("program", "");
    }
    if (config.mode === "mcpctl") {
        history.replaceState(null, "", "/");
        await exchanged;
        secret ??= kept();
        if (!secret) throw new StartError("code", "");
    }
    if (config.logins?.length) login = new (await import("./oauth.js")).Login(config.logins, config.endpoint);
}

// Connects. Returns the client, and the promise of the first entries of its list of resources. Requests of 2026-07-28 do
// not depend on each other, so these are asked for before it is known that the server is of this revision and has any.
export async function connect() {
    const client = newClient(), connecting = client.connect("auto");
    const early = login && !authorization() ? undefined : client.request("resources/list");
    early?.catch(() => {}); // the list says it
    await connecting;
    if (!client.capabilities.resources) return { client };
    const first = client.era === "modern" && early || client.request("resources/list");
    first.catch(() => {});
    return { client, first };
}

addEventListener("hashchange", () => codeOf(location.hash) && location.reload()); // another code was typed into this tab

export const entered = location.search ? undefined : enter(); // with a query, an issuer has led back to the page
export const connected = entered?.then(connect);
entered?.catch(() => {});
connected?.catch(() => {});
