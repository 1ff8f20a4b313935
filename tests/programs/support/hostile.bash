# hostile.bash: functions for the tests with hostile servers; support/hostile describes the servers.

bats_require_minimum_version 1.5.0

setup() {
    : "${MCPCTL:=mcpctl}"
    hostile=$BATS_TEST_DIRNAME/support/hostile
    bounded=$BATS_TEST_DIRNAME/support/bounded
    export NO_COLOR=1 TERM=xterm LC_ALL=C.UTF-8 HOME=$BATS_TEST_TMPDIR XDG_CONFIG_HOME='' XDG_STATE_HOME=''
    # What takes longer hangs: it is a multiple of the processor time of the longest row. A sanitizer needs more time and
    # memory, in which a message of 300 MB would not be noticed either; one that is just too long is enough.
    most=250 patience=120
    if grep -q -e __asan_init -e __tsan_init "$MCPCTL"; then
        most=500 patience=480
        export HOSTILE_MEGABYTES=70
        export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=8
    fi
    if grep -q __tsan_init "$MCPCTL"; then most=3000; fi
}

teardown() {
    [ -z "${server:-}" ] || kill "$server" 2>/dev/null || :
}

# Starts a server over HTTP; sets $url and $server.
listen() { # KIND [FILE]
    local file=${2:-$BATS_TEST_TMPDIR/url}
    rm -f "$file"
    "$hostile" --http "$1" >"$file" 2>/dev/null 3>&- &
    server=$!
    for _ in {1..1200}; do
        [ ! -s "$file" ] || break
        sleep 0.05
    done
    url=$(cat "$file")
}

stop() {
    kill "$server" 2>/dev/null || :
    wait "$server" 2>/dev/null || :
    server=
}

# table WAY [PATTERN]: runs the tests on stdin, lines of "kind | status | part of the output | command", several at the
# same time, since most of them wait. WAY is stdio or http. The output is stdout if the status is 0, otherwise stderr; it
# must fit on a screen. If the expected output matches PATTERN, only the time-out ends the command: a short one, and a long
# one if that has passed before the server was asked, as it may on a busy machine. Elsewhere the time-out decides nothing:
# support/bounded ends what hangs.
table() {
    local kind wanted says words number=0 failures=$BATS_TEST_TMPDIR/failures
    : >"$failures"
    while IFS='|' read -r kind wanted says words; do
        kind=${kind// /} wanted=${wanted// /}
        says=${says#"${says%%[! ]*}"} says=${says%"${says##*[! ]}"}
        [ $((number += 1)) -le 6 ] || wait -n || :
        # shellcheck disable=SC2254 # a pattern
        case $says in
            'no answer'*) one_row "$1" "$BATS_TEST_TMPDIR/$number" "${words:-ls --timeout 2}" ;;
            ${2:-}) one_row "$1" "$BATS_TEST_TMPDIR/$number" 'ls --timeout 2' >/dev/null ||
                one_row "$1" "$BATS_TEST_TMPDIR/$number" 'ls --timeout 60' ;;
            *) one_row "$1" "$BATS_TEST_TMPDIR/$number" "${words:-ls} --timeout 3600" ;;
        esac >>"$failures" </dev/null 3>&- &
    done
    wait
    cat "$failures"
    [ ! -s "$failures" ]
}

# The folder is for the files of one row. Prints what is wrong, and fails then.
one_row() { # WAY FOLDER COMMAND
    local server='' url where status=0 told=$2/err
    mkdir -p "$2"
    if [ "$1" = http ]; then
        listen "$kind" "$2/url"
        where=(-s "$url")
    else
        where=(-- "$hostile" "$kind")
    fi
    # shellcheck disable=SC2086
    eval "\"\$bounded\" $patience $most \"\$MCPCTL\" $3 \"\${where[@]}\"" >"$2/out" 2>"$2/err" || status=$?
    [ "$1" = stdio ] || stop
    [ $status -ne 0 ] || told=$2/out
    if [ "$status" != "$wanted" ] || ! grep -qF -e "$says" "$told" ||
        [ "$(wc -c <"$2/err")" -gt 8192 ] || grep -q $'\e' "$2/err"; then
        echo "$kind: status $status, not $wanted: $(head -c 2000 "$told")"
        return 1
    fi
}

messages() {
    cat <<'KINDS'
endless       | 4 | has more than 10000 pages
endless       | 4 | has more than 10000 pages   | tree
empty-pages   | 4 | has more than 10000 pages
circle        | 4 | a cursor a second time
swing         | 4 | a cursor a second time
odd-values    | 0 | mem:null
odd-scope     | 4 | /result/cacheScope: expected
odd-values    | 0 | mem:null                    | ls --json
deep-paths    | 0 | mem:///a/a/a                | tree
deep-paths    | 7 | nothing to include          | context zebra
huge          | 4 | 67108864
silent        | 4 | no answer within 0.500 s    | ls --timeout 0.5
silent-later  | 4 | no answer within 0.500 s    | ls --timeout 0.5
drip          | 4 | no answer within
never-asked   | 0 | mem:a
notices       | 4 | no answer within
changes       | 4 | no answer within
deaf          | 4 | no answer within
unknown-questions | 4 | no answer within
endless-message   | 4 | no answer within
progress      | 4 | no answer within            | call --yes --timeout 0.2 t
odd-progress  | 0 | r                           | call --yes t
rounds        | 4 | after 10 rounds             | call --yes t
bad-pattern   | 0 | r                           | call --yes t a=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!
bad-schema    | 0 | r                           | call --yes t a=1
deep-schema   | 0 | r                           | call --yes t a=1
bad-templates | 0 | {v,v                        | template
many-values   | 4 | at most 100 elements        | complete p a
long-instructions | 0 | hostile                 | info
many-versions | 4 | 2099-01-01                  | info
refuses       | 1 | -32000                      | info
KINDS
}
