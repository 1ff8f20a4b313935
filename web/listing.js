// listing.js: the entries of a list of the server, read page by page while the page is idle.

import { drawn, pause } from "./dom.js";

const MOST = 200_000; // entries that are read without being asked for

export class Listing extends EventTarget {
    items = [];
    complete = false;
    loading = false;
    /** @type {Error | undefined} */
    error = undefined;
    #client;
    #method;
    #key;
    #cursor = undefined;
    #refused = false; // a cursor, since the list was complete
    #until = MOST;
    /** @type {AbortController | undefined} */
    #stop = undefined;
    #texts = [];
    #first;

    // `first`, if it is there, is the promise of the first page, which was asked for already.
    constructor(client, method, key, first) {
        super();
        this.#client = client;
        this.#method = method;
        this.#key = key;
        this.#first = first;
    }

    // Reads on, until the end or `MOST` entries more.
    async load() {
        if (this.loading || this.complete) return;
        this.loading = true;
        this.error = undefined;
        const stop = this.#stop = new AbortController(), first = this.#first;
        this.#first = undefined;
        try {
            await this.#client.pages(this.#method, this.#key, async (items, next) => {
                if (stop.signal.aborted) return false;
                for (const item of items) this.items.push(item);
                this.#cursor = next;
                this.complete = next === undefined;
                if (this.complete) this.#refused = false;
                this.#tell("more");
                await (this.items.length === items.length ? drawn() : pause()); // the first ones are seen before others are read
                return this.items.length < this.#until;
            }, { cursor: this.#cursor, signal: stop.signal, first });
        } catch (error) {
            if (stop.signal.aborted) return;
            if (error.code === -32602 && this.#cursor !== undefined && !this.#refused) { // the list has changed: once
                this.#refused = true;
                await this.reload();
                return;
            }
            this.error = error;
        }
        if (stop.signal.aborted) return;
        this.loading = false;
        this.#tell("more");
    }

    // Reads the next entries of a list that was not read to its end.
    next() {
        this.#until = this.items.length + MOST;
        return this.load();
    }

    // Reads everything again, because it changed.
    reload() {
        this.#stop?.abort();
        this.items = [];
        this.#texts = [];
        this.complete = this.loading = false;
        this.error = this.#cursor = undefined;
        this.#until = MOST;
        this.#tell("restart");
        return this.load();
    }

    // The text in which a search looks.
    textAt(i) {
        return this.#texts[i] ??= ["title", "name", "uri", "uriTemplate", "description"].map(k => this.items[i][k])
            .filter(t => typeof t === "string").map(t => t.slice(0, 200)).join(" ").toLowerCase();
    }

    get state() {
        const n = this.items.length.toLocaleString("en");
        if (this.error) return `${n} read; ${this.error.message.slice(0, 200)}`;
        if (this.complete || !this.loading && !this.items.length) return n; // without this kind of items, there is nothing to read
        return this.loading ? `${n} so far…` : `the first ${n}`;
    }

    #tell(name) {
        this.dispatchEvent(new Event(name));
    }
}
