// changes_panel.js: the panel of subscriptions: what is watched, and what changed.

import { h, fill, line, button, say } from "./dom.js";
import { link } from "./view.js";

export function panel(app) {
    const watched = h("ul.plain"), log = h("tbody"), none = h("p.muted"), nothing = h("p.muted");
    const element = h("section.panel", {}, h("h2", {}, "Changes"), h("h3", {}, "Watched resources"), none, watched, h("h3", {}, "What the server said"), nothing,
        h("table.log", {}, h("thead", {}, h("tr", {}, ["Time", "What", "Resource"].map(t => h("th", { scope: "col" }, t)))), log));
    function update() {
        const uris = app.changes.watched;
        none.textContent = uris.length ? "" : "None. “Watch” beside a resource adds it here; the server then says when it changes.";
        fill(watched, uris.map(uri => h("li", {}, link(app, uri), " ", button("Stop watching", () => app.changes.toggle(uri).catch(e => say(e.message))))));
        const entries = app.changes.log.slice(-200).reverse();
        nothing.textContent = entries.length ? "" : "Nothing yet.";
        fill(log, entries.map(e => h("tr", {}, h("td", {}, new Date(e.at).toLocaleTimeString()), h("td", {}, line(e.text, 300)), h("td", {}, e.uri && link(app, e.uri)))));
    }
    app.changes.addEventListener("change", update);
    update();
    return { element, show: update };
}
