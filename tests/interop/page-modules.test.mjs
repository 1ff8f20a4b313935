// Modules of the web page that need no browser.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';

const web = name => import(join(process.env.MCP_SOURCE_DIR, 'web', name));

describe('modules of the page', () => {
    it('parses event streams, however they are split', async () => {
        const { EventParser } = await web('sse.js');
        const text = ': comment\r\nid: 7\r\ndata: {"a":1}\r\n\r\nevent: x\rdata:one\rdata: two\r\rdata\n\ndata:grüße\n\ndata: p\r\ndata: q\r\n\r\ndata: cut off';
        const want = [['message', '{"a":1}', '7'], ['x', 'one\ntwo', '7'], ['message', '', '7'], ['message', 'grüße', '7'], ['message', 'p\nq', '7']];
        for (let at = 0; at <= text.length; at++) {
            const got = [];
            const parser = new EventParser(e => got.push([e.event, e.data, e.id]), 1000);
            parser.push(text.slice(0, at));
            parser.push(text.slice(at));
            assert.deepEqual(got, want, `split at ${at}`);
        }
        assert.throws(() => new EventParser(() => {}, 10).push('data: far too long'), /too large/);
    });

    it('encodes header values as the specification has them', async () => {
        const { headerValue } = await web('mcp.js');
        for (const [value, header] of [['us-west1', 'us-west1'], ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='], [' padded ', '=?base64?IHBhZGRlZCA=?='],
            ['line1\nline2', '=?base64?bGluZTEKbGluZTI=?='], ['=?base64?literal?=', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='], [42, '42'], [true, 'true']])
            assert.equal(headerValue(value), header);
    });

    it('finds the parameters that go to headers, and definitions that are invalid', async () => {
        const { mirrored } = await web('mcp.js');
        const of = properties => mirrored({ type: 'object', properties });
        assert.deepEqual(of({ a: { type: 'string', 'x-mcp-header': 'A' }, o: { properties: { b: { type: 'integer', 'x-mcp-header': 'B' } } } }), [[['a'], 'A'], [['o', 'b'], 'B']]);
        for (const bad of [{ a: { type: 'number', 'x-mcp-header': 'A' } }, { a: { type: 'string', 'x-mcp-header': '' } }, { a: { type: 'string', 'x-mcp-header': 'A\r\nB' } },
            { a: { type: 'string', 'x-mcp-header': 'A' }, b: { type: 'string', 'x-mcp-header': 'a' } }, { a: { items: { type: 'string', 'x-mcp-header': 'A' } } },
            { a: { anyOf: [{ type: 'string', 'x-mcp-header': 'A' }] } }]) assert.equal(typeof of(bad), 'string', JSON.stringify(bad));
    });

    it('expands templates (RFC 6570)', async () => {
        const { expand, variablesOf } = await web('uri_template.js');
        const values = { var: 'value', hello: 'Hello World!', path: '/foo/bar', x: '1024', y: '768', empty: '', list: 'red,green' };
        for (const [template, uri] of [['{var}', 'value'], ['{hello}', 'Hello%20World%21'], ['{+path}/here', '/foo/bar/here'], ['{+hello}', 'Hello%20World!'], ['X{#hello}', 'X#Hello%20World!'],
            ['map?{x,y}', 'map?1024,768'], ['X{.x,y}', 'X.1024.768'], ['{/var,x}/here', '/value/1024/here'], ['{;x,y,empty}', ';x=1024;y=768;empty'], ['{?x,y,empty}', '?x=1024&y=768&empty='],
            ['?fixed=yes{&x}', '?fixed=yes&x=1024'], ['{var:3}', 'val'], ['{/list*}', '/red/green'], ['{?x,undef}', '?x=1024'], ['a{?undef}', 'a']]) assert.equal(expand(template, values), uri, template);
        assert.deepEqual(variablesOf('a{b}{?c*,d:3}{b}'), ['b', 'c', 'd']);
    });

    it('puts capabilities side by side, with their members', async () => {
        const { comparison } = await web('server.js');
        const table = comparison([{ tools: { listChanged: true }, tasks: { requests: { tools: { call: {} } } } }, { tools: { listChanged: false }, extensions: { 'a/b': { n: 1 } } },
            undefined, JSON.parse('{"__proto__": {"x": 1}, "tools": true}')]).map(({ path, cells }) => [path.join('.'), ...cells]);
        assert.deepEqual(table, [['tools', 'yes', 'yes', '–', 'yes'], ['tools.listChanged', 'yes', 'no', '–', '–'], ['tasks', 'yes', '–', '–', '–'], ['tasks.requests', 'yes', '–', '–', '–'],
            ['tasks.requests.tools', 'yes', '–', '–', '–'], ['tasks.requests.tools.call', 'yes', '–', '–', '–'], ['extensions', '–', 'yes', '–', '–'],
            ['extensions.a/b', '–', 'yes', '–', '–'], ['extensions.a/b.n', '–', '1', '–', '–'], ['__proto__', '–', '–', '–', 'yes'], ['__proto__.x', '–', '–', '–', '1']]);
    });

    it('writes numbers of bytes for people', async () => {
        const { bytes } = await web('dom.js');
        assert.deepEqual([0, 248.407, 999, 1000, 15_400, 7e6, undefined].map(bytes), ['0 B', '248 B', '999 B', '1.0 kB', '15 kB', '7.0 MB', '']);
    });

    it('cuts secrets out of an export', async () => {
        const { exportTrace } = await web('trace.js');
        const secrets = ['s3cr3t-value', 'eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.sig', 'ghp_0123456789abcdefghijABCDEFGHIJ', 'AKIA0123456789ABCDEF', 'hunter2', 'mine-alone-0123'];
        const message = { password: secrets[0], nested: [{ api_key: secrets[0], text: `Bearer ${secrets[1]} and ${secrets[2]} ${secrets[3]}` }], url: `https://u:${secrets[4]}@host/?token=${secrets[0]}`, progressToken: 'p1', own: secrets[5] };
        const text = exportTrace([{ n: 1, at: 0, from: 'page', size: 1, text: JSON.stringify(message) }, { n: 2, at: 0, from: 'stderr', size: 1, text: `token=${secrets[2]}` }], {}, [secrets[5]]);
        for (const secret of secrets) assert.ok(!text.includes(secret), secret);
        assert.equal(JSON.parse(text).messages[0].message.progressToken, 'p1');
    });

    it('makes folders of addresses, and keeps them open', async () => {
        const { Tree } = await web('tree.js');
        const tree = new Tree();
        const items = ['file:///a/b/one', 'file:///a/b/two', 'file:///a/c', 'file:///a/c/three', 'file:///a/d/x', 'file:///a/e/x', 'file:///a/f/x', 'file:///a/g/x'].map(uri => ({ uri }));
        tree.grow(items);
        const labels = () => tree.rows().map(r => '  '.repeat(r.depth) + r.label);
        assert.deepEqual(labels(), ['file:///a/', '  b/', '  c/', '  d/', '  e/', '  f/', '  g/']);
        tree.rows()[2].node.open = true;
        assert.equal(tree.rows()[2].node.item.uri, 'file:///a/c');
        tree.restart();
        tree.grow(items);
        assert.equal(labels()[3], '    three');
    });

    it('reads CSV, and finds the best match', async () => {
        const { parseTable, rowsOf } = await web('table.js');
        assert.deepEqual(parseTable('a,b\r\n"1,""x""\n",2\n'), { columns: ['a', 'b'], rows: [['1,"x"\n', '2']] });
        assert.deepEqual(rowsOf({ commits: [{ id: 1 }, { id: 2, by: 'x' }], next: 'n' }), { columns: ['id', 'by'], rows: [[1, undefined], [2, 'x']] });
        assert.equal(rowsOf([1, 2]), undefined);
        const { search } = await web('fuzzy.js');
        const texts = ['src/readme', 'README.md', 'r e a d', 'other'].map(t => t.toLowerCase());
        const found = await search(texts.length, i => texts[i], 'readme', () => false, async () => {});
        assert.deepEqual(found.indexes, [1, 0]);
    });

    it('reads challenges, and looks for metadata where the specification says', async () => {
        const { challengeOf, metadataUrls, isSafe } = await web('oauth.js');
        assert.deepEqual(challengeOf('DPoP algs="ES256", Bearer error="invalid_token", scope="a \\"b\\"", scope="c", resource_metadata="https://x/y"'),
            { error: 'invalid_token', scope: 'a "b"', resource_metadata: 'https://x/y' });
        assert.deepEqual(challengeOf('Bearer'), {});
        assert.equal(challengeOf('DPoP scope="x"'), undefined);
        assert.equal(challengeOf(null), undefined);
        assert.deepEqual(metadataUrls('https://a/t/1'), ['https://a/.well-known/oauth-authorization-server/t/1', 'https://a/.well-known/openid-configuration/t/1',
            'https://a/t/1/.well-known/openid-configuration']);
        assert.deepEqual(metadataUrls('https://a/'), ['https://a/.well-known/oauth-authorization-server', 'https://a/.well-known/openid-configuration']);
        for (const url of ['https://a/x?y', 'http://127.0.0.1:1/', 'http://localhost/']) assert.ok(isSafe(url), url);
        for (const url of ['http://a/', 'javascript:alert(1)', 'https://u@a/', 'https://a/#x', 'data:,x', '', undefined]) assert.ok(!isSafe(url), `${url}`);
    });

    it('refuses metadata and answers that are not those of the issuer', async () => {
        const { faultOf, responseFault } = await web('oauth.js');
        const issuer = 'https://id.example/t';
        const metadata = { issuer, authorization_endpoint: 'https://login.example/a', token_endpoint: 'https://id.example/token', code_challenge_methods_supported: ['plain', 'S256'] };
        assert.equal(faultOf(metadata, issuer), undefined);
        for (const [change, said] of [[{ issuer: `${issuer}/` }, /another issuer/], [{ issuer: undefined }, /another issuer/], [{ code_challenge_methods_supported: ['plain'] }, /PKCE/],
            [{ code_challenge_methods_supported: undefined }, /PKCE/], [{ token_endpoint: 'https://evil.example/token' }, /may not connect/], [{ token_endpoint: 'http://id.example/token' }, /endpoints/],
            [{ authorization_endpoint: 'javascript:alert(1)' }, /endpoints/], [{ authorization_endpoint: undefined }, /endpoints/]]) assert.match(faultOf({ ...metadata, ...change }, issuer), said);
        const fault = (back, more) => responseFault(back, { state: 's', issuer, metadata: { ...metadata, ...more } });
        assert.equal(fault({ state: 's', code: 'c', iss: issuer }), undefined);
        assert.equal(fault({ state: 's', code: 'c' }), undefined);
        assert.match(fault({ state: 's', code: 'c' }, { authorization_response_iss_parameter_supported: true }), /not that of this issuer/);
        assert.match(fault({ state: 's', code: 'c', iss: `${issuer}/` }), /not that of this issuer/);
        assert.match(fault({ state: 's', error: 'hidden', iss: 'https://evil.example' }), /^the answer is not that of this issuer$/);
        assert.match(fault({ state: 's', error: 'access_denied', iss: issuer }), /access_denied/);
        assert.match(fault({ state: 't', code: 'c', iss: issuer }), /not the answer to this login/);
        assert.match(fault({ state: 's', iss: issuer }), /no code/);
    });

    it('makes rates and quantiles of the figures of a server', async () => {
        const { parse, quantiles, rates, sums } = await web('metrics.js');
        const sample = (ok, buckets) => parse(['# HELP a x', `a_total{method="m,}\\"\\\\",result="ok"} ${ok}`, 'a_total{result="error"} 1', 'a_total{result="ok"} 2', 'g 1.5e3', 'bad{', 'b nan',
            ...['0.1', '1', '+Inf'].map((le, i) => `d_bucket{le="${le}"} ${buckets[i]}`)].join('\n'));
        const before = sample(10, [0, 0, 0]), after = sample(30, [5, 10, 10]);
        assert.equal(after.get('a_total')[0].labels.method, 'm,}"\\');
        assert.deepEqual([...sums(after, 'a_total', 'result')], [['ok', 32], ['error', 1]]);
        assert.deepEqual([...rates(before, after, 2, 'a_total', 'result')], [['ok', 10], ['error', 0]]);
        assert.deepEqual([...rates(after, before, 1, 'a_total', 'result')], [['ok', 12], ['error', 0]]); // the server began again
        assert.equal(sums(after, 'g').get(''), 1500);
        assert.equal(quantiles(before, after, 'd', 0.5).get(''), 0.1);
        assert.equal(quantiles(before, after, 'd', 0.75).get(''), 0.1 + 0.9 / 2);
        assert.equal(quantiles(after, after, 'd', 0.5).get(''), undefined);
        assert.equal(sums(after, 'none').get(''), undefined);
        assert.ok(parse('x 1\n'.repeat(100_000)).get('x').length <= 5000);
        const { ceiling, pathOf } = await web('plot.js');
        assert.deepEqual([0, 0.3, 1, 1.1, 4, 99, 1e6].map(ceiling), [1, 0.5, 1, 2, 5, 100, 1e6]);
        assert.equal(pathOf([0, 1, 2, 3], [1, undefined, 2, 3], x => x, y => y), 'M0.0 1.0M2.0 2.0L3.0 3.0');
    });

    it('matches patterns anywhere, as a schema wants it, and none that could take long', async () => {
        const { patternOf } = await web('form.js');
        for (const [pattern, text, matches] of [['b', 'abc', true], ['^b', 'abc', false], ['^[a-z]+-[0-9]{2}$', 'ab-12', true], ['a--b', 'xa--by', true], ['[a&&b]', '&', true],
            ['(?<y>\\d)', '7', true], ['^\\p{L}*$', 'größe', true]]) assert.equal(patternOf(pattern).test(text), matches, pattern);
        for (const pattern of ['^(a+)+$', 'a*a*a*a*b', `${'a?'.repeat(30)}${'a'.repeat(30)}`, `${'(a|a)'.repeat(30)}b`, '(a{1,9}){1,9}$', '(', 'a'.repeat(101), 7, undefined, null])
            assert.equal(patternOf(pattern), undefined, `${pattern}`);
        const began = performance.now();
        assert.ok(!patternOf('a*a*a*b').test('a'.repeat(100)));
        assert.ok(performance.now() - began < 10_000);
    });

    it('begins a list again whose cursor is refused, once', async () => {
        globalThis.requestAnimationFrame ??= done => setImmediate(done);
        globalThis.scheduler ??= { yield: () => new Promise(done => setImmediate(done)) };
        const { Listing } = await web('listing.js');
        const { Client } = await web('mcp.js');
        // A cursor holds until the list changes; `changes` says before which requests it does.
        const read = async (changes, code = -32602) => {
            let version = 0, asked = 0;
            const request = async (method, { cursor } = {}) => {
                if (changes.includes(++asked)) version++;
                if (cursor !== undefined && cursor !== `c${version}`) throw Object.assign(new Error('no such cursor'), { code });
                return cursor === undefined ? { tools: [{ name: `a${version}` }], nextCursor: `c${version}` } : { tools: [{ name: `b${version}` }] };
            };
            const listing = new Listing({ request, pages: Client.prototype.pages }, 'tools/list', 'tools');
            await listing.load();
            return [listing.items.map(i => i.name).join(' '), listing.complete, listing.loading, listing.error?.message];
        };
        assert.deepEqual(await read([]), ['a0 b0', true, false, undefined]);
        assert.deepEqual(await read([2]), ['a1 b1', true, false, undefined]);
        assert.deepEqual(await read([2, 4]), ['a1', false, false, 'no such cursor']);
        assert.deepEqual(await read([2], -32603), ['a0', false, false, 'no such cursor']);
    });
});
