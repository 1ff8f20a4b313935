// resources.js: the panel of resources: a list or a tree, a search, and a preview.

import { h, fill, line, bytes, button, cells, setText, pause, say, copy } from "./dom.js";
import { VirtualList, searchField } from "./vlist.js";
import { Tree } from "./tree.js";

const nameOf = item => line(item.title ?? item.name ?? item.uri ?? "?", 200);

export function panel(app) {
    const listing = app.listing("resources");
    const tree = new Tree();
    let mode = "tree", rows = [], found, query = "", run = 0;

    const state = h("span.muted");
    const toggle = h("button", { type: "button", "aria-pressed": "true", onclick: () => {
        mode = mode === "tree" ? "list" : "tree";
        toggle.setAttribute("aria-pressed", mode === "tree");
        update(false);
    } }, "Tree");
    const more = button("Read more", () => listing.next(), { hidden: true });
    const list = new VirtualList({ role: "tree", label: "Resources", row, open, key, click });
    const { input, look } = searchField({ label: "Search resources", list, lookup, open });
    const preview = h("div.preview", { tabIndex: -1 });
    const element = h("section.split", { "data-panel": "resources" },
        h("div.side", {}, h("div.bar", {}, input, toggle), list.element, h("div.bar.foot", {}, state, more)), preview);
    const intro = () => fill(preview, h("p.empty", {}, app.client.capabilities.resources
        ? "Choose a resource to see what it contains." : "This server offers no resources."));
    intro();

    const isTree = () => mode === "tree" && !query;
    const itemAt = i => query ? listing.items[found?.indexes[i]] : mode === "tree" ? rows[i]?.node.item : listing.items[i];

    function row(el, i) {
        const item = itemAt(i);
        const changed = item && app.changes.has(item.uri);
        el.classList.toggle("changed", Boolean(changed));
        if (isTree()) {
            const { node, label, depth } = rows[i];
            el.setAttribute("aria-level", depth + 1);
            if (node.children) el.setAttribute("aria-expanded", node.open);
            else el.removeAttribute("aria-expanded");
            const [indent, twist, name, meta] = cells(el, "indent twist name meta");
            indent.style.width = `${Math.min(depth, 20) * 14}px`;
            twist.ariaHidden = "true";
            setText(twist, node.children ? node.open ? "▾" : "▸" : "");
            name.title = line(item?.uri ?? label, 500);
            setText(name, node.item?.title ? nameOf(node.item) : decode(label));
            setText(meta, item ? bytes(item.size) : "");
            return;
        }
        el.removeAttribute("aria-expanded");
        el.removeAttribute("aria-level");
        const [name, uri, meta] = cells(el, "name uri meta");
        name.title = line(item?.uri, 500);
        setText(name, item ? nameOf(item) : "");
        setText(uri, line(item?.uri, 300));
        setText(meta, bytes(item?.size));
    }

    function decode(label) {
        try {
            return line(decodeURIComponent(label), 200);
        } catch {
            return line(label, 200);
        }
    }

    function fold(i, isOpen) {
        const { node } = rows[i];
        node.open = isOpen;
        node.closed = !open;
        update();
        list.select(i);
    }

    function key(event, i) {
        if (!isTree()) return false;
        const { node, depth } = rows[i];
        if (event.key === "ArrowRight" && node.children) {
            if (!node.open) fold(i, true);
            else if (i + 1 < rows.length) list.select(i + 1);
            return true;
        }
        if (event.key === "ArrowLeft") {
            if (node.children && node.open) fold(i, false);
            else for (let up = i - 1; up >= 0; up--) {
                if (rows[up].depth >= depth) continue;
                list.select(up);
                break;
            }
            return true;
        }
        return false;
    }

    function click(event, i) {
        if (!isTree() || !rows[i].node.children) return false;
        if (rows[i].node.item && !event.target.closest(".twist")) return false;
        fold(i, !rows[i].node.open);
        return true;
    }

    function open(i) {
        const item = itemAt(i);
        if (item) read(item.uri, item);
        else if (isTree()) fold(i, !rows[i].node.open);
    }

    async function lookup() {
        query = input.value.trim();
        const mine = ++run;
        if (!query) {
            found = undefined;
            update(false);
            return;
        }
        const { search } = await import("./fuzzy.js");
        await pause();
        const result = await search(listing.items.length, i => listing.textAt(i), query, () => mine !== run, pause);
        if (!result || mine !== run) return;
        const first = !found || found.query !== query;
        found = { ...result, query };
        update(!first);
    }

    let scheduled = false;
    function update(keep = true) {
        list.element.setAttribute("role", isTree() ? "tree" : "listbox");
        list.rowRole(isTree() ? "treeitem" : "option");
        if (isTree()) {
            tree.grow(listing.items);
            rows = tree.rows();
        }
        list.resize(query ? found?.indexes.length ?? 0 : isTree() ? rows.length : listing.items.length, keep);
        more.hidden = listing.complete || listing.loading || !app.client.capabilities.resources;
        state.textContent = query ? `${(found?.total ?? 0).toLocaleString("en")} of ${listing.state}` : `Resources: ${listing.state}`;
        element.dataset.count = listing.items.length;
        element.dataset.complete = listing.complete;
    }
    const later = () => {
        if (scheduled) return;
        if (!query && list.count === 0) {
            update(); // the first ones at once
            return;
        }
        scheduled = true;
        setTimeout(() => {
            scheduled = false;
            if (query) look();
            else update();
        }, listing.items.length < 2000 ? 0 : 250);
    };
    listing.addEventListener("more", later);
    listing.addEventListener("more", () => {
        if ((listing.complete || listing.error) && !listing.items.length) explain();
    });
    // An empty list, or none, can be that of a server that does not start. The program knows why.
    async function explain() {
        if (app.config.mode !== "mcpctl") return;
        const about = await app.program("/web/about").catch(() => undefined);
        const problems = (about?.servers ?? []).filter(s => s.problem);
        if (problems.length) fill(preview, problems.map(s => h("div", { role: "alert" }, h("h2", {}, line(s.title || s.name, 200)), h("p.error", {}, line(s.problem, 1000)))),
            h("div.bar", {}, button("Try again", () => listing.reload()), problems.some(s => s.login !== "none") && button("Log in…", () => app.open("server"))));
    }
    listing.addEventListener("restart", () => {
        tree.restart();
        later();
    });
    app.changes.addEventListener("change", () => list.refresh());

    let reading;
    async function read(uri, item) {
        reading?.abort();
        const mine = reading = new AbortController();
        element.classList.add("reading");
        fill(preview, h("p.empty", {}, "Reading…"), button("Cancel", () => mine.abort(new Error("cancelled"))));
        try {
            const before = performance.now();
            const [result, view] = await Promise.all([app.read(uri, mine.signal), import("./view.js")]);
            if (mine !== reading) return;
            app.changes.seen(uri);
            draw(uri, item, result, performance.now() - before, view);
        } catch (error) {
            if (mine === reading) fill(preview, head(uri, item), h("p.error", { role: "alert" }, line(error.message, 1000)));
        }
        preview.focus({ preventScroll: true });
    }

    function head(uri, item) {
        const watch = button(app.changes.watches(uri) ? "Stop watching" : "Watch", async () => {
            try {
                await app.changes.toggle(uri);
            } catch (error) {
                say(error.message);
            }
            watch.textContent = app.changes.watches(uri) ? "Stop watching" : "Watch";
        });
        const mark = button(app.context.has(uri) ? "Remove from context" : "Add to context", () => {
            app.context.toggle(uri, item);
            mark.textContent = app.context.has(uri) ? "Remove from context" : "Add to context";
        });
        return h("header", {},
            h("div.bar", {}, button("‹ List", () => {
                element.classList.remove("reading");
                list.element.focus();
            }, { class: "back" }), h("h2", {}, item ? nameOf(item) : line(uri, 200))),
            h("p.address", {}, line(uri, 2000)),
            item?.description && h("p.muted", {}, line(item.description, 1000)),
            h("div.bar.wrap", {}, button("Read again", () => read(uri, item)), app.client.capabilities.resources?.subscribe && watch, mark,
                button("Copy URI", () => copy(uri))));
    }

    function draw(uri, item, result, took, { showContents }) {
        const contents = Array.isArray(result.contents) ? result.contents : [];
        fill(preview, head(uri, item));
        if (!contents.length) preview.append(h("p.empty", {}, "The resource is empty."));
        for (const content of contents) preview.append(showContents(app, content ?? {}, contents.length > 1));
        say(`Read in ${Math.round(took)} ms.`);
        preview.scrollTop = 0;
    }

    if (app.client.capabilities.resources) listing.load();
    update();
    return {
        element,
        // Shows a resource, or the list.
        show(uri) {
            if (uri) {
                input.value = "";
                look();
                tree.reveal(uri);
                update();
                read(uri, listing.items.find(i => i.uri === uri));
            }
        },
        focus: () => input.focus(),
    };
}
