// catalogue.js: a list with a search and a place for the chosen entry, for tools, prompts and templates.

import { h, fill, line, button, cells, setText, pause } from "./dom.js";
import { VirtualList, searchField } from "./vlist.js";
import { search } from "./fuzzy.js";

// Options: what (the listing), title, none (the text if there are none), second(item) (the second line), show(item, place).
export function catalogue(app, { what, title, none, second, show }) {
    const listing = app.listing(what);
    const offered = what === "templates" ? app.client.capabilities.resources : app.client.capabilities[what];
    let found, query = "", run = 0;
    const state = h("span.muted");
    const more = button("Read more", () => listing.next(), { hidden: true });
    const itemAt = i => listing.items[query ? found?.indexes[i] : i];
    const nameOf = item => line(item.title ?? item.annotations?.title ?? item.name ?? "?", 200);
    const list = new VirtualList({ label: title, height: 46, className: "two", open, row: (el, i) => {
        const item = itemAt(i);
        if (!item) return;
        const [name, about] = cells(el, "name uri");
        name.title = line(item.name, 300);
        setText(name, nameOf(item));
        setText(about, line(second(item), 200));
    } });
    const { input, look } = searchField({ label: `Search ${title.toLowerCase()}`, list, lookup, open });
    const place = h("div.preview", { tabIndex: -1 });
    const element = h("section.split", { "data-panel": what }, h("div.side", {}, h("div.bar", {}, input), list.element, h("div.bar.foot", {}, state, more)), place);
    fill(place, h("p.empty", {}, offered ? `Choose one of the ${title.toLowerCase()}.` : none));

    function open(i) {
        const item = itemAt(i);
        if (item) display(item);
    }
    function display(item, arg) {
        element.classList.add("reading");
        fill(place, h("header", {}, h("div.bar", {}, button("‹ List", () => {
            element.classList.remove("reading");
            list.element.focus();
        }, { class: "back" }), h("h2", {}, nameOf(item))), item.title && item.name && item.title !== item.name && h("p.address", {}, line(item.name, 300))));
        const body = h("div");
        place.append(body);
        show(item, body, arg);
        place.scrollTop = 0;
    }
    async function lookup() {
        query = input.value.trim();
        const mine = ++run;
        if (query) {
            await pause();
            const result = await search(listing.items.length, i => listing.textAt(i), query, () => mine !== run, pause);
            if (!result || mine !== run) return;
            found = result;
        }
        update(false);
    }
    function update(keep = true) {
        list.resize(query ? found?.indexes.length ?? 0 : listing.items.length, keep);
        more.hidden = listing.complete || listing.loading || !offered;
        state.textContent = query ? `${found?.total ?? 0} of ${listing.state}` : `${title}: ${listing.state}`;
    }
    let scheduled = false;
    const later = () => {
        if (scheduled) return;
        scheduled = true;
        setTimeout(() => {
            scheduled = false;
            if (query) look();
            else update();
        }, listing.items.length < 2000 ? 0 : 250);
    };
    listing.addEventListener("more", later);
    listing.addEventListener("restart", later);
    if (offered) listing.load();
    update();
    return { element, display, show: arg => { if (arg) display(arg.item, arg); }, focus: () => input.focus() };
}
