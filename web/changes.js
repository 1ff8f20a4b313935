// changes.js: what the server says has changed: the resources that are watched, and the lists.

const LISTS = { "notifications/tools/list_changed": "tools", "notifications/prompts/list_changed": "prompts",
                "notifications/resources/list_changed": "resources" };

// Events: "change", and "list" with the name of the list that changed.
export class Changes extends EventTarget {
    log = []; // {at, text, uri}, newest last, at most 1000
    error = undefined;
    #client;
    #watched = new Set();
    #changed = new Set();
    /** @type {AbortController | undefined} */
    #stream = undefined;

    constructor(client) {
        super();
        this.#client = client;
        client.addEventListener("note", e => { if (client.era === "legacy") this.#note(e.detail); });
        if (client.era === "modern") this.#listen().catch(() => {});
    }

    watches = uri => this.#watched.has(uri);
    has = uri => this.#changed.has(uri);
    get watched() {
        return [...this.#watched];
    }

    seen(uri) {
        if (this.#changed.delete(uri)) this.#tell();
    }

    // Begins or ends to watch a resource.
    async toggle(uri) {
        const on = !this.#watched.has(uri);
        if (this.#client.era === "legacy") await this.#client.request(on ? "resources/subscribe" : "resources/unsubscribe", { uri });
        if (on) this.#watched.add(uri);
        else this.#watched.delete(uri);
        if (this.#client.era === "modern") await this.#listen();
        this.#tell();
    }

    // One stream has all subscriptions. It is replaced by another one, which begins before the old one ends.
    async #listen() {
        const c = this.#client.capabilities;
        const filter = {
            ...(c.tools?.listChanged && { toolsListChanged: true }),
            ...(c.prompts?.listChanged && { promptsListChanged: true }),
            ...(c.resources?.listChanged && { resourcesListChanged: true }),
            ...(this.#watched.size && { resourceSubscriptions: [...this.#watched] }),
        };
        const old = this.#stream;
        if (!Object.keys(filter).length) {
            old?.abort();
            this.#stream = undefined;
            return;
        }
        const stream = this.#stream = new AbortController();
        await /** @type {Promise<void>} */(new Promise((ready, failed) => {
            this.#client.listen(filter, message => {
                if (message.method === "notifications/subscriptions/acknowledged") {
                    old?.abort();
                    this.#refused(message.params?.notifications?.resourceSubscriptions);
                    ready();
                } else {
                    this.#note(message);
                }
            }, stream.signal).then(() => undefined, error => error).then(error => {
                failed(error ?? new Error("the server ended the subscription"));
                if (stream.signal.aborted || stream !== this.#stream) return;
                this.#stream = undefined;
                this.#add({ text: `The stream of changes ended${error ? `: ${error.message}` : ""}.` });
                setTimeout(() => { if (!this.#stream && !this.closed) this.#listen().catch(() => {}); }, 5000);
            });
        }));
    }

    #refused(honoured) {
        for (const uri of this.#watched) {
            if (Array.isArray(honoured) && honoured.includes(uri)) continue;
            this.#watched.delete(uri);
            this.#add({ text: "The server does not watch this resource.", uri });
        }
    }

    #note({ method, params }) {
        if (method === "notifications/resources/updated" && typeof params?.uri === "string") {
            this.#changed.add(params.uri);
            if (this.#changed.size > 10_000) this.#changed.clear();
            this.#add({ text: "changed", uri: params.uri });
        } else if (LISTS[method]) {
            this.#add({ text: `The list of ${LISTS[method]} changed.` });
            clearTimeout(this[LISTS[method]]);
            this[LISTS[method]] = setTimeout(() => {
                this.dispatchEvent(new CustomEvent("list", { detail: LISTS[method] }));
                if (method.includes("resources")) this.dispatchEvent(new CustomEvent("list", { detail: "templates" }));
            }, 300);
        }
    }

    #add(entry) {
        this.log.push({ at: Date.now(), ...entry });
        if (this.log.length > 1000) this.log.splice(0, 100);
        this.#tell();
    }

    #tell() {
        this.dispatchEvent(new Event("change"));
    }

    close() {
        this.closed = true;
        this.#stream?.abort();
        this.#stream = undefined;
    }
}
