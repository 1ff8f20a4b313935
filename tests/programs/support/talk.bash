# talk.bash: a conversation with a server over its stdin and stdout, in either era, for bats tests.
#
#   talk ERA PROGRAM...      starts the server; ERA is modern, or legacy, which begins with a handshake
#   capabilities=JSON        set before `talk`: the client's capabilities; the default is {}
#   request METHOD PARAMS    sends a request; meta=MEMBERS before it adds members to its _meta
#   say JSON                 sends anything
#   hear FILTER              waits for a message that passes the jq filter, skips others, and sets $heard
#   answer                   waits for the answer to the last request and sets $heard
#   result METHOD PARAMS     sends a request, waits for the answer and sets $heard to its result
#   failure METHOD PARAMS    the same for an error
#   is WANTED [FILTER]       checks that the jq filter converts $heard to WANTED, byte for byte
#   hush                     closes the server's input; the server must exit with status 0
#
# These functions do not work in a subshell, which has neither the pipes nor the counter of ids.

talk() {
    era=$1 last_id=0 heard=
    shift
    mkfifo "$BATS_TEST_TMPDIR/to" "$BATS_TEST_TMPDIR/from"
    "$@" <"$BATS_TEST_TMPDIR/to" >"$BATS_TEST_TMPDIR/from" 2>"$BATS_TEST_TMPDIR/talk.log" 3>&- &
    server_pid=$!
    exec {to}>"$BATS_TEST_TMPDIR/to" {from}<"$BATS_TEST_TMPDIR/from"
    rm "$BATS_TEST_TMPDIR/to" "$BATS_TEST_TMPDIR/from"
    [ "$era" = legacy ] || return 0
    result initialize '{"protocolVersion":"2025-11-25","clientInfo":{"name":"talk","version":"1"},
        "capabilities":'"${capabilities:-{\}}}"
    say '{"jsonrpc":"2.0","method":"notifications/initialized"}'
}

say() { printf '%s\n' "${1//$'\n'/ }" >&"$to"; }

request() {
    local in_meta=${meta:-} members=${2#\{}
    members=${members%\}}
    last_id=$((last_id + 1))
    [ "$era" = legacy ] || in_meta='"io.modelcontextprotocol/protocolVersion":"2026-07-28",
        "io.modelcontextprotocol/clientInfo":{"name":"talk","version":"1"},
        "io.modelcontextprotocol/clientCapabilities":'"${capabilities:-{\}}${in_meta:+,}$in_meta"
    [ -z "$in_meta" ] || members+="${members:+,}\"_meta\":{$in_meta}"
    say "{\"jsonrpc\":\"2.0\",\"id\":$last_id,\"method\":\"$1\",\"params\":{$members}}"
}

# The optional second argument is a string that the message must contain; it saves calls of jq.
hear() {
    while IFS= read -r -t 20 heard <&"$from"; do
        [[ $heard == *"${2:-}"* ]] && jq -e "$1" >/dev/null <<<"$heard" && return 0
    done
    echo "waited in vain for: $1" >&2
    cat "$BATS_TEST_TMPDIR/talk.log" >&2
    return 1
}

# The filter excludes requests of the server, whose ids are counted separately.
answer() { hear ".id == $last_id and (has(\"method\") | not)" "\"id\":$last_id"; }

result() {
    request "$@"
    answer
    heard=$(jq -ce '.result // error("no result: \(.)")' <<<"$heard")
}

failure() {
    request "$@"
    answer
    heard=$(jq -ce '.error // error("no error: \(.)")' <<<"$heard")
}

is() {
    local got
    got=$(jq -c "${2:-.}" <<<"$heard")
    [ "$got" = "$1" ] || { printf 'got:    %s\nwanted: %s\n' "$got" "$1"; return 1; }
}

hush() {
    exec {to}>&-
    local status=0
    wait "$server_pid" || status=$?
    exec {from}<&-
    [ "$status" -eq 0 ] || cat "$BATS_TEST_TMPDIR/talk.log" >&2
    return "$status"
}
