// judge.mjs TABLE RESULTS: says in TAP which scenarios of TABLE passed, as RESULTS/<revision>/ has them.
//
// The suite's own exit status judges only what it scores, and takes a warning or a check that it could not
// make for a success; here all of a scenario's checks count. Only a scenario that TABLE calls unchecked may skip
// all of them.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const [table, results] = process.argv.slice(2);
const revisions = ['2025-11-25', '2026-07-28'];

// [{name, revision, reason, unchecked}], the reason why it is left out or ''
const scenarios = readFileSync(table, 'utf8')
    .split('\n')
    .filter((line) => /^\w/.test(line))
    .flatMap((line) => {
        const [, name, which, reason] = /^(\S+)\s+(\S+)\s*(.*)$/.exec(line);
        const of = which === 'both' ? revisions : [which];
        const unchecked = reason === 'unchecked';
        return of.map((revision) => ({ name, revision, reason: unchecked ? '' : reason, unchecked }));
    });

// What ran: "revision/scenario" to its checks. A folder is called server-<scenario>-<time>.
const ran = new Map();
for (const revision of revisions) {
    const folder = join(results, revision);
    for (const entry of existsSync(folder) ? readdirSync(folder) : []) {
        const name = /^server-(.*)-\d{4}-\d\d-\d\dT[\dTZ-]*$/.exec(entry)?.[1];
        const file = join(folder, entry, 'checks.json');
        if (name && existsSync(file)) ran.set(`${revision}/${name}`, JSON.parse(readFileSync(file, 'utf8')));
    }
}

const cases = scenarios
    .filter(({ reason }) => !reason)
    .map(({ name, revision, unchecked }) => {
        const key = `${revision}/${name}`;
        const checks = ran.get(key);
        if (!checks) return { key, problems: ['it did not run'] };
        if (unchecked && checks.length && checks.every(({ status }) => status === 'SKIPPED'))
            return { key: `${key} (the suite checks nothing in it)`, problems: [] };
        const problems = checks
            .filter(({ status }) => status !== 'SUCCESS' && status !== 'INFO')
            .map((c) => `${c.status} ${c.id}: ${c.errorMessage ?? c.description ?? ''}`);
        if (!checks.some(({ status }) => status === 'SUCCESS')) problems.push('nothing was checked');
        return { key, problems };
    });
const listed = new Set(scenarios.map(({ name, revision }) => `${revision}/${name}`));
for (const key of ran.keys())
    if (!listed.has(key)) cases.push({ key, problems: [`it is not listed in ${table}`] });

console.log(`1..${cases.length}`);
cases.forEach(({ key, problems }, i) => {
    console.log(`${problems.length ? 'not ok' : 'ok'} ${i + 1} - ${key}`);
    for (const problem of problems) console.log(`# ${problem.replace(/\s+/g, ' ')}`);
});
for (const { name, revision, reason } of scenarios)
    if (reason) console.log(`# left out: ${revision}/${name}: ${reason}`);
process.exitCode = cases.some(({ problems }) => problems.length) ? 1 : 0;
