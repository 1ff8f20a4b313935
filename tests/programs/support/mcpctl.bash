# What the tests of mcpctl share: a separate folder and home for each test, the fixture servers, a terminal.

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

# This also runs after failed tests, because a process that keeps a descriptor of bats open would block bats.
teardown() {
    kill ${server:-} ${others:-} 2>/dev/null || :
}

# Starts mcpd over HTTP; sets $url and $server.
serve() {
    : >log # remove the lines of the previous server
    "$MCPD" --http 127.0.0.1:0 "$@" 2>log 3>&- &
    server=$!
    url=
    for _ in {1..600}; do
        url=$(grep -Eo 'https?://[^ ]*' log) && break
        sleep 0.1
    done
}

# Runs a command on a terminal, types TYPED, and prints the output without the carriage returns that the terminal adds.
# Enter is sent as a carriage return, as a keyboard does, because line editing would convert a newline to one, and a
# program that reads whole lines would not find the end of the line. With STAY=1, the input does not end after TYPED,
# because an end of input that is typed ahead may be processed before the last answer.
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
