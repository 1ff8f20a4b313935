// The authorization examples of the official SDKs: an MCP server and an authorization server of its own. $PACKAGES has those
// of TypeScript, $SDK1_EXAMPLES and the like those of Python.

import { join } from 'node:path';
import { foreign, freePort } from './server.mjs';
import { until } from './wait.mjs';

const answers = url => fetch(url).then(response => response.ok, () => false);

// What runs: [port, command, arguments, environment], in this order.
function programs(peer, mcp, as) {
    if (peer === 'ts1') {
        const script = join(process.env.PACKAGES, 'node_modules/@modelcontextprotocol/sdk/dist/esm/examples/server/simpleStreamableHttp.js');
        return [[mcp, process.execPath, [script, '--oauth', '--oauth-strict'], { MCP_PORT: mcp, MCP_AUTH_PORT: as }]];
    }
    const [python, examples] = ['PYTHON', 'EXAMPLES'].map(what => process.env[`${peer.toUpperCase()}_${what}`]);
    const module = name => ['-c', `import sys; sys.path += ${JSON.stringify([examples, join(examples, '../../../packages')])}; from mcp_simple_auth.${name} import main; main()`];
    return [
        [as, python, [...module('auth_server'), `--port=${as}`], {}],
        [mcp, python, [...module('server'), `--port=${mcp}`, `--auth-server=http://localhost:${as}`, '--oauth-strict'], {}],
    ];
}

// A user of the Python examples.
export const USER = { user: 'demo_user', password: 'demo_password' };

// Returns the URL of the MCP server; restart(), after which both have forgotten everything; stop().
export async function startExample(peer) {
    const [mcp, as] = [await freePort(), await freePort()];
    const metadata = `http://localhost:${as}/.well-known/oauth-authorization-server`;
    let stops = [];
    const run = async () => {
        for (const [port, command, args, more] of programs(peer, mcp, as)) {
            const words = [...Object.entries(more).map(([name, value]) => `${name}=${value}`), command, ...args];
            stops.push((await foreign('env', words, port)).stop);
        }
        await until(() => answers(metadata), metadata, 200_000);
    };
    const stop = async () => {
        await Promise.all(stops.map(end => end()));
        stops = [];
    };
    await run();
    return { url: `http://localhost:${mcp}/mcp`, restart: () => stop().then(run), stop };
}
