#!/usr/bin/env bats
# mcpctl, and with it the client library, against hostile servers over stdio. It always ends in time
# and in bounded memory, with a clear message and status, and no server controls the terminal.

load support/hostile.bash

@test "over stdio: endless lists, messages and requests" {
    { messages && cat <<'KINDS'; } | table stdio
dies          | 3 | signal 9
dies-at-once  | 3 | signal 9
half          | 3 | signal 9
KINDS
}

@test "a malformed message is reported with its fault" {
    table stdio '*' <<'KINDS'
malformed-no-json       | 4 | invalid JSON
malformed-cut           | 4 | invalid JSON
malformed-array         | 4 | batches
malformed-null          | 4 | could not be read
malformed-deep          | 4 | nested deeper
malformed-deep-result   | 4 | nested deeper
malformed-no-version    | 4 | "jsonrpc" must be "2.0"
malformed-twice         | 4 | the key "id" twice
malformed-both          | 4 | not both
malformed-neither       | 4 | a "result" or an "error"
malformed-list-result   | 4 | array instead of an object
malformed-bad-error     | 4 | "error" must be an object
malformed-bad-code      | 1 | error
malformed-not-utf8      | 0 | 
malformed-surrogate     | 0 | 
malformed-nul           | 4 | invalid JSON
malformed-mark          | 4 | byte order mark
malformed-other-types   | 4 | /result/nextCursor: expected string, got integer
KINDS
}

@test "a list in memory has a limit" {
    most=$((most * 8)) patience=$((patience * 2))
    table stdio <<'KINDS'
many | 5 | without --sort | ls --sort name
KINDS
}

@test "a flood on stderr, and a server that does not end" {
    table stdio <<'KINDS'
stderr         | 0 | mem:a
stderr-forever | 4 | no answer within
KINDS
    # Its child keeps the pipes open, so the whole process group must be killed.
    run "$bounded" "$patience" "$most" "$MCPCTL" ls -- "$hostile" clings "$BATS_TEST_TMPDIR"
    [ "$status" -eq 0 ]
    [ "$output" = mem:a ]
    for _ in {1..600}; do
        pgrep -f "perl .*hostile clings $BATS_TEST_TMPDIR" >/dev/null || break
        sleep 0.1
    done
    ! pgrep -f "perl .*hostile clings $BATS_TEST_TMPDIR"
}

# Checks that the output has no control characters except newlines, carriage returns before them,
# and the sequence that clears the progress bar, and no bidirectional controls. (The marks U+061C,
# U+200E and U+200F do not reorder text and are needed in Arabic and Hebrew.)
plain() {
    ! sed 's/\r\x1b\[K//g; s/\r*$//' "$1" | grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]'
}

@test "escapes in every string reach no terminal, over stdio and HTTP" {
    local line words where=() typed
    export TERM=dumb # no progress bar, whose escapes are not the server's
    listen escapes
    while IFS='|' read -r words typed; do
        for where in "-- $hostile escapes" "-s $url"; do
            line="$MCPCTL $words $where"
            printf "%b" "$typed" | LC_ALL=C SHELL=/bin/bash script -qec "$line" /dev/null >"$BATS_TEST_TMPDIR/shown" 2>&1 || :
            [ -s "$BATS_TEST_TMPDIR/shown" ]
            if ! LC_ALL=C plain "$BATS_TEST_TMPDIR/shown"; then
                echo "$line: $(cat -v "$BATS_TEST_TMPDIR/shown")"
                return 1
            fi
        done
    done <<'COMMANDS'
info
info --json
ls
ls --long
ls --json
tree
tree --json
find n
find --json n
read mem:a
read --json mem:a
context n
context --explain n
context --json n
template
template --json
complete p a
complete --json p a
prompts --long
prompts --json
prompt p a=1
prompt --json p a=1
tools --long
tools --json
call --yes t
call --json --yes t
call t a=1|n\n
call --yes nothing
read --tail 1 mem:a
COMMANDS
}
