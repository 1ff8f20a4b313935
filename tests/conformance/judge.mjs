// judge.mjs LEG TABLE RESULTS: reports in TAP which scenarios of TABLE passed, according to
// RESULTS/<revision>/.
//
// The suite's own exit status covers only scored scenarios, and treats warnings and skipped checks
// as success. Here all checks of a scenario count. Only a scenario that TABLE marks as unchecked
// may skip all checks, and one with "skips N" must skip exactly N. The exit status of a client
// counts too: it has to be 0, or, with "fails TEXT", 1 with TEXT on stderr.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const [leg, table, results] = process.argv.slice(2);
const sets = ['2025-11-25', '2026-07-28'];
const revisions = ['0.1.16', '2025-03-26', ...sets]; // the first is a version of the suite

// [{name, revision, reason, unchecked, skips, fails}], the reason why it is left out or ''
const scenarios = readFileSync(table, 'utf8')
    .split('\n')
    .filter((line) => /^\w/.test(line))
    .flatMap((line) => {
        const [, name, which, rest] = /^(\S+)\s+(\S+)\s*(.*)$/.exec(line);
        const of = which === 'both' ? sets : [which];
        const unchecked = rest === 'unchecked';
        const skips = Number(/^skips (\d+)$/.exec(rest)?.[1] ?? 0);
        const fails = /^fails (.+)$/.exec(rest)?.[1];
        const reason = unchecked || skips || fails ? '' : rest;
        return of.map((revision) => ({ name, revision, reason, unchecked, skips, fails }));
    });

// What ran: "revision/scenario" to its checks and its folder. A server's folder is called
// server-<scenario>-<time>, a client's <scenario>-<time>; slashes in a scenario's name are folders.
const ran = new Map();
for (const revision of revisions) {
    const folder = join(results, revision);
    for (const entry of existsSync(folder) ? readdirSync(folder, { recursive: true }) : []) {
        const name = /^(.*)-\d{4}-\d\d-\d\dT[\dTZ-]*$/.exec(entry)?.[1];
        const file = join(folder, entry, 'checks.json');
        if (!name || !existsSync(file)) continue;
        const scenario = leg === 'server' ? name.replace(/^server-/, '') : name;
        ran.set(`${revision}/${scenario}`, { checks: JSON.parse(readFileSync(file, 'utf8')), folder: join(folder, entry) });
    }
}

// The line is written by the script that started it.
function howItEnded(folder, fails) {
    const stdout = readFileSync(join(folder, 'stdout.txt'), 'utf8');
    const stderr = readFileSync(join(folder, 'stderr.txt'), 'utf8');
    const right = fails ? /^exit status 1$/m.test(stdout) && stderr.includes(fails) : /^exit status 0$/m.test(stdout);
    if (right) return [];
    const what = fails ? `it did not fail because of "${fails}"` : 'it did not end well';
    return [what, ...`${stdout}\n${stderr}`.trim().split('\n')];
}

const cases = scenarios
    .filter(({ reason }) => !reason)
    .map(({ name, revision, unchecked, skips, fails }) => {
        const key = `${revision}/${name}`;
        if (!ran.has(key)) return { key, problems: ['it did not run'] };
        const { checks, folder } = ran.get(key);
        if (unchecked && checks.length && checks.every(({ status }) => status === 'SKIPPED'))
            return { key: `${key} (the suite checks nothing in it)`, problems: [] };
        const skipped = checks.filter(({ status }) => status === 'SKIPPED');
        const right = skips && skipped.length === skips ? ['SUCCESS', 'INFO', 'SKIPPED'] : ['SUCCESS', 'INFO'];
        const problems = checks
            .filter(({ status }) => !right.includes(status))
            .map((c) => `${c.status} ${c.id}: ${c.errorMessage ?? c.description ?? ''}`);
        if (skipped.length < skips) problems.push(`${skipped.length} checks were skipped, and not ${skips}`);
        if (!checks.some(({ status }) => status === 'SUCCESS')) problems.push('nothing was checked');
        if (leg === 'client') problems.push(...howItEnded(folder, fails));
        return { key, problems };
    });

// "auth/*" stands for all that begin with "auth/".
const lists = (wanted, name) => (wanted.endsWith('*') ? name.startsWith(wanted.slice(0, -1)) : name === wanted);
for (const key of ran.keys())
    if (!scenarios.some(({ name, revision }) => lists(`${revision}/${name}`, key)))
        cases.push({ key, problems: [`it is not listed in ${table}`] });

console.log(`1..${cases.length}`);
cases.forEach(({ key, problems }, i) => {
    console.log(`${problems.length ? 'not ok' : 'ok'} ${i + 1} - ${key}`);
    for (const problem of problems) console.log(`# ${problem.replace(/\s+/g, ' ')}`);
});
for (const { name, revision, reason } of scenarios)
    if (reason) console.log(`# left out: ${revision}/${name}: ${reason}`);
process.exitCode = cases.some(({ problems }) => problems.length) ? 1 : 0;
