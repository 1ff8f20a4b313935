// sse.js: event streams (https://html.spec.whatwg.org/multipage/server-sent-events.html), parsed as they arrive.

// Calls on({event, data, id}) for each event of a body, until it ends. `limit` is the largest event, in characters.
export async function readEvents(body, on, limit = 64 << 20) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    const parser = new EventParser(on, limit);
    try {
        for (;;) {
            const { done, value } = await reader.read();
            if (done) return;
            parser.push(value);
        }
    } finally {
        reader.cancel().catch(() => {});
    }
}

export class EventParser {
    #on;
    #limit;
    #parts = []; // of a line that has not ended
    #size = 0;
    #afterCr = false;
    #data = [];
    #event = "";
    #id = "";

    constructor(on, limit) {
        this.#on = on;
        this.#limit = limit;
    }

    push(text) {
        let at = 0;
        if (this.#afterCr && text[0] === "\n") at = 1;
        if (text.length) this.#afterCr = false;
        const ends = /\r\n|\r|\n/g;
        ends.lastIndex = at;
        for (let end; (end = ends.exec(text)); at = ends.lastIndex) {
            this.#keep(text.slice(at, end.index));
            this.#line(this.#parts.join(""));
            this.#parts = [];
            if (end[0] === "\r" && ends.lastIndex === text.length) this.#afterCr = true;
        }
        this.#keep(text.slice(at));
    }

    #keep(text) {
        this.#size += text.length;
        if (this.#size > this.#limit) throw new Error("an event of the stream is too large");
        if (text) this.#parts.push(text);
    }

    #line(text) {
        if (text === "") {
            if (this.#data.length) this.#on({ event: this.#event || "message", data: this.#data.join("\n"), id: this.#id });
            this.#data = [];
            this.#event = "";
            this.#size = 0;
            return;
        }
        const colon = text.indexOf(":");
        if (colon === 0) return;
        const name = colon < 0 ? text : text.slice(0, colon);
        let value = colon < 0 ? "" : text.slice(colon + 1);
        if (value[0] === " ") value = value.slice(1);
        if (name === "data") this.#data.push(value);
        else if (name === "event") this.#event = value;
        else if (name === "id" && !value.includes("\0")) this.#id = value;
    }
}
