# What the tests of mcpctl share: a folder and a home of their own, the fixture servers, a terminal.

bats_require_minimum_version 1.5.0

setup() {
    : "${MCPCTL:=mcpctl}" "${MCPD:=mcpd}"
    workshop=$BATS_TEST_DIRNAME/support/workshop
    stranger=$BATS_TEST_DIRNAME/support/stranger
    esc=$'\e'
    unset COLUMNS
    export NO_COLOR=1 TERM=xterm LC_ALL=C.UTF-8
    export HOME=$BATS_TEST_TMPDIR/home XDG_CONFIG_HOME='' XDG_STATE_HOME=''
    mkdir "$HOME" "$BATS_TEST_TMPDIR/work"
    cd "$BATS_TEST_TMPDIR/work"
}

# Runs after failed tests too: a process that keeps bats's own descriptor open would block bats.
teardown() {
    kill ${server:-} ${others:-} 2>/dev/null || :
}

# mcpd at an address: $url, $server.
serve() {
    "$MCPD" --http 127.0.0.1:0 "$@" 2>log 3>&- &
    server=$!
    url=
    for _ in {1..50}; do
        url=$(grep -Eo 'https?://[^ ]*' log) && break
        sleep 0.1
    done
}

# What it shows on a terminal, on which TYPED is typed; without the carriage returns that the terminal adds.
# Enter is a carriage return, as a keyboard sends it: line editing turns a newline into one, where no reader of whole
# lines would find its end. With STAY=1 its input does not end after
# that: an end that is typed ahead may overtake the last answer.
on_terminal() {
    local line typed=$BATS_TEST_TMPDIR/typed fd
    printf -v line '%q ' "$@"
    if [ "${STAY:-}" ]; then
        rm -f "$typed"
        mkfifo "$typed"
        exec {fd}<>"$typed"
        printf "${TYPED:-}" | tr '\n' '\r' >&$fd
        SHELL=/bin/bash script -qec "$line" /dev/null <"$typed" | sed 's/\r$//'
        exec {fd}>&-
    else
        printf "${TYPED:-}" | tr '\n' '\r' | SHELL=/bin/bash script -qec "$line" /dev/null | sed 's/\r$//'
    fi
}

apart() {
    run --separate-stderr "$@"
}
