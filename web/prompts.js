// prompts.js: the panel of prompts: a form for the arguments, and the messages.

import { h, fill, line, prose } from "./dom.js";
import { catalogue } from "./catalogue.js";
import { asker, propose } from "./proposals.js";
import { showBlock } from "./view.js";
import { run } from "./run.js";

export const panel = app => catalogue(app, {
    what: "prompts", title: "Prompts", none: "This server offers no prompts.", second: p => p.description ?? "",
    show(prompt, place, arg) {
        const given = Array.isArray(prompt.arguments) ? prompt.arguments.filter(a => a && typeof a.name === "string").slice(0, 200) : [];
        const inputs = new Map();
        const values = () => Object.fromEntries([...inputs].filter(([, i]) => i.value !== "").map(([name, i]) => [name, i.value]));
        const fields = given.map((a, i) => {
            const input = h("input", { id: `argument-${i}`, autocomplete: "off", spellcheck: "false", required: Boolean(a.required) });
            input.value = arg?.arguments?.[a.name] ?? "";
            inputs.set(a.name, input);
            const field = h("div.field", {}, h("label", { for: input.id }, line(a.title ?? a.name, 200), a.required ? "" : h("span.hint", {}, " (optional)")), input,
                a.description && h("span.hint", {}, line(a.description, 500)));
            propose(input, asker(app, { type: "ref/prompt", name: prompt.name }, a.name, values));
            return field;
        });
        const course = h("div"), messages = h("div");
        fill(place, prompt.description && h("p.said", {}, prose(prompt.description)), h("form", { onsubmit: async e => {
            e.preventDefault();
            fill(messages);
            const result = await run(app, course, options => app.client.request("prompts/get", { name: prompt.name, arguments: values() }, options));
            if (!result) return;
            const list = Array.isArray(result.messages) ? result.messages.slice(0, 500) : [];
            fill(messages, result.description && h("p.muted", {}, line(result.description, 1000)), list.map(m =>
                h("section.card", {}, h("h3", {}, m?.role === "assistant" ? "Assistant" : "User"),
                    (Array.isArray(m?.content) ? m.content : [m?.content]).map(b => showBlock(app, b)))));
        } }, h("div.form", {}, fields), h("div.bar.wrap", {}, h("button.primary", { type: "submit" }, "Get the prompt"))), course, messages);
        if (!given.length) place.querySelector(".form").append(h("p.muted", {}, "It takes no arguments."));
    },
});
