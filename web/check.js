// check.js: values against JSON schemas, with @cfworker/json-schema (json-schema/). It makes no code, which this page
// would not be allowed to run.

import { Validator } from "./json-schema/validator.js";

const MOST = 2 << 20; // characters of a value
const MOST_MS = 200;

// Whether a pattern of a server can be matched in reasonable time: no repeated groups, and few repetitions.
const harmless = pattern => typeof pattern === "string" && pattern.length < 500 && !/\)[*+{?]/.test(pattern) && (pattern.match(/[*+]|\{\d*,/g)?.length ?? 0) <= 2;

// A copy of a schema without the patterns that could keep the page busy, whose every use by the validator is counted: a
// schema of a few lines can ask for any number of steps.
function tame(node, skipped, budget, depth = 0) {
    if (node === null || typeof node !== "object") return node;
    if (depth > 64) throw new Error("it is nested too deeply");
    if (Array.isArray(node)) return node.map(n => tame(n, skipped, budget, depth + 1));
    const copy = {};
    const anchor = node.$recursiveAnchor;
    Object.defineProperty(copy, "$recursiveAnchor", { get: () => (budget(), anchor) });
    for (const [key, value] of Object.entries(node)) {
        if (key === "$recursiveAnchor") continue;
        if (key === "uniqueItems" && budget.large || key === "pattern" && typeof value === "string" && !harmless(value) || key === "patternProperties" && !Object.keys(value ?? {}).every(harmless)) {
            skipped.push(key);
            continue;
        }
        Object.defineProperty(copy, key, { value: tame(value, skipped, budget, depth + 1), enumerable: true, configurable: true, writable: true });
    }
    return copy;
}

// Returns {errors: [text], failed: text or undefined}.
export function check(value, schema) {
    try {
        const size = JSON.stringify(value)?.length ?? 0;
        if (size > MOST) return { errors: [], failed: "the value is too large" };
        const skipped = [];
        let steps = 0;
        const end = performance.now() + MOST_MS;
        const budget = () => {
            if ((++steps & 255) === 0 && performance.now() > end) throw new Error("it takes too long");
        };
        budget.large = size > 20_000; // of a large array, the validator would compare each pair
        const draft = /draft-0?7/.test(schema?.$schema ?? "") ? "7" : /draft-0?4/.test(schema?.$schema ?? "") ? "4" : /2019-09/.test(schema?.$schema ?? "") ? "2019-09" : "2020-12";
        const { errors } = new Validator(tame(schema, skipped, budget), draft, false).validate(value);
        if (skipped.length && !errors.length) return { errors: [], failed: "a part of it would take too long" };
        // The last error of a chain is the one that says what is wrong.
        return { errors: errors.filter(e => !["properties", "items", "prefixItems", "$ref", "allOf"].includes(e.keyword))
            .map(e => `${e.instanceLocation.slice(1) || "/"}: ${e.error}`), failed: undefined };
    } catch (error) {
        return { errors: [], failed: error.message };
    }
}
