// The authorization servers at which walk.test.mjs logs in, one row each.
//
//   start()     begins it and an MCP server that needs it, and returns an object with
//     url         of the MCP server
//     forget()    after it, the authorization server knows no login and no client that has registered itself
//     stop()
//     registered() how many clients have registered themselves; left out where it cannot be asked
//   command     a command of mcpctl that needs a login: (server) => the words after the URL
//   answer      what it prints
//   fails       the server answers to a token that it does not know as to a fault of its own
//   client      the client that somebody has registered by hand, where clients cannot register themselves
//   user        what a person types into the form of the login: { user, password }

import { startExample, USER } from './support/examples.mjs';
import { CLIENT, INTROSPECTOR, startIssuer } from './support/issuer.mjs';
import { RESOURCE, startKeycloak } from './support/keycloak.mjs';
import { protect } from './support/protected.mjs';
import { foreign, freePort } from './support/server.mjs';

async function startFastmcp(python) {
    const port = await freePort(), root = `http://127.0.0.1:${port}`;
    const serve = () => foreign(python, [process.env.FASTMCP_SERVER, `${port}`], port);
    let server = await serve();
    return {
        url: `${root}/mcp`,
        registered: async () => (await fetch(`${root}/registered`)).json(),
        forget: async () => {
            await server.stop();
            server = await serve();
        },
        stop: () => server.stop(),
    };
}

async function startSdk(peer) {
    const { url, restart, stop } = await startExample(peer);
    return { url, forget: restart, stop };
}

// mcpd, which trusts an authorization server that was started already.
async function guarded({ issuer }, { forget, stop, registered }, options) {
    const server = await protect({ issuer }, options);
    return {
        url: server.url, uri: server.uri, registered,
        forget: async () => {
            await forget();
            await server.restart(); // it knows the old keys
        },
        stop: async () => {
            await server.stop();
            await stop();
        },
    };
}

async function startOidc() {
    const issuer = await startIssuer();
    return guarded(issuer, { forget: () => issuer.forget(), stop: () => issuer.close(), registered: issuer.registered });
}

// Keycloak lets nobody register from a host that is not trusted, and trusts none; an administrator has changed that.
async function trustHosts(keycloak) {
    const policies = await keycloak.admin('GET', 'components?type=org.keycloak.services.clientregistration.policy.ClientRegistrationPolicy');
    for (const { id, providerId } of policies) if (providerId === 'trusted-hosts') await keycloak.admin('DELETE', `components/${id}`);
}

// Clients that register themselves get a name of this form, others have one that a person chose.
const byThemselves = ({ clientId }) => /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(clientId);

async function startOpenKeycloak() {
    const keycloak = await startKeycloak();
    await trustHosts(keycloak);
    const clients = async () => (await keycloak.admin('GET', 'clients')).filter(byThemselves);
    return guarded(keycloak, {
        registered: async () => (await clients()).length,
        forget: async () => {
            for (const { id } of await clients()) await keycloak.admin('DELETE', `clients/${id}`);
            await keycloak.admin('POST', 'logout-all');
        },
        stop: keycloak.stop,
    }, {
        audiences: [RESOURCE], type: { type: 'JWT', claim: 'typ', value: 'Bearer' },
        introspection: { url: `${keycloak.issuer}/protocol/openid-connect/token/introspect`, ...INTROSPECTOR },
    });
}

async function startClosedKeycloak() {
    const keycloak = await startKeycloak();
    return guarded(keycloak, { forget: keycloak.restart, stop: keycloak.stop }, { audiences: [RESOURCE] });
}

const calls = (...words) => () => ['call', '--yes', ...words];
const reads = ({ uri }) => ['read', uri('open.txt')];
const ALICE = { user: 'alice', password: 'alice' };

const fastmcp = peer => ({
    start: () => startFastmcp(process.env[`${peer.toUpperCase()}_PYTHON`]), command: calls('hello'), answer: /you are in/,
});
const sdk = (peer, ...words) => ({ start: () => startSdk(peer), command: calls(...words) });

export const PEERS = {
    ts1: { ...sdk('ts1', 'greet', 'name=Ada'), answer: /Hello, Ada!/, fails: true },
    sdk1: { ...sdk('sdk1', 'get_time'), answer: /current_time/, user: USER },
    sdk2: { ...sdk('sdk2', 'get_time'), answer: /current_time/, user: USER },
    fastmcp2: fastmcp('fastmcp2'),
    fastmcp3: fastmcp('fastmcp3'),
    fastmcp4: fastmcp('fastmcp4'),
    oidc: { start: startOidc, command: reads, answer: /^open\.txt\r?$/m },
    keycloak: { start: startClosedKeycloak, command: reads, answer: /^open\.txt\r?$/m, client: CLIENT, user: ALICE },
    'keycloak-open': { start: startOpenKeycloak, command: reads, answer: /^open\.txt\r?$/m, user: ALICE },
};
