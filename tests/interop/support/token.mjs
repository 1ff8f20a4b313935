// An authorization server for tests by hand, and tokens from it.
//
//   node token.mjs serve [PORT]                       runs the server and prints its URL
//   node token.mjs ISSUER RESOURCE [USER [SCOPES]]    logs in, and prints an access token
//
// SCOPES are separated by spaces. Every user that is named exists. ALG=RS256 or FORMAT=opaque in the environment changes
// the tokens of the server.

import { startIssuer } from './issuer.mjs';
import { logIn } from './oauth.mjs';

const [what, ...rest] = process.argv.slice(2);
if (what === 'serve') {
    const { ALG: alg = 'ES256', FORMAT: format = 'jwt' } = process.env;
    const { issuer } = await startIssuer({ port: Number(rest[0] ?? 0), alg, format });
    console.log(issuer);
} else if (rest.length) {
    const [resource, user, scope = 'mcp:read'] = rest;
    console.log((await logIn(what, { resource, user, scope })).access_token);
} else {
    console.error('usage: node token.mjs serve [PORT] | ISSUER RESOURCE [USER [SCOPES]]');
    process.exit(2);
}
