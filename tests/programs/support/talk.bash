# talk.bash: a conversation with a server over its stdin and stdout, in either era, for bats tests.
#
#   talk ERA PROGRAM...      starts the server; ERA is modern or legacy, which has a handshake
#   capabilities=JSON        set before: what the client declares; {} when unset
#   request METHOD PARAMS    sends a request; meta=MEMBERS in front of it: what else stands in its _meta
#   say JSON                 sends anything
#   hear FILTER              waits for a message that passes the jq filter, skipping others: $heard
#   answer                   waits for the answer to the last request: $heard
#   result METHOD PARAMS     request and answer: its result is $heard
#   failure METHOD PARAMS    the same for an error
#   is WANTED [FILTER]       what the jq filter makes of $heard is what is wanted, byte for byte
#   hush                     ends the input; the server must end well
#
# Nothing of this works in a subshell, which has neither the pipes nor the count of ids.

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

# The second argument, a text that has to be in it, is there to be quick.
hear() {
    while IFS= read -r -t 20 heard <&"$from"; do
        [[ $heard == *"${2:-}"* ]] && jq -e "$1" >/dev/null <<<"$heard" && return 0
    done
    echo "waited in vain for: $1" >&2
    cat "$BATS_TEST_TMPDIR/talk.log" >&2
    return 1
}

# A server that asks counts its own requests.
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
