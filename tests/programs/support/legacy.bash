# legacy OPTIONS... -- MESSAGE...: prints the replies of mcpd to these requests in the order of their ids, without that of
# the handshake, which is $initialize. Its input ends when all replies are there, because mcpd waits only for some seconds
# after that. $TRACE may be a command that runs it.
legacy() {
    local args=() folder pid status=0 to
    while [ "$1" != -- ]; do args+=("$1"); shift; done
    shift
    folder=$(mktemp -d "$BATS_RUN_TMPDIR/legacy.XXXXXX")
    mkfifo "$folder/requests"
    : >"$folder/replies" # the process makes it later than it is looked at
    $TRACE "$MCPD" "${args[@]}" <"$folder/requests" >"$folder/replies" 3>&- &
    pid=$!
    exec {to}>"$folder/requests"
    printf '%s\n' "$initialize" "$@" >&$to
    for _ in {1..1200}; do
        [ "$(grep -c '"id":' "$folder/replies")" -le $# ] && kill -0 $pid 2>/dev/null || break
        sleep 0.05
    done
    exec {to}>&-
    wait $pid || status=$?
    jq -sc 'map(select(has("id") and .id != "i")) | sort_by(.id)' "$folder/replies"
    return $status
}
