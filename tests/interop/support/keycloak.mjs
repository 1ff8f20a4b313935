// Keycloak ($KEYCLOAK is its folder) with the realm of realm.json, which is in the current folder, and a new database.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from './server.mjs';
import { until } from './wait.mjs';

// The audience of its tokens.
export const RESOURCE = 'http://127.0.0.1:8642/mcp';
const ADMIN = { username: 'admin', password: 'admin' };

async function run(home, port) {
    rmSync(join(home, 'data'), { recursive: true, force: true });
    mkdirSync(join(home, 'data/import'), { recursive: true });
    writeFileSync(join(home, 'data/import/realm.json'),
        readFileSync('realm.json', 'utf8').replaceAll('@RESOURCE@', RESOURCE));
    const args = ['start-dev', '--import-realm', '--http-host=127.0.0.1', `--http-port=${port}`, '--features=dpop'];
    const env = { ...process.env, KC_BOOTSTRAP_ADMIN_USERNAME: ADMIN.username, KC_BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password };
    const child = spawn(join(home, 'bin/kc.sh'), args, { stdio: ['ignore', 'pipe', 'inherit'], detached: true, env });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', text => (output += text));
    const ended = once(child, 'exit');
    const stop = async () => {
        process.kill(-child.pid, 'SIGTERM');
        await ended;
    };
    const ready = async () => {
        assert.equal(child.exitCode, null, output);
        return fetch(`http://127.0.0.1:${port}/realms/mcp`).then(response => response.ok, () => false);
    };
    try {
        await until(ready, () => `Keycloak: ${output}`, 300_000);
    } catch (error) {
        await stop();
        throw error;
    }
    return stop;
}

// Returns:
//   issuer    its URL
//   admin()   asks the administration of the realm: (method, path) => JSON
//   restart() after which it has forgotten everything that is not in realm.json, and has new keys
//   stop()
export async function startKeycloak() {
    const port = await freePort(), root = `http://127.0.0.1:${port}`;
    let end = await run(process.env.KEYCLOAK, port);
    const admin = async (method, path) => {
        const form = new URLSearchParams({ grant_type: 'password', client_id: 'admin-cli', ...ADMIN });
        const got = await fetch(`${root}/realms/master/protocol/openid-connect/token`, { method: 'POST', body: form });
        const { access_token: token } = await got.json();
        const response = await fetch(`${root}/admin/realms/mcp/${path}`, { method, headers: { Authorization: `Bearer ${token}` } });
        assert.ok(response.ok, `${method} ${path}: ${response.status} ${await response.clone().text()}`);
        return response.status === 204 ? undefined : response.json();
    };
    return {
        issuer: `${root}/realms/mcp`, admin,
        restart: async () => {
            await end();
            end = await run(process.env.KEYCLOAK, port);
        },
        stop: () => end(),
    };
}
