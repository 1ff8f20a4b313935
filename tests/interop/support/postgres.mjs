// A PostgreSQL server for the tests in a temporary folder, which tests/providers/postgres/server
// runs. It can be stopped, started, killed, and frozen: a frozen server does not answer, like an
// interrupted network.

import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const script = join(process.env.MCP_SOURCE_DIR, 'tests/providers/postgres/server');

// The parent of a process, from /proc; 0: it has ended.
function parent(pid) {
    try {
        return Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))[1]);
    } catch {
        return 0;
    }
}

function signal(pid, name) {
    try {
        process.kill(pid, name);
    } catch (error) {
        if (error.code !== 'ESRCH') throw error; // it ended meanwhile
    }
}

const childrenOf = pid =>
    readdirSync('/proc').filter(name => /^\d+$/.test(name) && parent(name) === pid).map(Number);

export function startPostgres() {
    // Not in $TMPDIR, which may be too deep for the name of a socket.
    const dir = mkdtempSync('/tmp/mcp-postgres-');
    const now = what => execFileSync(script, [what, dir], { stdio: ['ignore', 'inherit', 'inherit'] });
    const later = what => promisify(execFile)(script, [what, dir]);
    let frozen = [];
    const thaw = () => {
        for (const pid of frozen.splice(0)) signal(pid, 'SIGCONT');
    };
    // The postmaster first, so that no more are started; those that write logs and checkpoints too.
    const freeze = () => {
        const postmaster = Number(readFileSync(join(dir, 'data/postmaster.pid'), 'utf8').split('\n')[0]);
        signal(postmaster, 'SIGSTOP');
        frozen = [postmaster, ...childrenOf(postmaster)];
        for (const pid of frozen) signal(pid, 'SIGSTOP');
    };
    const remove = () => {
        thaw();
        spawnSync(script, ['remove', dir]);
        process.off('exit', remove);
    };
    process.on('exit', remove);
    for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => process.exit(1));
    now('make');
    now('start');
    return {
        freeze, thaw, remove,
        start: () => later('start'),
        stop: () => later('stop'),
        kill: () => later('kill'),
        sql: (database, text) => execFileSync('psql',
            ['-qAtX', '-v', 'ON_ERROR_STOP=1', '-h', dir, '-U', 'postgres', '-d', database, '-c', text], { encoding: 'utf8' }),
        // What stands behind "postgres:" of a source. No log-in that works meets its limit.
        source: (database, options) => `postgres:host=${dir} user=reader connect_timeout=60 dbname=${database}?${options}`,
    };
}
