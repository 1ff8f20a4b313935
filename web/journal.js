// journal.js: the messages that this page exchanged, for the timeline. The last 10,000, and 32 MB of their text.

const MOST = 10_000;
const MOST_TEXT = 32 << 20;
const KEPT = 64 << 10; // characters of one message

function parsed(text) {
    try {
        return JSON.parse(text);
    } catch {
        return undefined;
    }
}

// An entry: {n, at (ms since 1970), clock (ms, monotonic), from: "page"|"server"|"stderr", kind: "request"|"result"|
// "error"|"notification"|"text", method, id, size, text, cut, peer (the name of a server), ms (of an answer), request
// (its entry)}.
export class Journal extends EventTarget {
    entries = [];
    lost = 0;
    #n = 0;
    #text = 0;
    #open = new Map(); // requests that are not answered, by sender and id
    #told = false;

    /**
     * `message` is the parsed text, if it was parsed already.
     * @param {string} from @param {string} text
     * @param {{message?: any, peer?: string, scope?: unknown, size?: number, at?: number, clock?: number}} about
     */
    add(from, text, { message, peer = "", scope = "", size, at = Date.now(), clock = performance.now() } = {}) {
        const entry = { n: ++this.#n, at, clock, from, kind: "text", method: "", size: size ?? text.length, peer,
                        text: text.length > KEPT ? text.slice(0, KEPT) : text, cut: text.length > KEPT };
        if (from !== "stderr") this.#classify(entry, message ?? parsed(text), scope);
        this.entries.push(entry);
        this.#text += entry.text.length;
        while (this.entries.length > MOST + 500 || this.#text > MOST_TEXT) this.#drop();
        this.#tell();
        return entry;
    }

    #classify(entry, message, scope) {
        if (message === null || typeof message !== "object") return;
        const named = typeof message.method === "string";
        const hasId = message.id !== undefined && message.id !== null;
        if (hasId) entry.id = message.id;
        if (named) {
            entry.method = message.method;
            entry.kind = hasId ? "request" : "notification";
            entry.what = message.params?.name ?? message.params?.uri ?? message.params?.taskId ?? "";
            if (typeof entry.what !== "string") entry.what = "";
            entry.what = entry.what.slice(0, 300);
            if (hasId) this.#open.set(`${scope} ${entry.from} ${JSON.stringify(message.id)}`, entry);
            return;
        }
        entry.kind = message.error ? "error" : "result";
        const asker = entry.from === "server" ? "page" : "server";
        const key = `${scope} ${asker} ${JSON.stringify(message.id)}`;
        const request = this.#open.get(key);
        if (!request) return;
        this.#open.delete(key);
        entry.request = request;
        request.answer = entry;
        entry.method = request.method;
        entry.what = request.what;
        entry.ms = entry.clock - request.clock;
    }

    #drop() {
        const gone = this.entries.splice(0, 500);
        this.lost += gone.length;
        for (const entry of gone) this.#text -= entry.text.length;
        if (this.#open.size > 2 * MOST) this.#open.clear();
    }

    #tell() {
        if (this.#told) return;
        this.#told = true;
        setTimeout(() => {
            this.#told = false;
            this.dispatchEvent(new Event("change"));
        }, 100);
    }
}
