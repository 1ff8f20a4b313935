# mcpd --check-config is as strict as a start: it rejects every configuration that does not start,
# and names key, line and column.

bats_require_minimum_version 1.5.0

setup() {
    : "${MCPD:=mcpd}"
    cd "$BATS_TEST_TMPDIR"
    mkdir docs
    echo a >docs/a.txt
    here=$PWD
}

certificate() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
        -keyout "$1.key" -out "$1.pem" 2>/dev/null
}

# Each line: the file without its braces | "start" if the start fails too, "check" if it only warns
# | the message after "c.json:".
faults() {
    cat <<'END'
"sources": []|start|1:13: nothing is served: add a folder
"page-size": 3|start|1:1: nothing is served: add a folder
"sources": ["docs", "none"]|check|1:22: HERE/none: No such file or directory
"sources": ["none"]|start|1:14: HERE/none: No such file or directory
"sources": [{"module": "nope", "source": "x"}]|start|1:14: there is no module nope
"sources": ["docs"], "module": ["nope.so"]|start|1:34: module: the module HERE/nope.so: No such file or directory
"sources": ["docs"], "module": "nope.so"|start|1:33: module: the module HERE/nope.so: No such file or directory
"sources": ["docs"], "prompts": "none"|start|1:34: prompts: HERE/none: No such file or directory
"sources": ["docs"], "http": ":0", "token-file": "none"|start|1:51: token-file: HERE/none: No such file or directory
"sources": ["docs"], "http": ":0", "token-file": "bad"|start|1:51: token-file: HERE/bad, line 1: a token must have
"sources": ["docs"], "http": ":0", "tokens": {"a": "b c"}|start|1:53: tokens/a: expected
"sources": ["docs"], "token-file": "tokens"|start|1:37: token-file: it needs http
"sources": ["docs"], "tls-cert": "a.pem"|start|1:35: tls-cert: it needs http
"sources": ["docs"], "tls-key": "a.key"|start|1:34: tls-key: it needs http
"sources": ["docs"], "http": ":0", "tls-cert": "a.pem"|start|1:49: tls-cert: it needs tls-key
"sources": ["docs"], "http": ":0", "tls-key": "a.key"|start|1:48: tls-key: it needs tls-cert
"sources": ["docs"], "http": ":0", "tls-cert": "none", "tls-key": "a.key"|start|1:49: tls-cert: HERE/none
"sources": ["docs"], "http": ":0", "tls-cert": "a.pem", "tls-key": "none"|start|1:69: tls-key: HERE/none
"sources": ["docs"], "http": ":0", "tls-cert": "a.pem", "tls-key": "b.key"|start|1:69: tls-key: HERE/b.key
"sources": ["docs"], "http": ["localhos:1"]|start|1:32: http: 'localhos:1' is not an address
"sources": ["docs"], "http": [":0", "256.1.1.1:80"]|start|1:38: http: '256.1.1.1:80' is not an address
"sources": ["docs"], "http": "unix:none/s"|start|1:31: http: HERE/none/s: No such file or directory
"sources": ["docs"], "tools": [{"name": "t", "command": ["no-such-program"]}]|check|1:59: tool t: there is no executable program no-such-program
"sources": ["docs"], "tools": [{"name": "t", "command": ["true"], "folder": "none"}]|check|1:78: tool t: the folder HERE/none: No such file
"sources": ["docs"], "tools": [{"name": "t", "command": ["docs/a.txt"]}]|check|1:59: tool t: there is no executable program docs/a.txt
END
}

@test "a configuration passes exactly if it starts, and both report the position of an error" {
    certificate a
    certificate b
    (umask 077 && echo a:token >tokens && echo 'a b' >bad)
    while IFS='|' read -r text fails said; do
        printf '{%s}\n' "$text" >c.json
        chmod 600 c.json # it may have tokens
        said=${said//HERE/$here}
        run -1 --separate-stderr "$MCPD" --config c.json --check-config
        [[ -z "$output" && "$stderr" == "c.json:$said"* ]] || { echo "$text"; echo "$stderr"; return 1; }
        if [ "$fails" = start ]; then
            run -1 --separate-stderr timeout 10 "$MCPD" --config c.json </dev/null
            [[ "$stderr" == *"c.json:$said"* ]] || { echo "$text"; echo "$stderr"; return 1; }
        else
            run -0 --separate-stderr timeout 10 "$MCPD" --config c.json --log-level warning </dev/null
            [[ "$stderr" == *"${said#*: }"* ]] || { echo "$text"; echo "$stderr"; return 1; }
        fi
    done < <(faults)
}

@test "several errors are reported together" {
    printf '{"sources": ["docs", "none"],\n "prompts": "none",\n "http": ["localhos:1", "256.1.1.1:1"],\n "token-file": "none",\n "tools": [{"name": "t", "command": ["no-such"]}]}\n' >c.json
    run -1 --separate-stderr "$MCPD" --config c.json --check-config
    [ "$(sed 's/^c.json:\([0-9]*:[0-9]*\): .*/\1/' <<<"$stderr" | tr '\n' ' ')" = '1:22 4:16 2:13 3:11 3:25 5:38 ' ] || { echo "$stderr"; return 1; }
}

@test "values of the command line take precedence, and errors in them are reported as such" {
    printf '{"sources": ["docs"], "prompts": "none"}\n' >c.json
    run -0 "$MCPD" --config c.json --prompts docs --check-config
    run -1 --separate-stderr "$MCPD" --config c.json --prompts nowhere --check-config
    [[ "$stderr" == "mcpd: "*nowhere* && "$stderr" != *c.json* ]]
    run -2 "$MCPD" --tls-cert x docs
    run -2 "$MCPD" --http :0 --tls-key x docs
}

@test "an address that is in use passes, because a running mcpd may use it" {
    printf '{"sources": ["docs"], "http": "unix:s"}\n' >c.json
    "$MCPD" --config c.json 2>log 3>&- &
    server=$!
    for ((i = 0; i < 3000; i++)); do
        ! grep -q serving log || break
        sleep 0.02
    done
    run -0 "$MCPD" --config c.json --check-config
    kill -TERM $server
    wait $server
    [ ! -e s ]
    run -0 "$MCPD" --config c.json --check-config
    [ ! -e s ]
}

@test "the options and names of all sources are checked, whether they exist or not; each fault is reported" {
    sqlite3 shop.db 'CREATE TABLE t(x)'
    cat >c.json <<'END'
{"sources": [
 {"module":"sqlite","source":"shop.db"},
 {"module":"sqlite","source":"none.db","options":{"queries":[{"name":"a","sql":"x"},{"name":"a","sql":"x"}]}},
 {"module":"sqlite","source":"x/shop.db"},
 {"module":"sqlite","source":"shop.db","name":"y","options":{"nope":1}},
 {"module":"sqlite","source":"y/other.db","options":{"tool":"query_sqlite_shop"}}
]}
END
    run -1 --separate-stderr "$MCPD" --config c.json --check-config
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 4 ]
    [ "${stderr_lines[0]}" = 'c.json:3:2: sqlite: the saved query a: the name is used twice' ]
    [[ "${stderr_lines[1]}" == 'c.json:4:2: sqlite: '*'/x/shop.db: another database has its name; choose one: ?name=NAME' ]]
    [[ "${stderr_lines[2]}" == 'c.json:5:'*'unknown key "nope"'* ]]
    [[ "${stderr_lines[3]}" == 'c.json:6:2: sqlite: other: another source has the tool query_sqlite_shop'* ]]
    # the start reports the error too, for a source that does not exist yet
    run -1 --separate-stderr timeout 10 "$MCPD" --config c.json </dev/null
    [ "$stderr" = 'c.json:3:2: sqlite: the saved query a: the name is used twice' ]
}
