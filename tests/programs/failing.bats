# Sources that fail beside one that works: a table of sources and of ways to fail. Whatever fails, the list has the
# other source, the answer about the failed one says so, and so do the log, /metrics and --doctor. When the source
# is mended, list_changed follows.

bats_require_minimum_version 1.5.0

setup() {
    load support/talk
    : "${MCPD:=mcpd}" "${MCPCTL:=mcpctl}"
    cd "$BATS_TEST_TMPDIR"
    export HOME=$BATS_TEST_TMPDIR GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b \
        GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@b
    mkdir good
    echo hi >good/a.txt
}

teardown() {
    [ -z "${holder:-}" ] || kill "$holder" 2>/dev/null || :
}

has() { [[ $1 == *"$2"* ]] || { echo "\"$2\" is not in: $1"; return 1; }; }

new_repository() {
    git init -q -b main repo
    (cd repo && echo 1 >f && git add f && git commit -q -m c)
}

# A server of MCP whose answers to lists are made by the Python expression in $1 from the right answer `j`.
new_server() {
    cat >server.py <<'PY'
import sys, json, time
for line in sys.stdin:
    m = json.loads(line)
    if 'id' not in m:
        continue
    r = {'initialize': {'protocolVersion': '2025-06-18', 'capabilities': {'resources': {}},
                        'serverInfo': {'name': 'x', 'version': '1'}},
         'resources/list': {'resources': [{'uri': 'x://1', 'name': 'one'}]}}.get(m['method'])
    j = json.dumps({'jsonrpc': '2.0', 'id': m['id'],
                    **({'result': r} if r else {'error': {'code': -32601, 'message': 'no'}})})
    if m['method'] == 'resources/list':
        j = eval(open('how').read())
    if j:
        print(j, flush=True)
PY
    printf '%s' "$1" >how
}

# Sets source, uri (of the entry), why (in errors, the log and the report), read (what to read, if the entry itself can
# be read), said (the error of the read, if it is another one) and mend (a command, if the source can be mended).
damage() { # KIND WAY
    mend= read= said=
    case $1-$2 in
    git-*) new_repository; source=git:repo uri=git://repo/ why='cannot be read now' ;;&
    git-head) cp repo/.git/HEAD kept; : >repo/.git/HEAD; mend='cp kept repo/.git/HEAD' ;;
    git-pipe) cp repo/.git/HEAD kept; rm repo/.git/HEAD; mkfifo repo/.git/HEAD
        mend='rm repo/.git/HEAD; cp kept repo/.git/HEAD' ;;
    git-branch) cp repo/.git/refs/heads/main kept; : >repo/.git/refs/heads/main
        mend='cp kept repo/.git/refs/heads/main' ;;
    git-commit) object=repo/.git/objects/$(git -C repo rev-parse HEAD | sed 's|^..|&/|'); cp "$object" kept
        chmod u+w "$object"; : >"$object"; mend="cp kept $object" read=git://repo/HEAD/ ;;
    sqlite-encrypted) openssl rand 4096 >data.db; source=sqlite:data.db uri=sqlite://data/ why='not a database' ;;
    sqlite-locked) sqlite3 data.db 'CREATE TABLE t(a)'
        python3 -c "
import sqlite3, time
c = sqlite3.connect('data.db', isolation_level=None)
c.execute('begin exclusive')
print(1, flush=True)
time.sleep(600)" >held 3>&- &
        holder=$!
        for _ in {1..1200}; do [ -s held ] && break; sleep 0.05; done
        source='sqlite:data.db?timeout_ms=200' uri=sqlite://data/ why='The database data cannot be read now' said='is busy or locked' mend='kill $holder' ;;
    upstream-*) uri=mcp+x: source='mcp:python3 server.py?name=x&first_list_ms=2000&list_ms=2000' ;;&
    upstream-dead) source='mcp:false?name=x' why='The server x does not answer' ;;
    upstream-hung) new_server 'None' why='The server x does not answer: it is slow' ;;
    upstream-malformed) new_server 'j[:-1] + ",}"'; why='invalid JSON at byte' mend='echo j >how' ;;
    upstream-long) new_server 'j + " " * 200000'; source+='&max_answer=100000' why='longer than 100000 bytes'; mend='echo j >how' ;;
    esac
}

fails_alone() { # KIND WAY
    damage "$1" "$2"
    talk legacy "$MCPD" --http unix:socket --stdio "$source" good
    result resources/list '{}'
    is true "[.resources[].uri | endswith(\"/good/a.txt\")] | any"
    is "[\"$uri\"]" "[.resources[] | select(.description // \"\" | startswith(\"This source cannot\")) | .uri]"
    is "[\"$uri\"]" '._meta["libmcp/left-out"]'
    failure resources/read "{\"uri\":\"${read:-$uri}\"}"
    has "$heard" "${said:-$why}"
    result resources/read "{\"uri\":\"file://$PWD/good/a.txt\"}"
    has "$(cat talk.log)" "warning: $uri: lists of resources are without it: "
    has "$(grep -F "warning: $uri: lists" talk.log)" "$why"
    has "$(curl -s --unix-socket socket http://localhost/metrics)" "mcp_source_left_out_total{source=\"$uri\"} 1"
    run "$MCPD" --doctor "$source" good
    has "$output" "$why"
    [ -n "$mend" ] || { hush; return 0; }
    eval "$mend"
    hear '.method == "notifications/resources/list_changed"'
    result resources/list '{}'
    is '[]' "[.resources[] | select(.description // \"\" | startswith(\"This source cannot\")) | .uri]"
    is null '._meta["libmcp/left-out"]'
    hush
}

@test "git: HEAD is empty" { fails_alone git head; }
@test "git: HEAD is a pipe" { fails_alone git pipe; }
@test "git: the file of the branch is empty" { fails_alone git branch; }
@test "git: the commit is empty" { fails_alone git commit; }
@test "SQLite: an encrypted file" { [ -z "${MCPD_NEAR:-}" ] || skip "it stops the start"; fails_alone sqlite encrypted; }
@test "SQLite: another program has locked the file" { fails_alone sqlite locked; }
@test "a program that ends" { fails_alone upstream dead; }
@test "a program that does not answer" { fails_alone upstream hung; }
@test "a program that answers with no JSON" { fails_alone upstream malformed; }
@test "a program that answers with too much" { fails_alone upstream long; }

@test "a folder that is removed while it is served, and made again" {
    mkdir ill
    echo first >ill/b.txt
    talk legacy "$MCPD" --http unix:socket --stdio ill good
    result resources/list '{}'
    is true '[.resources[].uri | endswith("/ill/b.txt")] | any'
    result resources/subscribe "{\"uri\":\"file://$PWD/ill/b.txt\"}"
    rm -r ill
    hear '.method == "notifications/resources/list_changed"'
    result resources/list '{}'
    is true '[.resources[].uri | endswith("/good/a.txt")] | any'
    is "[\"file://$PWD/ill\"]" '[.resources[] | select(.description // "" | startswith("This source cannot")) | .uri]'
    is "[\"file://$PWD/ill\"]" '._meta["libmcp/left-out"]'
    failure resources/read "{\"uri\":\"file://$PWD/ill\"}"
    has "$heard" 'cannot be read now: there is no folder at its path'
    has "$(cat talk.log)" "warning: file://$PWD/ill: lists of resources are without it: there is no folder at its path"
    has "$(curl -s --unix-socket socket http://localhost/metrics)" 'mcp_source_left_out_total{source="file:"} 1'
    run --separate-stderr "$MCPCTL" ls -s "unix:$PWD/socket"
    has "$stderr" "the list is incomplete. These did not answer: file://$PWD/ill"
    mkdir ill
    echo second >ill/b.txt
    hear '.method == "notifications/resources/updated"'
    result resources/read "{\"uri\":\"file://$PWD/ill/b.txt\"}"
    is '"second\n"' '.contents[0].text'
    result resources/list '{}'
    is null '._meta["libmcp/left-out"]'
    hush
}

@test "mcpctl says which sources a list is without" {
    new_server None
    for command in 'ls' 'ls --json' 'find hi a.txt' tree; do
        run --separate-stderr "$MCPCTL" $command -- "$MCPD" 'mcp:python3 server.py?name=x&first_list_ms=200' good
        has "$stderr" 'warning: the list is incomplete. These did not answer: mcp+x:'
        case $command in find*) ;; *) [ "$status" -eq 0 ]; has "$output" a.txt ;; esac
    done
    run --separate-stderr "$MCPCTL" ls -q -- "$MCPD" 'mcp:python3 server.py?name=x&first_list_ms=200' good
    [ "$stderr" = "" ]
    run --separate-stderr "$MCPCTL" ls -- "$MCPD" good
    [ "$stderr" = "" ]
}

@test "the resource tools say which sources they did without" {
    new_server None
    for call in list_resources 'find_resources name=a' 'search_resources query=hi'; do
        run --separate-stderr "$MCPCTL" call --yes $call -- "$MCPD" --resource-tools 'mcp:python3 server.py?name=x&first_list_ms=200' good
        has "$output" 'These sources do not answer now, and are left out: mcp+x:.'
        has "$output" a.txt
    done
}
