// A client of servers that are elsewhere, over TLS: it sends nothing to this machine or to private networks, whatever the
// metadata says. The servers have names that only a proxy of the test knows.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { after, before, describe, it } from 'node:test';
import { follow, startClient } from './support/oauth-client.mjs';
import { PRM, say, startRealm } from './support/realm.mjs';

const [MCP, AS] = ['mcp.example', 'as.example'];
const DNS = [MCP, AS].map(name => `DNS:${name}`).join(',');

// A proxy that opens tunnels to a TLS server, which passes what comes on to `ports`, by the name that was asked for.
// `asked` has all places that it was asked for.
async function startProxy(ports, { key, cert }) {
    const asked = [];
    const tls = createTlsServer({ key, cert }, socket => {
        const inner = connect(ports[socket.servername], '127.0.0.1');
        socket.pipe(inner).pipe(socket);
        for (const end of [socket, inner]) end.on('error', () => (socket.destroy(), inner.destroy()));
    }).listen(0, '127.0.0.1');
    await once(tls, 'listening');
    const proxy = createServer((request, response) => {
        asked.push(request.url);
        response.writeHead(502).end();
    }).on('connect', (request, socket) => {
        asked.push(request.url);
        const inner = connect(tls.address().port, '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
        socket.pipe(inner).pipe(socket);
        for (const end of [socket, inner]) end.on('error', () => (socket.destroy(), inner.destroy()));
    }).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    return { url: `http://127.0.0.1:${proxy.address().port}`, asked, close: () => (proxy.close(), tls.close(), proxy.closeAllConnections()) };
}

const all = ['127.0.0.1', 'localhost', '10.0.0.1', '169.254.169.254', '192.168.1.1', '100.64.0.1', '0.0.0.0', '[::1]',
    '[fd00::1]', '[fe80::1]', '[::ffff:127.0.0.1]', '2130706433'];

describe('a client of servers elsewhere', { timeout: 120_000 }, () => {
    let folder, realm, proxy;
    before(async () => {
        folder = mkdtempSync(join(tmpdir(), 'mcp-oauth-tls-'));
        const [keyFile, certFile] = ['key.pem', 'cert.pem'].map(name => join(folder, name));
        execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2',
            '-subj', '/CN=test', '-addext', `subjectAltName=${DNS}`, '-keyout', keyFile, '-out', certFile], { stdio: 'ignore' });
        realm = await startRealm({ origins: { rs: `https://${MCP}`, as: `https://${AS}` } });
        proxy = await startProxy({ [MCP]: realm.rs.port, [AS]: realm.as.port },
            { key: readFileSync(keyFile), cert: readFileSync(certFile) });
    });
    after(async () => {
        proxy?.close();
        await realm?.close();
        rmSync(folder, { recursive: true });
    });

    const play = async (change = {}) => {
        realm.log.length = 0;
        proxy.asked.length = 0;
        const { prm, challenge, metadata } = { prm: m => m, challenge: c => c, metadata: m => m, ...change };
        Object.assign(realm.rs.settings, { prm, challenge });
        realm.as.settings.metadata = metadata;
        const client = await startClient({ server: realm.rs.url, proxy: proxy.url, ca_file: join(folder, 'cert.pem') },
            ({ url }) => follow({ url: url.replace(`https://${AS}`, `http://127.0.0.1:${realm.as.port}`) }));
        const [outcome] = await client.run('list');
        await client.stop();
        return { client, outcome };
    };
    const refuses = async (change, address) => {
        const { client, outcome } = await play(change);
        assert.notEqual(outcome.rc, 0, address);
        assert.equal(client.visits.length, 0, address);
        assert.deepEqual(proxy.asked.filter(place => ![MCP, AS].includes(place.split(':')[0])), [], address);
        return outcome;
    };

    it('logs in', async () => {
        const { outcome } = await play();
        assert.equal(outcome.rc, 0, outcome.error);
        assert.deepEqual([...new Set(proxy.asked)].sort(), [`${AS}:443`, `${MCP}:443`]);
    });

    for (const [scheme, addresses] of [['https', all], ['http', ['127.0.0.1', '10.0.0.1', AS]]]) {
        const place = scheme === 'https' ? 'a private address' : 'any address';
        it(`asks no authorization server at ${place} over ${scheme}`, async () => {
            for (const address of addresses) {
                await refuses({ prm: m => ({ ...m, authorization_servers: [`${scheme}://${address}`] }) }, address);
            }
        });
        it(`fetches no metadata from ${place} over ${scheme}`, async () => {
            for (const address of addresses) {
                await refuses({ challenge: c => ({ ...c, resource_metadata: `${scheme}://${address}/prm` }) }, address);
            }
        });
        for (const endpoint of ['token_endpoint', 'registration_endpoint']) {
            it(`sends nothing to a ${endpoint} at ${place} over ${scheme}`, async () => {
                for (const address of addresses) {
                    const { client, outcome } = await play({ metadata: m => ({ ...m, [endpoint]: `${scheme}://${address}/x` }) });
                    assert.notEqual(outcome.rc, 0, address);
                    assert.ok(client.visits.length <= (endpoint === 'token_endpoint' ? 1 : 0));
                    assert.deepEqual(proxy.asked.filter(place => ![MCP, AS].includes(place.split(':')[0])), [], address);
                }
            });
        }
    }

    it('opens no page over http', async () => {
        for (const address of ['127.0.0.1', '10.0.0.1', AS]) {
            await refuses({ metadata: m => ({ ...m, authorization_endpoint: `http://${address}/authorize` }) }, address);
        }
    });

    it('follows no redirect to a private address', async () => {
        realm.rs.instead[`${PRM}/mcp`] = (_, response) => say(response, 302, '', { Location: 'http://169.254.169.254/' });
        try {
            await refuses({}, '169.254.169.254');
        } finally {
            delete realm.rs.instead[`${PRM}/mcp`];
        }
    });

    it('accepts no certificate that it does not know', async () => {
        const client = await startClient({ server: realm.rs.url, proxy: proxy.url });
        const [outcome] = await client.run('list');
        await client.stop();
        assert.notEqual(outcome.rc, 0);
        assert.match(outcome.error, /certificate|SSL|TLS/i);
    });
});
