// form.js: forms made of JSON schemas: nested objects, arrays, enumerations, unions, defaults. What a schema says beyond
// that is left to the check of the whole value; a part that no form can express is typed as JSON.

import { h, fill, line, button, newId } from "./dom.js";

const DEEPEST = 8;
const MOST_FIELDS = 500;
const LONG = /^(text|content|contents|body|query|sql|message|code|prompt|markdown|script|description)$/i;
const INPUTS = { date: "date", email: "email", uri: "url", time: "time" };

const isObject = v => v !== null && typeof v === "object" && !Array.isArray(v);

// Follows $ref within the document, and merges allOf.
function resolve(schema, root, depth = 0) {
    if (!isObject(schema) || depth > 16) return {};
    let s = schema;
    if (typeof s.$ref === "string" && s.$ref.startsWith("#")) {
        let target = root;
        for (const step of s.$ref.slice(1).split("/").slice(1))
            target = isObject(target) || Array.isArray(target) ? target[decodeURIComponent(step).replace(/~1/g, "/").replace(/~0/g, "~")] : undefined;
        const { $ref: _, ...rest } = s;
        s = { ...resolve(target, root, depth + 1), ...rest };
    }
    if (Array.isArray(s.allOf)) {
        const { allOf, ...rest } = s;
        s = allOf.map(p => resolve(p, root, depth + 1)).reduce((a, b) => ({ ...a, ...b, properties: { ...a.properties, ...b.properties },
            required: [...(a.required ?? []), ...(b.required ?? [])] }), rest);
    }
    return s;
}

const titled = list => Array.isArray(list) && list.length > 0 && list.every(o => isObject(o) && "const" in o);

// Returns the values to choose from as [[value, title]], or undefined.
function choices(s) {
    if (Array.isArray(s.enum)) return s.enum.map((v, i) => [v, s.enumNames?.[i] ?? textOf(v)]);
    for (const list of [s.oneOf, s.anyOf]) if (titled(list)) return list.map(o => [o.const, o.title ?? textOf(o.const)]);
    if ("const" in s) return [[s.const, textOf(s.const)]];
    return undefined;
}

const textOf = v => typeof v === "string" ? v : JSON.stringify(v);

function alternatives(s) {
    const union = s.anyOf ?? s.oneOf;
    if (Array.isArray(union) && union.length) {
        const { anyOf: _, oneOf: __, ...rest } = s;
        return union.map(u => ({ ...rest, ...u }));
    }
    if (Array.isArray(s.type)) return s.type.map(type => ({ ...s, type }));
    return undefined;
}

const kindOf = s => s.type ?? (isObject(s.properties) ? "object" : s.items ? "array" : undefined);

// Each maker returns {element, read(errors)}; read() returns undefined if there is no value.
class Form {
    root;
    fields = 0;
    proposals;

    constructor(root, proposals) {
        this.root = root;
        this.proposals = proposals;
    }

    field(name, schema, value, required, depth) {
        if (++this.fields > MOST_FIELDS || depth > DEEPEST) return this.json(name, {}, value, required);
        const s = resolve(schema, this.root);
        if (value === undefined) value = s.default;
        const options = choices(s);
        if (options) return this.choice(name, s, options, value, required);
        const union = alternatives(s);
        if (union) return union.length === 1 ? this.field(name, union[0], value, required, depth + 1) : this.union(name, s, union, value, required, depth);
        switch (kindOf(s)) {
        case "string": return this.text(name, s, value, required);
        case "integer":
        case "number": return this.number(name, s, value, required);
        case "boolean": return this.boolean(name, s, value, required);
        case "null": return { element: this.frame(name, s, h("span.muted", {}, "null"), required).element, read: () => null };
        case "array": return this.array(name, s, value, required, depth);
        case "object": return this.object(name, s, value, required, depth);
        default: return this.json(name, s, value, required);
        }
    }

    // The label, the hint and the place for a fault around an input.
    frame(name, s, input, required, check = false) {
        const id = input.id || (input.id = newId("field"));
        const hint = h("span.hint", { id: `${id}-hint` }, line(s.description, 500));
        const fault = h("span.fault", { id: `${id}-fault`, role: "alert" });
        input.setAttribute("aria-describedby", `${id}-hint ${id}-fault`);
        const label = h("label", { for: id }, line(s.title ?? name, 200), required ? "" : h("span.hint", {}, " (optional)"));
        const element = h(check ? "div.field.check" : "div.field", {}, check ? [input, label] : [label, input], s.description && hint, fault);
        const complain = (errors, text) => {
            errors.push(`${line(s.title ?? name, 100)}: ${text}`);
            fault.textContent = text;
            input.classList.add("invalid");
            input.setAttribute("aria-invalid", "true");
        };
        const clear = () => {
            fault.textContent = "";
            input.classList.remove("invalid");
            input.removeAttribute("aria-invalid");
        };
        return { element, complain, clear };
    }

    input(name, s, input, required, parse) {
        const { element, complain, clear } = this.frame(name, s, input, required);
        const read = errors => {
            clear();
            // An empty text is a value only if something was typed and removed, or the schema wants one.
            if (input.value === "" && !(input.dataset.touched && kindOf(s) === "string" && !required)) {
                if (required && !(kindOf(s) === "string" && !(s.minLength > 0))) complain(errors, "a value is needed");
                return required && kindOf(s) === "string" ? "" : undefined;
            }
            if (input.value === "") return undefined;
            try {
                return parse(input.value);
            } catch (error) {
                complain(errors, error.message);
                return undefined;
            }
        };
        return { element, read, input };
    }

    text(name, s, value, required) {
        const long = s.maxLength > 200 || s.contentMediaType || LONG.test(name ?? "") || typeof value === "string" && value.includes("\n");
        const input = long ? h("textarea", { rows: 4 }) : h("input", { type: INPUTS[s.format] ?? "text", autocomplete: "off", spellcheck: "false" });
        input.value = typeof value === "string" ? value : "";
        if (s.format === "date-time") input.placeholder = "2026-01-31T12:00:00Z";
        else if (s.examples?.length) input.placeholder = line(textOf(s.examples[0]), 60);
        if (this.proposals && !long) this.proposals(name, input);
        return this.input(name, s, input, required, text => {
            const n = [...text].length;
            if (n < s.minLength) throw new Error(`at least ${s.minLength} characters are needed`);
            if (n > s.maxLength) throw new Error(`at most ${s.maxLength} characters are allowed`);
            if (s.format === "date-time" && Number.isNaN(Date.parse(text))) throw new Error("this is not a date and time");
            if (input.validity?.typeMismatch) throw new Error(`this is not ${s.format === "email" ? "an email address" : "an address (URL)"}`);
            return text;
        });
    }

    number(name, s, value, required) {
        const input = h("input", { type: "text", inputmode: kindOf(s) === "integer" ? "numeric" : "decimal", autocomplete: "off" });
        input.value = typeof value === "number" ? String(value) : "";
        return this.input(name, s, input, required, text => {
            const n = Number(text);
            if (!Number.isFinite(n)) throw new Error("this is not a number");
            if (kindOf(s) === "integer" && !Number.isInteger(n)) throw new Error("this is not a whole number");
            if (n < s.minimum) throw new Error(`at least ${s.minimum}`);
            if (n > s.maximum) throw new Error(`at most ${s.maximum}`);
            return n;
        });
    }

    boolean(name, s, value, required) {
        if (!required && value === undefined) return this.choice(name, s, [[true, "yes"], [false, "no"]], value, required);
        const input = h("input", { type: "checkbox", checked: value === true });
        return { element: this.frame(name, s, input, true, true).element, read: () => input.checked };
    }

    choice(name, s, options, value, required) {
        const at = options.findIndex(([v]) => JSON.stringify(v) === JSON.stringify(value));
        const select = h("select", {}, (at < 0 || !required) && h("option", { value: "" }, required ? "Choose…" : "—"),
            options.slice(0, 5000).map(([, title], i) => h("option", { value: i }, line(title, 200))));
        select.value = at < 0 ? "" : String(at);
        if (required && options.length === 1) select.value = "0";
        const { element, complain, clear } = this.frame(name, s, select, required);
        return { element, read: errors => {
            clear();
            if (select.value !== "") return options[Number(select.value)][0];
            if (required) complain(errors, "choose a value");
            return undefined;
        } };
    }

    union(name, s, union, value, required, depth) {
        const resolved = union.map(u => resolve(u, this.root));
        const titles = resolved.map((u, i) => u.title && u.title !== s.title ? u.title : kindOf(u) === "object" && isObject(u.properties)
            ? Object.entries(u.properties).find(([, p]) => isObject(p) && "const" in p)?.[1].const ?? `{ ${Object.keys(u.properties).slice(0, 3).join(", ")} }`
            : choices(u) ? "one of a list" : kindOf(u) ?? `form ${i + 1}`);
        const select = h("select", {}, !required && h("option", { value: "" }, "—"), titles.map((t, i) => h("option", { value: i }, line(textOf(t), 100))));
        const place = h("div.form");
        const { element } = this.frame(name, s, select, required);
        element.append(place);
        let chosen;
        const show = v => {
            chosen = select.value === "" ? undefined : this.field(undefined, { ...resolved[Number(select.value)], title: titles[Number(select.value)] }, v, true, depth + 1);
            fill(place, chosen?.element);
        };
        select.addEventListener("change", () => show(undefined));
        const fits = value === undefined ? -1 : resolved.findIndex(u => fitsType(kindOf(u), value));
        select.value = fits >= 0 ? String(fits) : required ? "0" : "";
        show(value);
        return { element, read: errors => chosen?.read(errors) };
    }

    array(name, s, value, required, depth) {
        const item = resolve(s.items, this.root);
        const options = choices(item);
        if (options && options.length <= 50) return this.several(name, s, options, value, required);
        const list = h("div.form");
        const items = [];
        const addOne = v => {
            const field = this.field(undefined, { title: `${line(s.title ?? name ?? "item", 60)}`, ...item }, v, true, depth + 1);
            const row = h("div.bar", {}, h("div.grow", {}, field.element), button("Remove", () => {
                items.splice(items.indexOf(field), 1);
                row.remove();
            }));
            items.push(field);
            list.append(row);
        };
        for (const v of Array.isArray(value) ? value.slice(0, 100) : []) addOne(v);
        for (let i = items.length; i < Math.min(s.minItems ?? 0, 20); i++) addOne();
        const fault = h("span.fault", { role: "alert" });
        const element = h("fieldset", {}, this.legend(name, s, required), list, button("Add", () => {
            addOne();
            list.lastChild.querySelector("input, textarea, select")?.focus();
        }), fault);
        return { element, read: errors => {
            fault.textContent = "";
            if (!items.length && !required) return undefined;
            const values = items.map(i => i.read(errors));
            if (values.length < s.minItems || values.length > s.maxItems) {
                fault.textContent = values.length < s.minItems ? `at least ${s.minItems} are needed` : `at most ${s.maxItems} are allowed`;
                errors.push(`${line(s.title ?? name, 100)}: ${fault.textContent}`);
            }
            return values;
        } };
    }

    several(name, s, options, value, required) {
        const boxes = options.map(([v, title]) => {
            const box = h("input", { type: "checkbox", id: newId("box"), checked: Array.isArray(value) && value.some(x => JSON.stringify(x) === JSON.stringify(v)) });
            return [box, v, h("div.bar", {}, box, h("label", { for: box.id }, line(title, 200)))];
        });
        const fault = h("span.fault", { role: "alert" });
        return { element: h("fieldset", {}, this.legend(name, s, required), boxes.map(b => b[2]), fault), read: errors => {
            fault.textContent = "";
            const values = boxes.filter(([box]) => box.checked).map(([, v]) => v);
            if (!values.length && !required) return undefined;
            if (values.length < s.minItems || values.length > s.maxItems) {
                fault.textContent = values.length < s.minItems ? `choose at least ${s.minItems}` : `choose at most ${s.maxItems}`;
                errors.push(`${line(s.title ?? name, 100)}: ${fault.textContent}`);
            }
            return values;
        } };
    }

    legend(name, s, required) {
        return [h("legend", {}, line(s.title ?? name ?? "", 200), required ? "" : h("span.hint", {}, " (optional)")), s.description && h("span.hint", {}, line(s.description, 500))];
    }

    members(s, value, depth) {
        const required = new Set(Array.isArray(s.required) ? s.required : []);
        const fields = Object.entries(isObject(s.properties) ? s.properties : {})
            .map(([key, schema]) => [key, this.field(key, schema, isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined, required.has(key), depth + 1)]);
        const open = isObject(s.additionalProperties) && Object.keys(s.additionalProperties).length > 0 || s.additionalProperties === true && !fields.length;
        const known = new Set(fields.map(f => f[0]));
        const extra = isObject(value) ? Object.fromEntries(Object.entries(value).filter(([k]) => !known.has(k))) : {};
        const other = open || Object.keys(extra).length ? this.json("Other members", { description: "A JSON object" }, Object.keys(extra).length ? extra : undefined, false) : undefined;
        return { elements: [...fields.map(f => f[1].element), other?.element].filter(Boolean), read: errors => {
            const result = {};
            for (const [key, field] of [...fields]) {
                const v = field.read(errors);
                if (v !== undefined) Object.defineProperty(result, key, { value: v, enumerable: true, configurable: true, writable: true });
            }
            const rest = other?.read(errors);
            return isObject(rest) ? { ...result, ...rest } : result;
        } };
    }

    object(name, s, value, required, depth) {
        if (!isObject(s.properties) && s.additionalProperties === undefined) return this.json(name, { ...s, description: s.description ?? "A JSON object" }, value, required);
        const { elements, read } = this.members(s, value, depth);
        return { element: h("fieldset", {}, this.legend(name, s, required), elements), read: errors => {
            if (required) return read(errors);
            const found = read([]);
            return Object.keys(found).length ? read(errors) : undefined;
        } };
    }

    json(name, s, value, required) {
        const input = h("textarea", { rows: 3, spellcheck: "false", placeholder: "JSON" });
        input.value = value === undefined ? "" : JSON.stringify(value, null, 2);
        return this.input(name ?? "Value", s, input, required, text => {
            try {
                return JSON.parse(text);
            } catch {
                throw new Error("this is not JSON");
            }
        });
    }
}

function fitsType(type, value) {
    switch (type) {
    case "null": return value === null;
    case "array": return Array.isArray(value);
    case "object": return isObject(value);
    case "integer": return Number.isInteger(value);
    case undefined: return false;
    default: return typeof value === type;
    }
}

// A form for an object. `proposals(name, input)` may attach proposals to an input.
export function schemaForm(schema, value, proposals) {
    const form = new Form(schema, proposals);
    const s = resolve(schema, schema);
    const { elements, read } = form.members(s, value, 0);
    return {
        element: h("div.form", {}, elements),
        empty: !elements.length,
        read: () => {
            const errors = [];
            return { value: read(errors), errors };
        },
    };
}
