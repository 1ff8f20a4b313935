// templates.js: the panel of resource templates: a form for the variables, and the resource that they lead to.

import { h, fill, line, prose } from "./dom.js";
import { catalogue } from "./catalogue.js";
import { asker, propose } from "./proposals.js";
import { variablesOf, expand } from "./uri_template.js";

export const panel = app => catalogue(app, {
    what: "templates", title: "Templates", none: "This server offers no templates.", second: t => t.uriTemplate ?? "",
    show(template, place) {
        const pattern = String(template.uriTemplate ?? "").slice(0, 4000);
        const inputs = new Map();
        const values = () => Object.fromEntries([...inputs].filter(([, i]) => i.value !== "").map(([name, i]) => [name, i.value]));
        const uri = h("p.address.big", { "aria-live": "polite" });
        const update = () => { uri.textContent = line(expand(pattern, values()), 4000); };
        const fields = variablesOf(pattern).map((name, i) => {
            const input = h("input", { id: `variable-${i}`, autocomplete: "off", spellcheck: "false", oninput: update });
            inputs.set(name, input);
            const field = h("div.field", {}, h("label", { for: input.id }, line(name, 200)), input);
            propose(input, asker(app, { type: "ref/resource", uri: template.uriTemplate }, name, values));
            return field;
        });
        update();
        fill(place, h("p.address", {}, line(pattern, 1000)), template.description && h("p.said", {}, prose(template.description)),
            h("form", { onsubmit: e => {
                e.preventDefault();
                app.open("resources", expand(pattern, values()));
            } }, h("div.form", {}, fields), uri, h("div.bar.wrap", {}, h("button.primary", { type: "submit" }, "Read"))));
    },
});
