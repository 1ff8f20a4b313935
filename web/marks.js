// marks.js: the resources that are collected for a context.

export class Context extends EventTarget {
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
