// A server behind mcpd, for the tests that run against each server directly, too.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after } from 'node:test';

// mcpd keeps the names and URIs. Over HTTP the caller has a token, because nobody asks anonymous
// callers.
const TOKEN = 'behind-mcpd-0123456789-0123456789';
const tokens = join(mkdtempSync(join(tmpdir(), 'mcpd-tools-')), 'tokens');
writeFileSync(tokens, `caller:${TOKEN}\n`, { mode: 0o600 });
after(() => rmSync(dirname(tokens), { recursive: true }));
export const behind = ({ path, stdio }) => {
    const source = `mcp:${[path, ...stdio()].join(' ')}?transparent=true`;
    return {
        path: process.env.MCPD,
        stdio: () => [source],
        http: port => ['--token-file', tokens, '--http', `127.0.0.1:${port}`, source],
        headers: { Authorization: `Bearer ${TOKEN}` },
    };
};
