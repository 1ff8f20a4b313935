// tree.js: the folders of a list, made of the URIs of its entries.

const DEEPEST = 40;

class Node {
    /** @type {Map<string, Node> | undefined} by name */
    children = undefined;
    item = undefined;
    open = false;
    closed = false; // by the user
    /** @type {Node | undefined} the same folder before the list was read again */
    old = undefined;
    name;
    constructor(name) {
        this.name = name;
    }
}

// The steps from the root to an entry: "scheme://host/", then each folder, then the last segment.
export function stepsOf(uri) {
    const head = /^[a-z][a-z0-9+.-]*:(?:[a-z][a-z0-9+.-]*:)?(?:\/\/[^/?#]*)?\/?/i.exec(uri)?.[0] ?? "";
    const rest = uri.slice(head.length);
    const steps = rest.split(/(?<=\/)/, DEEPEST);
    const used = steps.reduce((n, s) => n + s.length, 0);
    if (used < rest.length) steps[steps.length - 1] += rest.slice(used);
    return [head, ...steps].filter(Boolean);
}

// A folder and the resource of its name are one row.
const keyOf = step => step.endsWith("/") ? step.slice(0, -1) : step;

function childOf(node, step) {
    node.children ??= new Map();
    let child = node.children.get(keyOf(step));
    if (!child) {
        node.children.set(keyOf(step), child = new Node(step));
        child.old = node.old?.children?.get(keyOf(step));
        child.open = child.old?.open ?? false;
        child.closed = child.old?.closed ?? false;
    } else if (step.endsWith("/")) child.name = step;
    return child;
}

// Opens a folder, and while it has only one folder in it, that one. Returns what is in the last one if that is little.
function openChain(node) {
    for (;;) {
        node.open ||= !node.closed;
        if (node.children?.size !== 1) break;
        const only = node.children.values().next().value;
        if (!only.children) break;
        node = only;
    }
    return node.children?.size <= 5 ? [...node.children.values()] : [];
}

export class Tree {
    root = new Node("");
    #count = 0;

    // Adds the entries that are new since the last call.
    grow(items) {
        for (; this.#count < items.length; this.#count++) this.#insert(items[this.#count]);
        this.root.open = true;
        for (const node of openChain(this.root)) if (node.children) openChain(node);
    }

    #insert(item) {
        let node = this.root;
        const uri = typeof item.uri === "string" ? item.uri.slice(0, 2000) : "";
        for (const step of stepsOf(uri)) node = childOf(node, step);
        if (node.item) node = childOf(node, "\0" + uri); // "a" and "a/" are two resources
        node.item = item;
    }

    // Forgets all entries, because the list is read again. Folders that come back are as open as before.
    restart() {
        const old = this.root;
        const forget = [old];
        for (let node; (node = forget.pop());) {
            node.old = node.item = undefined;
            for (const child of node.children?.values() ?? []) if (child.children) forget.push(child);
        }
        this.root = new Node("");
        this.root.old = old;
        this.#count = 0;
    }

    // The visible rows: [{node, label, depth}]. Folders that have nothing but one folder are one row with it.
    rows() {
        const rows = [];
        /** @type {[Iterator<Node>, number][]} */
        const stack = [[this.root.children?.values() ?? [].values(), 0]];
        for (let top; (top = stack.at(-1));) {
            const [children, depth] = top;
            const { value, done } = children.next();
            if (done) {
                stack.pop();
                continue;
            }
            let node = value, label = node.name;
            while (!node.item && node.children?.size === 1) {
                const only = node.children.values().next().value;
                if (!only.children) break;
                node = only;
                label += node.name;
            }
            rows.push({ node, label, depth });
            if (node.children && node.open) stack.push([node.children.values(), depth + 1]);
        }
        return rows;
    }

    // Opens the folders of an entry.
    reveal(uri) {
        /** @type {Node | undefined} */
        let node = this.root;
        for (const step of stepsOf(uri)) {
            if (!node) return;
            node.open = true;
            node = node.children?.get(keyOf(step));
        }
    }
}
