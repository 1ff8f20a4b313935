// bearer.mjs URL TOKEN: a proxy that adds the token, which the suite cannot send. Prints its own URL. Heads and bodies
// pass as they are.
import http from 'node:http';

const to = new URL(process.argv[2]);
const authorization = `Bearer ${process.argv[3]}`;

const server = http.createServer((req, res) => {
    const options = { host: to.hostname, port: to.port, method: req.method, path: req.url, setHost: false };
    const out = http.request({ ...options, headers: [...req.rawHeaders, 'Authorization', authorization] }, (answer) => {
        res.writeHead(answer.statusCode, answer.rawHeaders);
        res.flushHeaders();
        answer.pipe(res);
    });
    out.on('error', () => res.destroy());
    res.on('close', () => out.destroy());
    req.pipe(out);
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}${to.pathname}`));
