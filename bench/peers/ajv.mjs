// ajv.mjs < cases.json: the cases that bench/schema.c prints with --json, validated by ajv in the same way.
import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";

const rounds = 15;
const cases = JSON.parse(readFileSync(0, "utf8"));

for (const { name, schema, value } of cases) {
    const ajv = new Ajv2020({ strict: false });
    const started = process.hrtime.bigint();
    const validate = ajv.compile(schema);
    const compile = Number(process.hrtime.bigint() - started);
    const count = name === "large" ? 1000 : 100000;
    const times = [];
    for (let round = 0; round < rounds; round++) {
        const start = process.hrtime.bigint();
        for (let i = 0; i < count; i++) {
            if (!validate(value)) throw new Error(`${name}: ${ajv.errorsText(validate.errors)}`);
        }
        times.push(Number(process.hrtime.bigint() - start) / count);
    }
    times.sort((a, b) => a - b);
    console.log(`name=${name} ns=${times[rounds >> 1].toFixed(0)} compile_us=${(compile / 1e3).toFixed(1)}`);
}
