// uri_template.js: URI templates (RFC 6570), expanded with texts; a value of a variable with "*" is a list with commas.

const OPERATORS = { "": ["", ",", false, "", false], "+": ["", ",", false, "", true], "#": ["#", ",", false, "", true], ".": [".", ".", false, "", false],
                    "/": ["/", "/", false, "", false], ";": [";", ";", true, "", false], "?": ["?", "&", true, "=", false], "&": ["&", "&", true, "=", false] };

function expressions(template) {
    return [...template.matchAll(/\{([+#./;?&]?)([^{}]*)\}/g)].map(m => ({ text: m[0], at: m.index, operator: m[1], variables: m[2].split(",").map(v => {
        const [, name, explode, prefix] = /^([^*:]*)(\*)?(?::(\d+))?$/.exec(v) ?? [undefined, v];
        return { name, explode: Boolean(explode), prefix: prefix && Number(prefix) };
    }) }));
}

export const variablesOf = template => [...new Set(expressions(template).flatMap(e => e.variables.map(v => v.name)))].filter(Boolean).slice(0, 100);

function encode(text, reserved) {
    const plain = reserved ? /[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=]/ : /[A-Za-z0-9\-._~]/;
    return [...text].map((c, i, all) => plain.test(c) || reserved && c === "%" && /^[0-9a-f]{2}/i.test((all[i + 1] ?? "") + (all[i + 2] ?? "")) ? c
        : [...new TextEncoder().encode(c)].map(b => `%${b.toString(16).toUpperCase().padStart(2, "0")}`).join("")).join("");
}

// `values` are texts by name; variables without one are left out.
export function expand(template, values) {
    let result = "", end = 0;
    for (const { text, at, operator, variables } of expressions(template)) {
        result += template.slice(end, at);
        end = at + text.length;
        const [first, separator, named, ifEmpty, reserved] = OPERATORS[operator];
        const parts = [];
        for (const { name, explode, prefix } of variables) {
            if (!Object.hasOwn(values, name)) continue;
            const value = prefix ? [...values[name]].slice(0, prefix).join("") : values[name];
            const items = explode ? value.split(",") : [value];
            for (const item of items) {
                const encoded = encode(item, reserved);
                parts.push(named ? `${name}${encoded === "" ? ifEmpty : `=${encoded}`}` : encoded);
            }
        }
        if (parts.length) result += first + parts.join(separator);
    }
    return result + template.slice(end);
}
