# late.bash: sources whose mistakes are found only by reading them, for bats tests.

# refused_late URI TEXT ARGUMENT...: checks that a source of this server is refused with TEXT: at the
# start if it is read in the server's process (support/near), and otherwise by a read of the URI. What is before the last
# ": " of TEXT is the name of a file, which is in the log and not in the answer.
refused_late() {
    local failed= uri=$1 text=$2
    shift 2
    if [ -n "${MCPD_NEAR:-}" ]; then
        run -1 --separate-stderr timeout 20 "$MCPD" "$@" </dev/null
        [ -z "$output" ] || failed=yes
    else
        run -0 --separate-stderr timeout 20 "$MCPD" "$@" < <(jq -nc --arg uri "$uri" '{jsonrpc: "2.0", id: 1,
            method: "resources/read", params: {$uri, _meta: {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {name: "late", version: "1"},
            "io.modelcontextprotocol/clientCapabilities": {}}}}')
        [[ "$(jq -r .error.message <<<"$output")" == *"${text##*: }"* ]] || failed=yes
    fi
    [[ -z "$failed" && "$stderr" == *"$text"* ]] || { printf '%s:\n%s\n%s\n' "$*" "$output" "$stderr"; return 1; }
}
