// mcpctl web as a process.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { until } from './wait.mjs';

// Returns url, a promise of the address with the code, and stop().
export function startWeb(args, env = process.env) {
    const child = spawn(process.env.MCPCTL, ['web', '--no-open', ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', part => (said += part));
    const address = /http:\S+#code=\S+/;
    const url = until(() => address.test(said), () => `an address: ${said}`).then(() => address.exec(said)[0]);
    return { url, stop: async () => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        child.kill('SIGTERM');
        await once(child, 'exit');
    } };
}
