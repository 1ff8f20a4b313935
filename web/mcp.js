// mcp.js: a client of MCP over Streamable HTTP, for revision 2026-07-28 and for the revisions with sessions.
//
// Which era a server is of is found out as the specification says (basic/transports/streamable-http, "Backward
// Compatibility"): a request of 2026-07-28 first; an error that only a modern server sends means that it is modern;
// anything else leads to `initialize`.

import { wait } from "./dom.js";

export const MODERN = "2026-07-28";
export const LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26"];
const KEY = "io.modelcontextprotocol/";
const TASKS = `${KEY}tasks`;
const MOST_ANSWER = 64 << 20; // characters
const MOST_ROUNDS = 20; // of questions in one request
const VISIT_FIRST = -32042; // 2025-11-25: addresses have to be visited first

export class McpError extends Error {
    constructor(error, status) {
        super(typeof error?.message === "string" ? error.message : "the server sent an error without a text");
        this.code = error?.code;
        this.data = error?.data;
        this.status = status;
    }
}

// The server wants a login, or the secret of this page is no longer valid.
export class LoginError extends Error {
    constructor(text, status, challenge) {
        super(text);
        this.status = status;
        this.challenge = challenge; // the header WWW-Authenticate, or null
    }
}

// The revision that a server answered with: {method, result} of its first answer.
export const spokenBy = ({ method, result }) => method === "server/discover" ? MODERN : String(result?.protocolVersion ?? "").slice(0, 40);

// What a server says about itself in its first answer, of either era.
export const infoOf = hello => hello?.serverInfo ?? hello?._meta?.[`${KEY}serverInfo`] ?? {};

// A header value as the specification encodes it ("Value Encoding").
export function headerValue(value) {
    const text = String(value);
    const plain = /^[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?$/.test(text) || text === "";
    if (plain && !(text.startsWith("=?base64?") && text.endsWith("?="))) return text;
    const utf8 = new TextEncoder().encode(text);
    let binary = "";
    for (let i = 0; i < utf8.length; i += 8192) binary += String.fromCharCode(...utf8.subarray(i, i + 8192));
    return `=?base64?${btoa(binary)}?=`;
}

// Returns the mirrored parameters of a tool as [[property path, header name]], or an error text if the definition is
// invalid and the tool must not be offered ("Custom Headers from Tool Parameters").
export function mirrored(schema) {
    const found = [];
    const names = new Set();
    let fault;
    const check = (node, path, reachable, depth) => {
        if (fault || node === null || typeof node !== "object" || depth > 64) return;
        if (Array.isArray(node)) {
            node.forEach(n => check(n, path, false, depth + 1));
            return;
        }
        const name = node["x-mcp-header"];
        if (name !== undefined && (path.length || !reachable)) {
            if (typeof name !== "string" || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) fault = "a malformed x-mcp-header";
            else if (!reachable) fault = "an x-mcp-header below something other than properties";
            else if (!["string", "integer", "boolean"].includes(node.type)) fault = "an x-mcp-header of a type that is not allowed";
            else if (names.has(name.toLowerCase())) fault = "the same x-mcp-header twice";
            names.add(String(name).toLowerCase());
            found.push([path, name]);
        }
        for (const [key, value] of Object.entries(node)) {
            if (key === "properties" && value && typeof value === "object") {
                for (const [p, s] of Object.entries(value)) check(s, [...path, p], reachable, depth + 1);
            } else if (!["default", "const", "enum", "examples"].includes(key)) {
                check(value, path, false, depth + 1);
            }
        }
    };
    check(schema, [], true, 0);
    return fault ?? found;
}

const at = (value, path) => path.reduce((v, key) =>
    v !== null && typeof v === "object" && Object.hasOwn(v, key) ? v[key] : undefined, value);

export class Client extends EventTarget {
    /** @type {"modern" | "legacy" | undefined} */
    era = undefined;
    /** @type {string | undefined} */
    revision = undefined;
    /** @type {any} the result of server/discover or initialize */
    hello = undefined;
    logLevel = "";
    #endpoint;
    #authorization;
    #refused;
    #journal;
    #ask;
    #version;
    /** @type {string | undefined} */
    #session = undefined;
    #id = 0;
    #scope = 0;
    /** @type {AbortController | undefined} the GET stream of a session */
    #inbox = undefined;
    #progress = new Map();

    // `authorization` returns the value of the header or undefined; `ask` answers a question of the server:
    // async ({method, params, about, visited}, signal) => result; with `visited`, a promise, the answer is wanted when the user
    // was at the address, and that is resolved if the server says so. `refused`, if given, is async (status, challenge, signal) => whether
    // the request is to be sent again, for an answer 401 or 403.
    constructor({ endpoint, authorization, refused, journal, ask, version }) {
        super();
        this.#endpoint = endpoint;
        this.#authorization = authorization;
        this.#refused = refused;
        this.#journal = journal;
        this.#ask = ask;
        this.#version = version;
        this.#scope = Math.random();
    }

    get capabilities() {
        const c = this.hello?.capabilities;
        return c && typeof c === "object" ? c : {};
    }
    get info() {
        return infoOf(this.hello);
    }
    get hasTasks() {
        return this.era === "modern" ? Boolean(this.capabilities.extensions?.[TASKS]) : Boolean(this.capabilities.tasks);
    }

    // What this page can do for a server.
    static capabilities = {
        elicitation: { form: {}, url: {} },
        sampling: {},
        extensions: { [TASKS]: {} },
    };

    // Connects: `want` is "auto", or a revision.
    async connect(want = "auto", signal) {
        if (want === "auto" || want === MODERN) {
            this.era = "modern";
            this.revision = MODERN;
            try {
                this.hello = await this.#send("server/discover", {}, { signal });
                this.#checkVersion();
                return this;
            } catch (error) {
                if (error instanceof LoginError || signal?.aborted || !(error instanceof McpError)) throw error;
                const supported = error.code === -32022 && Array.isArray(error.data?.supported) ? error.data.supported : [];
                const legacy = supported.find(v => LEGACY.includes(v));
                if (want === MODERN || [-32020, -32021].includes(error.code) || supported.length && !legacy) throw error;
            }
        }
        await this.#initialize(want === "auto" ? LEGACY[0] : want, signal);
        return this;
    }

    #checkVersion() {
        const served = this.hello?.supportedVersions;
        if (Array.isArray(served) && served.length && !served.includes(this.revision))
            throw new McpError({ code: -32022, message: `the server speaks ${served.join(", ")}, this page ${MODERN}` });
    }

    async #initialize(revision, signal) {
        this.era = "legacy";
        this.#session = undefined;
        this.revision = undefined;
        const { extensions: _, ...capabilities } = Client.capabilities;
        this.hello = await this.#send("initialize", {
            protocolVersion: revision,
            capabilities,
            clientInfo: this.#clientInfo(),
        }, { signal, starts: true });
        if (![...LEGACY, "2024-11-05"].includes(this.hello.protocolVersion))
            throw new McpError({ message: `the server chose revision ${this.hello.protocolVersion}, which this page does not speak` });
        this.revision = this.hello.protocolVersion;
        await this.notify("notifications/initialized");
        this.#listenLegacy();
    }

    #clientInfo() {
        return { name: "libmcp-page", title: "libmcp's page", version: this.#version };
    }

    close() {
        this.#inbox?.abort();
        if (this.#session)
            fetch(this.#endpoint, { method: "DELETE", headers: this.#headers(), keepalive: true }).catch(() => {});
        this.#session = undefined;
    }

    // Sends a request and returns its result, after all questions of the server were answered. Options: signal,
    // progress(params), log(params), schema (of the tool), task (legacy: {ttl}).
    async request(method, params = {}, options = {}) {
        /** @type {Record<string, any>} */
        const asked = { ...params };
        for (let round = 0; ; round++) {
            const result = await this.#send(method, asked, options).catch(error => this.#visit(error, round, { method, params }, options.signal));
            if (result === undefined) continue;
            const type = this.era === "modern" ? result.resultType : result.resultType ?? "complete";
            if (type === undefined || type === "complete" || type === "task") return result;
            if (type !== "input_required")
                throw new McpError({ message: `the result has a type that this page does not know: ${String(type).slice(0, 100)}` });
            if (round === MOST_ROUNDS) throw new McpError({ message: "the server asked too often" });
            delete asked.inputResponses;
            delete asked.requestState;
            if (result.requestState !== undefined) asked.requestState = result.requestState;
            const questions = result.inputRequests;
            if (questions === undefined) await wait(Math.min(1000, 100 * 2 ** round), options.signal);
            else asked.inputResponses = await this.answer(questions, { method, params }, options.signal);
        }
    }

    // Asks the user to visit the addresses that an error lists. Returns undefined when that was done; otherwise throws it.
    async #visit(error, round, about, signal) {
        const list = error instanceof McpError && error.code === VISIT_FIRST && this.revision === "2025-11-25" ? error.data?.elicitations : undefined;
        if (!Array.isArray(list) || !list.length || list.length > 10 || round >= MOST_ROUNDS || list.some(e => e?.mode !== "url")) throw error;
        for (const params of list) {
            const done = this.#completion(params.elicitationId);
            const { action } = await this.#ask({ method: "elicitation/create", params, about, visited: done.promise }, signal).finally(done.forget);
            if (action !== "accept") throw error;
        }
        return undefined;
    }

    // The end of what the user does at an address, as far as the server tells.
    #completion(id) {
        const heard = new AbortController();
        const promise = /** @type {Promise<void>} */(new Promise(resolve => this.addEventListener("note", /** @param {any} note */ ({ detail }) => {
            if (detail.method === "notifications/elicitation/complete" && id !== undefined && detail.params?.elicitationId === id) resolve();
        }, { signal: heard.signal })));
        return { promise, forget: () => heard.abort() };
    }

    // Asks the user every question of a map, and returns the answers.
    async answer(questions, about, signal) {
        const answers = {};
        for (const [key, question] of Object.entries(questions ?? {})) {
            const value = await this.#ask({ method: question?.method, params: question?.params ?? {}, about }, signal);
            Object.defineProperty(answers, key, { value, enumerable: true, configurable: true, writable: true });
        }
        return answers;
    }

    /**
     * All pages of a list, as they arrive; `on` may return false to stop. `first` is the promise of the first one, if it
     * was asked for already.
     * @param {string} method @param {string} key @param {(items: any[], next: string | undefined) => any} on
     * @param {{cursor?: string, signal?: AbortSignal, first?: Promise<any>}} options
     */
    async pages(method, key, on, { cursor, signal, first } = {}) {
        const seen = new Set();
        for (;;) {
            const result = await (first ?? this.request(method, cursor === undefined ? {} : { cursor }, { signal }));
            first = undefined;
            const items = Array.isArray(result[key]) ? result[key].filter(i => i !== null && typeof i === "object") : [];
            const next = typeof result.nextCursor === "string" ? result.nextCursor : undefined;
            const more = next !== undefined && !seen.has(next);
            if (await on(items, more ? next : undefined) === false || !more) return;
            seen.add(next);
            cursor = next;
        }
    }

    async notify(method, params) {
        const message = { jsonrpc: "2.0", method, ...(params && { params }) };
        const answer = await this.#post(message, {}, undefined);
        if (!answer.ok) throw await this.#refusal(answer);
        await answer.body?.cancel();
    }

    // Opens a stream of changes (2026-07-28). Calls on(message) until `signal` ends it. Returns the result that ends it.
    listen(notifications, on, signal) {
        return this.#send("subscriptions/listen", { notifications }, { signal, note: on });
    }

    async #send(method, params, options = {}) {
        const id = ++this.#id;
        const token = options.progress ? `p${id}` : undefined;
        const message = { jsonrpc: "2.0", id, method, params: this.#params(params, token, options) };
        if (token) this.#progress.set(token, options.progress);
        try {
            return await this.#exchange(message, options);
        } catch (error) {
            if (options.signal?.aborted && this.era === "legacy")
                this.notify("notifications/cancelled", { requestId: id, reason: "the user cancelled it" }).catch(() => {});
            throw error;
        } finally {
            if (token) this.#progress.delete(token);
        }
    }

    #params(params, token, options) {
        const meta = { ...params._meta };
        if (token) meta.progressToken = token;
        if (this.era === "modern") {
            meta[`${KEY}protocolVersion`] = this.revision;
            meta[`${KEY}clientInfo`] = this.#clientInfo();
            meta[`${KEY}clientCapabilities`] = Client.capabilities;
            if (this.logLevel) meta[`${KEY}logLevel`] = this.logLevel;
        }
        const all = { ...params, ...(options.task && { task: options.task }) };
        return Object.keys(meta).length ? { ...all, _meta: meta } : all;
    }

    #headers() {
        const authorization = this.#authorization();
        return {
            Accept: "application/json, text/event-stream",
            ...(authorization && { Authorization: authorization }),
            ...(this.revision && { "MCP-Protocol-Version": this.revision }),
            ...(this.#session && { "Mcp-Session-Id": this.#session }),
        };
    }

    #mirror(message, options) {
        const headers = { "Mcp-Method": message.method };
        const p = message.params ?? {};
        const name = { "tools/call": p.name, "prompts/get": p.name, "resources/read": p.uri, "tasks/get": p.taskId,
                       "tasks/update": p.taskId, "tasks/cancel": p.taskId }[message.method];
        if (name !== undefined) headers["Mcp-Name"] = headerValue(name);
        const list = options.schema ? mirrored(options.schema) : [];
        for (const [path, header] of Array.isArray(list) ? list : []) {
            const value = at(p.arguments, path);
            if (value !== undefined && value !== null) headers[`Mcp-Param-${header}`] = headerValue(value);
        }
        return headers;
    }

    #post(message, headers, signal) {
        const text = JSON.stringify(message);
        this.#journal.add("page", text, { scope: this.#scope });
        return fetch(this.#endpoint, {
            method: "POST",
            headers: { "Content-Type": "application/json", ...this.#headers(), ...headers },
            body: text,
            signal,
            credentials: "omit",
            cache: "no-store",
            redirect: "error",
        });
    }

    async #exchange(message, options) {
        const headers = this.era === "modern" ? this.#mirror(message, options) : {}, within = this.#session;
        const answer = await this.#post(message, headers, options.signal);
        const session = answer.headers.get("Mcp-Session-Id");
        if (options.starts && session) this.#session = session;
        if (answer.status === 404 && within && !options.starts && !options.again) {
            await answer.body?.cancel();
            if (within === this.#session) await this.#initialize(LEGACY[0], options.signal); // the session ended
            return this.#exchange(message, { ...options, again: true });
        }
        if ([401, 403].includes(answer.status) && this.#refused && !options.authorized &&
            await this.#refused(answer.status, answer.headers.get("WWW-Authenticate"), options.signal)) {
            await answer.body?.cancel();
            return this.#exchange(message, { ...options, authorized: true });
        }
        const type = answer.headers.get("Content-Type") ?? "";
        if (answer.ok && /^text\/event-stream\b/i.test(type)) return this.#stream(answer, message, options);
        if (!answer.ok) throw await this.#refusal(answer);
        return this.#result(this.#read(await limitedText(answer)), answer.status);
    }

    async #refusal(answer) {
        const text = (await limitedText(answer, 1 << 20)).trim();
        let body;
        try {
            body = JSON.parse(text);
        } catch {
            body = undefined;
        }
        if (answer.status === 401 || answer.status === 403 && !body?.jsonrpc)
            return new LoginError(body?.message ?? body?.error?.message ?? `the server answered ${answer.status}`, answer.status, answer.headers.get("WWW-Authenticate"));
        if (body?.error && typeof body.error === "object") {
            this.#journal.add("server", text, { scope: this.#scope });
            return new McpError(body.error, answer.status);
        }
        return new McpError({ message: `the server answered ${answer.status}${text ? `: ${text.slice(0, 300)}` : ""}` }, answer.status);
    }

    #read(text) {
        let message;
        try {
            message = JSON.parse(text);
        } catch {
            message = undefined;
        }
        this.#journal.add("server", text, { scope: this.#scope, message });
        if (message === undefined) throw new McpError({ message: "the server sent a message that is not JSON" });
        return message;
    }

    #result(message, status) {
        if (message?.error) throw new McpError(message.error, status);
        if (message?.result === null || typeof message?.result !== "object")
            throw new McpError({ message: "the server sent an answer without a result" });
        return message.result;
    }

    async #stream(answer, request, options) {
        const { readEvents } = await import("./sse.js");
        let found;
        await readEvents(answer.body, ({ data }) => {
            if (data === "") return;
            const message = this.#read(data);
            for (const m of Array.isArray(message) ? message : [message]) {
                if (m?.id === request.id && m.method === undefined) found = m;
                else this.#other(m, request, options);
            }
        }, MOST_ANSWER);
        if (found) return this.#result(found, answer.status);
        throw new McpError({ message: "the stream ended before the answer" });
    }

    // A message that is not an answer.
    #other(message, request, options = {}) {
        if (typeof message?.method !== "string") return;
        if (message.id !== undefined) {
            this.#serve(message, request);
            return;
        }
        const params = message.params ?? {};
        if (message.method === "notifications/progress") this.#progress.get(params.progressToken)?.(params);
        if (message.method === "notifications/message") this.dispatchEvent(new CustomEvent("log", { detail: params }));
        options.note?.(message);
        this.dispatchEvent(new CustomEvent("note", { detail: message }));
    }

    // A request of the server, which only servers of the legacy era send.
    async #serve(message, request) {
        let answer;
        try {
            answer = { result: await this.#answerLegacy(message, request) };
        } catch (error) {
            answer = { error: { code: error.code ?? -32603, message: error.message } };
        }
        this.#post({ jsonrpc: "2.0", id: message.id, ...answer }, {}).then(a => a.body?.cancel(), () => {});
    }

    async #answerLegacy({ method, params }, request) {
        if (method === "ping") return {};
        if (["elicitation/create", "sampling/createMessage"].includes(method))
            return this.#ask({ method, params: params ?? {}, about: request && { method: request.method, params: request.params } });
        throw Object.assign(new Error("method not found"), { code: -32601 });
    }

    // The GET stream of a session, opened again when it ends.
    async #listenLegacy() {
        this.#inbox?.abort();
        const inbox = new AbortController();
        this.#inbox = inbox;
        const session = this.#session;
        for (let tries = 0; !inbox.signal.aborted && session === this.#session && tries < 100; tries++) {
            try {
                const answer = await fetch(this.#endpoint, {
                    headers: { ...this.#headers(), Accept: "text/event-stream" }, signal: inbox.signal, credentials: "omit", cache: "no-store",
                });
                if (!answer.ok || !/^text\/event-stream\b/i.test(answer.headers.get("Content-Type") ?? "")) {
                    await answer.body?.cancel();
                    return;
                }
                const { readEvents } = await import("./sse.js");
                await readEvents(answer.body, ({ data }) => {
                    if (data === "") return;
                    const message = this.#read(data);
                    for (const m of Array.isArray(message) ? message : [message]) this.#other(m);
                }, MOST_ANSWER);
            } catch {
                // opened again below
            }
            await wait(1000 * Math.min(30, tries + 1), inbox.signal).catch(() => {});
        }
    }
}

export async function limitedText(answer, limit = MOST_ANSWER) {
    if (!answer.body) return "";
    const length = Number(answer.headers.get("Content-Length"));
    if (length > 0 && length <= limit && !answer.headers.has("Content-Encoding")) return answer.text(); // it cannot be longer
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    const parts = [];
    let size = 0;
    for (;;) {
        const { done, value } = await reader.read();
        if (done) return parts.join("");
        size += value.length;
        if (size > limit) {
            reader.cancel().catch(() => {});
            throw new McpError({ message: "the answer is larger than this page takes" });
        }
        parts.push(value);
    }
}
