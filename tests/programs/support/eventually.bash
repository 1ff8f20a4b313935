# For conditions that hold only after a while.

eventually() { # COMMAND...: runs it until it succeeds, for at least a minute
    local i
    for ((i = 0; i < 1500; i++)); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.04
    done
    echo "not within a minute: $*"
    tail -n 20 ./*.log 2>/dev/null
    return 1
}
