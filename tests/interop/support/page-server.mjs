// An endpoint for the tests of the page: a server of 2026-07-28 made of a table of answers, which may be hostile.

const KEY = 'io.modelcontextprotocol/';

// `methods` are functions (params, message) => result by method; a method that is missing is unknown. Each may return a
// promise; { error } is an error.
export const endpoint = (methods, capabilities) => async (message, request, response) => {
    const reply = (status, body) => {
        response.writeHead(status, { 'Content-Type': 'application/json' });
        response.end(JSON.stringify(body));
    };
    if (request.method !== 'POST') return reply(405, {});
    const { id, method, params } = message;
    if (id === undefined) {
        response.writeHead(202);
        return response.end();
    }
    const all = {
        'server/discover': () => ({ supportedVersions: ['2026-07-28'], capabilities, _meta: { [`${KEY}serverInfo`]: { name: 'table', version: '1' } } }),
        ...methods,
    };
    if (!all[method]) return reply(404, { jsonrpc: '2.0', id, error: { code: -32601, message: 'method not found' } });
    const result = await all[method](params ?? {}, message, request, response);
    if (response.writableEnded || response.headersSent) return undefined;
    if (result.error) return reply(200, { jsonrpc: '2.0', id, error: result.error });
    return reply(200, { jsonrpc: '2.0', id, result: { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...result } });
};

// A list of `count` entries in pages of 1,000.
export const pages = (key, count, entry) => ({ cursor }) => {
    const from = Number(cursor ?? 0);
    const until = Math.min(count, from + 1000);
    const items = [];
    for (let i = from; i < until; i++) items.push(entry(i));
    return { [key]: items, ...(until < count && { nextCursor: String(until) }) };
};
