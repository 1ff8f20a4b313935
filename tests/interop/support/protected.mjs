// mcpd as a resource server: it serves a folder, in which deep.txt needs the scope mcp:write, and everything mcp:read.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { freePort, start } from './server.mjs';

const names = ['open.txt', 'deep.txt', 'live.txt'];

function configure(root, port, issuer, { audiences, introspection, type, nonces = false, page }) {
    const resource = `http://127.0.0.1:${port}/mcp`;
    const secret = join(root, 'secret');
    if (introspection) writeFileSync(secret, introspection.secret, { mode: 0o600 });
    return {
        sources: [join(root, 'files')],
        http: [`127.0.0.1:${port}`],
        page: page !== undefined,
        oauth: {
            resource,
            issuers: [{
                issuer, audiences: audiences ?? [resource], groups: 'groups',
                ...(type && { 'token-type': type }),
                ...(page && { 'page-client-id': page }),
                ...(introspection && {
                    introspection: { url: introspection.url, 'client-id': introspection.id, 'client-secret-file': secret },
                }),
            }],
            'required-scopes': 'mcp:read', 'scopes-supported': 'mcp:read mcp:write', 'dpop-nonce': nonces,
        },
        access: [{ effect: 'allow', resources: 'files/deep.txt', scope: 'mcp:write' }],
    };
}

// Options: `audiences` (default: the resource); `introspection`, which has url, id and secret; `type`, the section
// token-type; `nonces`, whether proofs need one; `page`, the client id of its page.
export async function protect({ issuer }, options = {}) {
    const root = realpathSync(mkdtempSync(join(tmpdir(), 'mcp-oauth-')));
    const path = name => join(root, 'files', name);
    mkdirSync(join(root, 'files'));
    for (const name of names) writeFileSync(path(name), `${name}\n`);
    const port = await freePort();
    writeFileSync(join(root, 'mcpd.json'), JSON.stringify(configure(root, port, issuer, options)));
    const run = () => start(process.env.MCPD, ['--config', join(root, 'mcpd.json')],
        ({ stderr }) => / at http:\S+\n/.test(stderr));
    let server = await run();
    return {
        url: `http://127.0.0.1:${port}/mcp`, path,
        uri: name => pathToFileURL(path(name)).href,
        // It has forgotten what it knew about tokens and keys.
        restart: async () => {
            await server.stop();
            server = await run();
        },
        stop: async () => {
            await server.stop();
            rmSync(root, { recursive: true });
        },
    };
}
