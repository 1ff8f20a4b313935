// form.js: forms made of JSON schemas: nested objects, arrays, enumerations, unions, defaults. The browser checks what
// inputs can express; what a schema says beyond that is left to the server, whose faults are shown at their fields. A
// part that no form can express is typed as JSON.

import { h, fill, line, button, newId } from "./dom.js";

const DEEPEST = 8;
const MOST_FIELDS = 500;
const LONG = /^(text|content|contents|body|query|sql|message|code|prompt|markdown|script|description)$/i;
const INPUTS = { date: "date", "date-time": "datetime-local", email: "email", uri: "url" };
const MOST_MATCHED = 100; // characters of a pattern, and of a text that is matched
const MOST_CHOICES = 3; // of a pattern

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

// The pattern of a text, or undefined if a match could keep the page busy: then only the server matches it. The attribute
// of HTML is not used, because it is anchored, of another dialect, and for texts of any length.
export function patternOf(pattern) {
    if (typeof pattern !== "string" || pattern.length > MOST_MATCHED || /\)[*+{?]/.test(pattern) ||
        pattern.replaceAll("(?", "(").replace(/[^*+?{|]/g, "").length > MOST_CHOICES) return undefined;
    try {
        return new RegExp(pattern, "u");
    } catch {
        return undefined;
    }
}

const kindOf = s => s.type ?? (isObject(s.properties) ? "object" : s.items ? "array" : undefined);

// Each maker returns {element, read(errors), complain(text), inside(step)}: read() returns undefined if there is no value,
// complain() shows a fault, and inside() returns the field of a member or an item. With null for `errors`, read() shows none.
class Form {
    root;
    fields = 0;
    clear = []; // functions that remove the faults

    constructor(root) {
        this.root = root;
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
        case "null": return { ...this.frame(name, s, h("span.muted", {}, "null"), required), read: () => null };
        case "array": return this.array(name, s, value, required, depth);
        case "object": return this.object(name, s, value, required, depth);
        default: return this.json(name, s, value, required);
        }
    }

    // Returns complain(), which shows a text at `place`.
    complainer(title, place, input) {
        const mark = on => {
            input?.classList.toggle("invalid", on);
            if (on) input?.setAttribute("aria-invalid", "true");
            else input?.removeAttribute("aria-invalid");
        };
        this.clear.push(() => {
            place.textContent = "";
            mark(false);
        });
        return (text, errors) => {
            if (errors === null) return;
            place.textContent = line(text, 500);
            mark(true);
            errors?.push(`${line(title, 100)}: ${line(text, 500)}`);
        };
    }

    // The label, the hint and the place for a fault around an input.
    frame(name, s, input, required, check = false) {
        const id = input.id || (input.id = newId("field"));
        const hint = h("span.hint", { id: `${id}-hint` }, line(s.description, 500));
        const fault = h("span.fault", { id: `${id}-fault`, role: "alert" });
        input.setAttribute("aria-describedby", `${id}-hint ${id}-fault`);
        const label = h("label", { for: id }, line(s.title ?? name, 200), required ? "" : h("span.hint", {}, " (optional)"));
        const element = h(check ? "div.field.check" : "div.field", {}, check ? [input, label] : [label, input], s.description && hint, fault);
        return { element, complain: this.complainer(s.title ?? name, fault, input) };
    }

    // The same around several fields.
    group(name, s, required, content) {
        const fault = h("span.fault", { role: "alert" });
        const legend = h("legend", {}, line(s.title ?? name ?? "", 200), required ? "" : h("span.hint", {}, " (optional)"));
        return { element: h("fieldset", {}, legend, s.description && h("span.hint", {}, line(s.description, 500)), content, fault),
                 complain: this.complainer(s.title ?? name, fault) };
    }

    input(name, s, input, required, parse) {
        const field = this.frame(name, s, input, required);
        // An empty text is a value if the schema wants one.
        const mayBeEmpty = kindOf(s) === "string" && ["text", "textarea"].includes(input.type) && !(s.minLength > 0);
        input.required = required && !mayBeEmpty;
        const read = errors => {
            if (!input.validity.valid) return field.complain(input.validationMessage, errors);
            if (input.value === "") return required ? "" : undefined;
            try {
                return parse(input.value);
            } catch (error) {
                return field.complain(error.message, errors);
            }
        };
        return { ...field, read };
    }

    text(name, s, value, required) {
        const long = s.maxLength > 200 || s.contentMediaType || LONG.test(name ?? "") || typeof value === "string" && value.includes("\n");
        const input = long ? h("textarea", { rows: 4 }) : h("input", { type: INPUTS[s.format] ?? "text", autocomplete: "off", spellcheck: "false" });
        const isTime = input.type === "datetime-local";
        if (isTime) {
            const time = new Date(typeof value === "string" ? value : NaN);
            input.step = "any";
            input.valueAsNumber = time.getTime() - time.getTimezoneOffset() * 60_000;
        } else {
            input.value = typeof value === "string" ? value : "";
        }
        if (s.examples?.length) input.placeholder = line(textOf(s.examples[0]), 60);
        const pattern = patternOf(s.pattern);
        return this.input(name, s, input, required, text => {
            if (isTime) return new Date(text).toISOString();
            // minlength and maxlength of HTML count halves of characters, and only in what was typed
            const n = [...text].length;
            if (n < s.minLength) throw new Error(`at least ${s.minLength} characters are needed`);
            if (n > s.maxLength) throw new Error(`at most ${s.maxLength} characters are allowed`);
            if (n <= MOST_MATCHED && pattern && !pattern.test(text)) throw new Error(`this does not match the pattern ${s.pattern}`);
            return text;
        });
    }

    number(name, s, value, required) {
        const whole = kindOf(s) === "integer";
        const step = whole && Number.isSafeInteger(s.multipleOf) && s.multipleOf > 0 ? s.multipleOf : 1;
        // HTML counts steps from the minimum, a schema from 0
        const min = whole ? Math.ceil(s.minimum / step) * step : s.minimum;
        const limit = n => (whole ? Number.isSafeInteger(n) : Number.isFinite(n)) ? n : undefined;
        const input = h("input", { type: "number", step: whole ? step : "any", min: limit(min), max: limit(whole ? Math.floor(s.maximum) : s.maximum),
                                   inputmode: whole ? "numeric" : "decimal", autocomplete: "off" });
        input.value = typeof value === "number" ? String(value) : "";
        return this.input(name, s, input, required, Number);
    }

    boolean(name, s, value, required) {
        if (!required && value === undefined) return this.choice(name, s, [[true, "yes"], [false, "no"]], value, required);
        const input = h("input", { type: "checkbox", checked: value === true });
        return { ...this.frame(name, s, input, true, true), read: () => input.checked };
    }

    choice(name, s, options, value, required) {
        const at = options.findIndex(([v]) => JSON.stringify(v) === JSON.stringify(value));
        const select = h("select", {}, (at < 0 || !required) && h("option", { value: "" }, required ? "Choose…" : "—"),
            options.slice(0, 5000).map(([, title], i) => h("option", { value: i }, line(title, 200))));
        select.value = at < 0 ? "" : String(at);
        if (required && options.length === 1) select.value = "0";
        const field = this.frame(name, s, select, required);
        return { ...field, read: errors => {
            if (select.value !== "") return options[Number(select.value)][0];
            return required ? field.complain("choose a value", errors) : undefined;
        } };
    }

    union(name, s, union, value, required, depth) {
        const resolved = union.map(u => resolve(u, this.root));
        const titles = resolved.map((u, i) => u.title && u.title !== s.title ? u.title : kindOf(u) === "object" && isObject(u.properties)
            ? Object.entries(u.properties).find(([, p]) => isObject(p) && "const" in p)?.[1].const ?? `{ ${Object.keys(u.properties).slice(0, 3).join(", ")} }`
            : choices(u) ? "one of a list" : kindOf(u) ?? `form ${i + 1}`);
        const select = h("select", {}, !required && h("option", { value: "" }, "—"), titles.map((t, i) => h("option", { value: i }, line(textOf(t), 100))));
        const place = h("div.form");
        const { element, complain } = this.frame(name, s, select, required);
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
        return { element, read: errors => chosen?.read(errors), inside: step => chosen?.inside?.(step),
                 complain: text => (chosen?.complain ?? complain)(text) };
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
        const group = this.group(name, s, required, [list, button("Add", () => {
            addOne();
            list.lastChild.querySelector("input, textarea, select")?.focus();
        })]);
        return { ...group, inside: step => items[Number(step)], read: errors => {
            if (!items.length && !required) return undefined;
            const values = items.map(i => i.read(errors));
            if (values.length < s.minItems) group.complain(`at least ${s.minItems} are needed`, errors);
            if (values.length > s.maxItems) group.complain(`at most ${s.maxItems} are allowed`, errors);
            return values;
        } };
    }

    several(name, s, options, value, required) {
        const boxes = options.map(([v, title]) => {
            const box = h("input", { type: "checkbox", id: newId("box"), checked: Array.isArray(value) && value.some(x => JSON.stringify(x) === JSON.stringify(v)) });
            return [box, v, h("div.bar", {}, box, h("label", { for: box.id }, line(title, 200)))];
        });
        const group = this.group(name, s, required, boxes.map(b => b[2]));
        return { ...group, read: errors => {
            const values = boxes.filter(([box]) => box.checked).map(([, v]) => v);
            if (!values.length && !required) return undefined;
            if (values.length < s.minItems) group.complain(`choose at least ${s.minItems}`, errors);
            if (values.length > s.maxItems) group.complain(`choose at most ${s.maxItems}`, errors);
            return values;
        } };
    }

    members(s, value, depth) {
        const required = new Set(Array.isArray(s.required) ? s.required : []);
        const fields = Object.entries(isObject(s.properties) ? s.properties : {})
            .map(([key, schema]) => [key, this.field(key, schema, isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined, required.has(key), depth + 1)]);
        const open = isObject(s.additionalProperties) && Object.keys(s.additionalProperties).length > 0 || s.additionalProperties === true && !fields.length;
        const known = new Set(fields.map(f => f[0]));
        const extra = isObject(value) ? Object.fromEntries(Object.entries(value).filter(([k]) => !known.has(k))) : {};
        const other = open || Object.keys(extra).length ? this.json("Other members", { description: "A JSON object" }, Object.keys(extra).length ? extra : undefined, false) : undefined;
        return { elements: [...fields.map(f => f[1].element), other?.element].filter(Boolean), inside: step => fields.find(([key]) => key === step)?.[1] ?? other, read: errors => {
            const result = {};
            for (const [key, field] of fields) {
                const v = field.read(errors);
                if (v !== undefined) Object.defineProperty(result, key, { value: v, enumerable: true, configurable: true, writable: true });
            }
            const rest = other?.read(errors);
            return isObject(rest) ? { ...result, ...rest } : result;
        } };
    }

    object(name, s, value, required, depth) {
        if (!isObject(s.properties) && s.additionalProperties === undefined) return this.json(name, { ...s, description: s.description ?? "A JSON object" }, value, required);
        const { elements, read, inside } = this.members(s, value, depth);
        return { ...this.group(name, s, required, elements), inside,
                 read: errors => required || Object.keys(read(null)).length ? read(errors) : undefined };
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

// A form for an object. complain(pointer, text) shows a fault at the innermost field around the place of a JSON Pointer,
// and returns whether there is one.
export function schemaForm(schema, value) {
    const form = new Form(schema);
    const top = form.members(resolve(schema, schema), value, 0);
    return {
        element: h("div.form", {}, top.elements),
        empty: !top.elements.length,
        read: () => {
            const errors = [];
            for (const clear of form.clear) clear();
            return { value: top.read(errors), errors };
        },
        complain: (pointer, text) => {
            let field = top, innermost;
            for (const step of pointer.split("/").slice(1)) {
                field = field?.inside?.(step.replace(/~1/g, "/").replace(/~0/g, "~"));
                innermost = field ?? innermost;
            }
            innermost?.complain(text);
            return innermost !== undefined;
        },
    };
}
