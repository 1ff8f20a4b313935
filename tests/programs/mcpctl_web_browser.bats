#!/usr/bin/env bats
# mcpctl web in a browser: the way in, and what a page of another origin gets. Skipped without Chromium.

load support/eventually
load support/mcpctl

setup_file() {
    command -v chromium >/dev/null || skip "chromium is not installed"
}

# look URL [OPTIONS]: prints the document that the browser ends with.
look() {
    HOME=$BATS_TEST_TMPDIR timeout 120 chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage \
        --user-data-dir="$BATS_TEST_TMPDIR/profile" --virtual-time-budget=20000 --dump-dom "${@:2}" "$1" 2>/dev/null 3>&-
}

# visit URL: opens it in a browser that goes on; pages() lists what it shows. (A document that is printed may be that of a
# page that another is about to replace.)
visit() {
    HOME=$BATS_TEST_TMPDIR chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage \
        --user-data-dir="$BATS_TEST_TMPDIR/kept" --remote-debugging-port=0 "$1" 2>devtools 3>&- >&2 </dev/null &
    others=$!
    eventually grep -q '^DevTools listening' devtools
}

pages() {
    curl -s -m 30 "$(sed -n 's|^DevTools listening on ws://\([0-9.:]*\)/.*|http://\1/json/list|p' devtools)"
}

shows() { # ORIGIN TITLE: the browser shows a page of this origin, without the code in its address
    pages | jq -e --arg url "$1/" --arg title "$2" '.[] | select(.url == $url and (.title | test($title)))'
}

start() {
    env --default-signal=INT "$MCPCTL" web "$@" >said 2>&1 3>&- </dev/null &
    server=$!
    eventually grep -q 'Ctrl-C ends' said
}

@test "the file that is opened leads to the page, which gets in" {
    cat >browser <<BROWSER
#!/bin/sh
cp "\${1#file://}" "$PWD/copy.html"
echo "\$1" >"$PWD/opened"
BROWSER
    chmod +x browser
    BROWSER=$PWD/browser start -- "$MCPD" .
    eventually [ -s opened ]
    origin=$(sed -n 's|.*url=\(http://[0-9.:]*\)/#code=.*|\1|p' copy.html)
    code=$(sed -n 's|.*url=http.*/#code=\([0-9a-f]*\)".*|\1|p' copy.html)
    visit "$(cat opened)"
    eventually shows "$origin" 'mcpctl-web'
    # the code was used, so the file is gone; a copy of it is of no use
    eventually [ ! -e "$(sed 's|file://||' opened)" ]
    curl -s "$origin/web/secret" -H 'Content-Type: application/json' -d "{\"code\":\"$code\"}" | grep -q '"error":"used"'
    kill $others
    wait $others || true
    visit "file://$PWD/copy.html"
    eventually grep -q 'used a second time' said
}

@test "a page of another origin gets nothing, not even with the secret" {
    start --no-open -- "$MCPD" .
    origin=$(sed -n 's|^  \(http://.*\)/#code=.*|\1|p' said)
    code=$(sed -n 's|^  http://.*/#code=||p' said)
    secret=$(curl -s "$origin/web/secret" -H 'Content-Type: application/json' -d "{\"code\":\"$code\"}" | jq -r .secret)
    [ "${#secret}" -eq 64 ]
    mkdir other
    cat >other/index.html <<HTML
<!doctype html><pre id=out></pre>
<script>
const o = "$origin", secret = "Bearer $secret", json = { "Content-Type": "application/json" };
const tell = (text) => (document.querySelector("#out").textContent += text + "\n");
const attempt = async (name, fn) => { try { tell(name + ": " + (await fn())); } catch (error) { tell(name + ": nothing"); } };
const element = (name, members) => new Promise((resolve, reject) => {
  const e = Object.assign(document.createElement(name), members);
  e.onload = () => resolve("LOADED");
  e.onerror = reject;
  document.body.append(e);
});
const opened = (e) => new Promise((resolve, reject) => { e.onopen = () => resolve("OPENED"); e.onerror = reject; });
(async () => {
  await attempt("config", async () => (await fetch(o + "/web/config")).status);
  await attempt("secret", async () => (await fetch(o + "/web/secret", { method: "POST", headers: json, body: '{"code":"$code"}' })).status);
  await attempt("about", async () => (await fetch(o + "/web/about", { method: "POST", headers: { ...json, Authorization: secret }, body: "{}" })).status);
  await attempt("mcp", async () => (await fetch(o + "/mcp", { method: "POST", headers: { ...json, Authorization: secret }, body: "{}" })).status);
  await attempt("script", () => element("script", { src: o + "/app.js" }));
  await attempt("module", () => element("script", { src: o + "/app.js", type: "module" }));
  await attempt("image", () => element("img", { src: o + "/icon.svg" }));
  await attempt("events", () => opened(new EventSource(o + "/mcp")));
  await attempt("socket", () => opened(new WebSocket(o.replace("http", "ws") + "/mcp")));
  await attempt("frame", async () => {
    await element("iframe", { src: o + "/" });
    return document.querySelector("iframe").contentDocument === null && frames[0].length === 0 ? "an error page" : "SHOWN";
  });
  tell("end");
})();
</script>
HTML
    cat >serve.py <<'PYTHON'
import functools, http.server
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory="other")
with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
    print(server.server_address[1], flush=True)
    server.serve_forever()
PYTHON
    python3 serve.py >port 2>/dev/null 3>&- &
    others=$!
    for _ in {1..600}; do [ -s port ] && break; sleep 0.1; done
    # the document may be printed too early, because virtual time does not wait for every kind of connection
    for _ in {1..5}; do
        look "http://127.0.0.1:$(cat port)/" >seen
        grep -q '^end' seen && break
    done
    cat seen
    for name in config secret about mcp script module image events socket; do
        grep -q "$name: nothing" seen
    done
    grep -q 'frame: an error page' seen
    grep -q '^end' seen
    # DNS rebinding: another name that resolves to this machine
    look "http://evil.example:${origin##*:}/" --host-resolver-rules='MAP evil.example 127.0.0.1' >seen
    grep -q 'requests for this Host are not allowed' seen
}
