// proposals.js: values that the server proposes for an argument (completion/complete), as one types.

import { h, fill, line, newId } from "./dom.js";

// Attaches a list of proposals to an input. `ask(value)` returns the proposed values, or throws.
export function propose(input, ask) {
    const list = h("datalist", { id: newId("proposals") });
    input.setAttribute("list", list.id);
    let run = 0, timer;
    const look = async () => {
        const mine = ++run;
        try {
            const values = await ask(input.value);
            if (mine === run) fill(list, values.slice(0, 100).map(v => h("option", { value: line(v, 500) })));
        } catch {
            // without proposals one can still type
        }
    };
    input.addEventListener("focus", () => { if (!list.firstChild) look(); });
    input.addEventListener("input", () => {
        clearTimeout(timer);
        timer = setTimeout(look, 120);
    });
    input.after(list);
    return list;
}

// Proposals for an argument of a prompt or a template. `others()` returns the arguments that are filled in.
export const asker = (app, ref, name, others) => async value => {
    if (!app.client.capabilities.completions) return [];
    const known = { ...others() };
    delete known[name];
    const result = await app.client.request("completion/complete", { ref, argument: { name, value },
        ...(Object.keys(known).length && { context: { arguments: known } }) });
    return (Array.isArray(result.completion?.values) ? result.completion.values : []).filter(v => typeof v === "string");
};
