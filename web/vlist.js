// vlist.js: a list of any length, of which only the visible rows are elements.

import { h } from "./dom.js";

const HIGHEST = 16_000_000; // pixels; browsers limit the height of elements

// Options: row(element, index) fills an element for a row; open(index) on Enter or a click; key(event, index) returns
// true if it handled a key; label; role ("listbox" or "tree"); height of a row in pixels.
export class VirtualList {
    element;
    count = 0;
    active = -1;
    #rows = new Map();
    #spare = [];
    #space;
    #options;
    #height;
    #drawing = false;
    #rowRole = "option";
    #id;
    static #lists = 0;

    constructor(options) {
        this.#options = options;
        this.#height = options.height ?? 28;
        this.#id = `list${++VirtualList.#lists}`;
        this.#space = h("div.space", { role: "presentation" });
        this.element = h(`div.vlist${options.className ? `.${options.className}` : ""}`, {
            role: options.role ?? "listbox", tabIndex: 0, "aria-label": options.label,
            onscroll: () => this.draw(),
            onkeydown: e => this.#key(e),
            onclick: e => this.#click(e),
            onfocus: () => { if (this.active < 0 && this.count) this.select(this.#first(), false); },
        }, this.#space);
        this.#space.style.position = "relative";
        new ResizeObserver(() => this.draw()).observe(this.element);
    }

    // Sets the number of rows. `keep` is false if the rows are others than before.
    resize(count, keep = true) {
        this.count = Math.min(count, Math.floor(HIGHEST / this.#height));
        this.#space.style.height = `${this.count * this.#height}px`;
        if (!keep) {
            this.active = -1;
            this.element.scrollTop = 0;
        }
        if (this.active >= this.count) this.active = this.count - 1;
        this.refresh();
    }

    // Sets the role of rows: "option" or "treeitem".
    rowRole(role) {
        if (role === this.#rowRole) return;
        this.#rowRole = role;
        for (const element of this.#space.children) element.setAttribute("role", role);
    }

    // Draws all visible rows again.
    refresh() {
        for (const element of this.#rows.values()) element.dataset.stale = "1";
        this.draw();
    }

    #first() {
        return Math.min(this.count - 1, Math.ceil(this.element.scrollTop / this.#height));
    }

    // The rows are drawn with the next frame, once for all reasons to do it.
    draw() {
        if (this.#drawing) return;
        this.#drawing = true;
        requestAnimationFrame(() => {
            this.#drawing = false;
            this.#draw();
        });
    }

    #draw() {
        const top = this.element.scrollTop;
        const first = Math.max(0, Math.floor(top / this.#height) - 5);
        const last = Math.min(this.count, Math.ceil((top + this.element.clientHeight) / this.#height) + 5);
        for (const [index, element] of this.#rows) {
            if (index >= first && index < last) continue;
            this.#rows.delete(index);
            if (this.#spare.length < 40) {
                element.hidden = true;
                this.#spare.push(element);
            } else {
                element.remove();
            }
        }
        for (let i = first; i < last; i++) this.#place(i);
        const active = this.#rows.get(this.active);
        if (active) this.element.setAttribute("aria-activedescendant", active.id);
        else this.element.removeAttribute("aria-activedescendant");
    }

    #place(index) {
        let element = this.#rows.get(index);
        if (!element) {
            element = this.#spare.pop() ?? this.#space.appendChild(h("div.row", { role: this.#rowRole }));
            element.hidden = false;
            element.dataset.stale = "1";
            element.style.transform = `translateY(${index * this.#height}px)`;
            this.#rows.set(index, element);
        }
        if (element.dataset.stale) {
            delete element.dataset.stale;
            element.id = `${this.#id}-${index}`;
            element.dataset.index = index;
            element.setAttribute("aria-setsize", this.count);
            element.setAttribute("aria-posinset", index + 1);
            this.#options.row(element, index);
        }
        element.setAttribute("aria-selected", index === this.active);
        element.classList.toggle("active", index === this.active);
    }

    select(index, scroll = true) {
        if (!this.count) return;
        this.active = Math.max(0, Math.min(this.count - 1, index));
        if (scroll) this.show(this.active);
        this.draw();
        this.#options.select?.(this.active);
    }

    show(index) {
        const top = index * this.#height;
        if (top < this.element.scrollTop) this.element.scrollTop = top;
        else if (top + this.#height > this.element.scrollTop + this.element.clientHeight)
            this.element.scrollTop = top + this.#height - this.element.clientHeight;
    }

    #key(event) {
        if (event.ctrlKey || event.altKey || event.metaKey || event.target !== this.element) return;
        if (this.active >= 0 && this.#options.key?.(event, this.active)) {
            event.preventDefault();
            return;
        }
        const page = Math.max(1, Math.floor(this.element.clientHeight / this.#height) - 1);
        const to = { ArrowDown: this.active + 1, ArrowUp: this.active - 1, PageDown: this.active + page,
                     PageUp: this.active - page, Home: 0, End: this.count - 1 }[event.key];
        if (to !== undefined) this.select(to);
        else if (event.key === "Enter" && this.active >= 0) this.#options.open?.(this.active);
        else return;
        event.preventDefault();
    }

    #click(event) {
        const row = event.target.closest(".row");
        if (!row) return;
        const index = Number(row.dataset.index);
        this.select(index, false);
        if (!this.#options.click?.(event, index)) this.#options.open?.(index);
    }
}

// The search field above a list: {input, look}. Options: label; list; lookup(), which fills the list and returns a promise;
// open(index). look() searches again. ArrowDown goes to the list, and Enter opens its first row; both wait for the search.
export function searchField({ label, list, lookup, open }) {
    let looking;
    const look = () => looking = lookup();
    async function looked() {
        for (let last; last !== looking;) await (last = looking);
    }
    const input = h("input", { type: "search", "aria-label": label, placeholder: "Search ( / )", spellcheck: "false", autocomplete: "off",
        oninput: look, onkeydown: async e => {
            if (e.key !== "ArrowDown" && e.key !== "Enter") return;
            e.preventDefault();
            await looked();
            list.element.focus();
            if (list.count) list.select(0);
            if (e.key === "Enter" && list.count) open(0);
        } });
    return { input, look };
}
