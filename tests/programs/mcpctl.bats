#!/usr/bin/env bats
# mcpctl with a correct server, with faulty ones, and with mcpd; piped and on a terminal.

setup() {
    : "${MCPCTL:=mcpctl}" "${MCPD:=mcpd}"
    stranger=$BATS_TEST_DIRNAME/support/stranger
    esc=$'\e'
    export NO_COLOR=1 HOME=$BATS_TEST_TMPDIR XDG_CONFIG_HOME= XDG_STATE_HOME=
}

# Prints the output of a command on a terminal, without the carriage returns that the terminal adds.
on_terminal() {
    local line
    printf -v line '%q ' "$@"
    SHELL=/bin/bash script -qec "$line" /dev/null | sed 's/\r$//'
}

# Runs a command with stdout and stderr in separate variables.
apart() {
    run --separate-stderr "$@"
}
bats_require_minimum_version 1.5.0

@test "without a command, a server or a known option: usage, exit 2" {
    run "$MCPCTL"
    [ "$status" -eq 2 ]
    [[ $output == *"mcpctl --help"* ]]
    run "$MCPCTL" ls
    [ "$status" -eq 2 ]
    [[ $output == *"mcpctl ls [GLOB...] -- mcpd"* ]]
    run "$MCPCTL" ls --
    [ "$status" -eq 2 ]
    run "$MCPCTL" lss -- "$stranger"
    [ "$status" -eq 2 ]
    [[ $output == *"no command 'lss'"* ]]
    run "$MCPCTL" cat a -- "$stranger"
    [[ $output == *"did you mean 'read'"* ]]
    run "$MCPCTL" help read
    [ "$status" -eq 0 ]
    [[ $output == "Usage: mcpctl read"* ]]
    run "$MCPCTL" ls --lang -- "$stranger"
    [ "$status" -eq 2 ]
    [[ $output == *"unknown option --lang"* ]]
    run "$MCPCTL" ls --force -- "$stranger"
    [ "$status" -eq 2 ]
    [[ $output == *"ls has no option --force"* ]]
    run "$MCPCTL" info there -- "$stranger"
    [ "$status" -eq 2 ]
    run "$MCPCTL" read -- "$stranger"
    [ "$status" -eq 2 ]
    [[ $output == *"URI..."* ]]
    for bad in 0 -1 1s 1.2345 . ''; do
        run "$MCPCTL" ls --timeout "$bad" -- "$stranger"
        [ "$status" -eq 2 ]
    done
    run "$MCPCTL" ls --timeout -- "$stranger"
    [ "$status" -eq 2 ]
    [[ $output == *"--timeout SECONDS"* ]]
    run "$MCPCTL" ls --json=yes -- "$stranger"
    [ "$status" -eq 2 ]
    run "$MCPCTL" ls --revision 2025-06-19 -- "$stranger"
    [ "$status" -eq 2 ]
    [[ $output == *"2026-07-28, 2025-11-25"* ]]
}

@test "--help, --version; the manual is generated from the same tables" {
    run "$MCPCTL" --help
    [ "$status" -eq 0 ]
    [[ $output == *"Commands:"*"read"*"Exit status:"* ]]
    run "$MCPCTL" read --help
    [ "$status" -eq 0 ]
    [[ $output == *"URI..."*"--force"* ]]
    [[ $output != *"--long"* ]]
    run "$MCPCTL" --version
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == "mcpctl "[0-9]* && ${lines[1]} == "Model Context Protocol 2026-07-28, "*2024-11-05 ]]
    "$MCPCTL" --help-man | diff "$BATS_TEST_DIRNAME/../../man/mcpctl.1" -
    run "$MCPCTL" --help-man
    [ "$status" -eq 0 ]
    [[ ${lines[1]} == ".TH MCPCTL 1"* ]]
    local page=${output//\\-/-}
    for option in $("$MCPCTL" --help | grep -o '^  --[a-z-]*') --long --force; do
        [[ $page == *"$option"* ]]
    done
    if command -v groff >/dev/null; then
        [ -z "$("$MCPCTL" --help-man | groff -man -Tutf8 -ww 2>&1 >/dev/null)" ]
    fi
}

@test "the help of a command begins with its own options, and points at those for logins" {
    for words in 'call --args' 'watch --read' 'read --range' 'ls --long'; do
        read -r name option <<<"$words"
        run "$MCPCTL" help "$name"
        [[ $output == *$'\nOptions:\n  --'* ]]
        first=${output#*$'\nOptions:\n'}
        [[ ${first%%--server*} == *"$option"* ]]
        [[ $output == *"mcpctl help login"* ]]
        [[ $output != *"--client-id"* ]]
    done
    run "$MCPCTL" help trace
    [[ $output != *"--client-id"* ]]
    for words in 'help login' --help; do
        run "$MCPCTL" $words
        [[ ${output#*Options for logins} == *"--client-id"* ]]
        [[ ${output#*Options for logins} != *"--server"* ]]
    done
}

@test "a list that the server does not offer: what it offers instead" {
    cat >"$BATS_TEST_TMPDIR/toolsonly" <<'SERVER'
while IFS= read -r line; do
    [[ $line =~ \"id\":([0-9]+) ]] && id=${BASH_REMATCH[1]}
    case $line in
    *server/discover*) result='{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}' ;;
    *tools/list*) result='{"tools":[{"name":"hammer","inputSchema":{"type":"object"}},{"name":"saw\u001b","inputSchema":{"type":"object"}}]}' ;;
    *) continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
SERVER
    for command in ls tree 'ls --sort uri'; do
        apart "$MCPCTL" $command -- bash "$BATS_TEST_TMPDIR/toolsonly"
        [ "$status" -eq 0 ]
        [ "$output" = "" ]
        [[ $stderr == *"no resources. It offers:"*"tools"*"hammer, saw"*'x1b' ]]
    done
    apart "$MCPCTL" prompts -- bash "$BATS_TEST_TMPDIR/toolsonly"
    [[ $stderr == *"no prompts. It offers:"*"hammer, saw"* ]]
    apart "$MCPCTL" ls -q -- bash "$BATS_TEST_TMPDIR/toolsonly"
    [ "$stderr" = "" ]
}

@test "a list that is empty says so, and that the server has written why" {
    mkdir "$BATS_TEST_TMPDIR/prompts"
    apart "$MCPCTL" prompts -- "$MCPD" --prompts "$BATS_TEST_TMPDIR/prompts"
    [ "$status" -eq 0 ]
    [ "$output" = "" ]
    [ "$stderr" = "mcpctl: the server has no prompts at present" ]
    echo 'Say {{word}}' >"$BATS_TEST_TMPDIR/prompts/a.md"
    apart "$MCPCTL" prompts -- "$MCPD" --prompts "$BATS_TEST_TMPDIR/prompts"
    [[ $stderr == "mcpctl: the server has no prompts at present"*"-v shows" ]]
    apart "$MCPCTL" prompts -v --json -- "$MCPD" --prompts "$BATS_TEST_TMPDIR/prompts"
    [ "$output" = '{"prompts":[]}' ]
    [[ $stderr == *"a.md:1: {{word}}"*"no prompts at present" && $stderr != *"-v shows" ]]
    apart "$MCPCTL" prompts -q -- "$MCPD" --prompts "$BATS_TEST_TMPDIR/prompts"
    [ "$stderr" = "" ]
    apart "$MCPCTL" ls -- "$MCPD" --prompts "$BATS_TEST_TMPDIR/prompts"
    [[ $stderr == *"no resources. It offers:"*"prompts"*"none at present" ]]
}

@test "search and grep: what finds names, and what contents" {
    for word in search grep; do
        apart "$MCPCTL" $word x -- "$MCPD" .
        [ "$status" -eq 2 ]
        [[ $stderr == *"did you mean 'find'?"*search_resources* ]]
    done
    apart "$MCPCTL" templates -- "$MCPD" .
    [[ $stderr == *"did you mean 'template'?"* && $stderr != *search_resources* ]]
}

@test "info" {
    run "$MCPCTL" info -- "$stranger"
    [ "$status" -eq 0 ]
    [[ $output == *'stranger\x1b[5m'*"A Stranger"*"2026-07-28 (modern)"*"resources (subscribe)"*tools* ]]
    [[ $output == *"first answer:"*" ms"*'be kind\x1b[1m'* ]]
    run "$MCPCTL" info -- "$stranger" legacy
    [ "$status" -eq 0 ]
    [[ $output == *elder*"2025-06-18 (legacy)"* ]]
    run "$MCPCTL" info --json -- "$stranger"
    [ "$status" -eq 0 ]
    [[ $output == '{"revision":"2026-07-28","modern":true,'*'"resources":'*'}' ]]
}

@test "ls: lines, fields, JSON" {
    run "$MCPCTL" ls -- "$stranger"
    [ "$status" -eq 0 ]
    [ "$output" = $'mem:-1\nmem:-2\nmem:next-1\nmem:next-2' ]
    run "$MCPCTL" ls --long -- "$stranger"
    [ "${lines[0]}" = $'mem:-1\t5\ttext/plain\tone\\x1b[31m\u202e\t\t' ]
    [ "${lines[1]}" = $'mem:-2\t\t\ta\\tb\t\t' ]
    run "$MCPCTL" ls --json -- "$stranger"
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 6 ]
    [ "${lines[0]}" = '{"resources":[' ]
    [ "${lines[5]}" = ']}' ]
    run "$MCPCTL" ls -- "$stranger" newline-uri
    [ "$output" = 'mem:a\x0amem:b\x1b[2J' ]
    apart "$MCPCTL" ls -- "$stranger" nothing
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    [[ $stderr == *"no resources"* ]]
    run "$MCPCTL" ls --quiet -- "$stranger" nothing
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

@test "read: text, binary, several, failures" {
    "$MCPCTL" read mem:blob mem:two -- "$stranger" | cmp - <(printf '\0\1\2\377one\ntwo\n')
    "$MCPCTL" read mem:escape -- "$stranger" | cmp - <(printf 'a\e]0;title\\u0007\\r\\nb\\u009bc')
    apart "$MCPCTL" read mem:gone mem:two -- "$stranger"
    [ "$status" -eq 1 ]
    [ "$output" = $'one\ntwo' ]
    [[ $stderr == *'read mem:gone: the server answered with error -32602: no such resource\x1b[2J'* ]]
    [[ $stderr == *"mcpctl ls"* ]]
    run "$MCPCTL" read mem:empty -- "$stranger"
    [[ $status == 0 && -z $output ]]
    for bad in bad-blob none; do
        apart "$MCPCTL" read mem:$bad -- "$stranger"
        [ "$status" -eq 4 ]
        [ -z "$output" ]
        [[ $stderr == *"the answer to resources/read is malformed: /result/contents"* ]]
    done
    run "$MCPCTL" read --json mem:blob mem:two -- "$stranger"
    [ "$status" -eq 0 ]
    [ "${lines[1]}" = '{"uri":"mem:blob","blob":"AAEC/w=="},' ]
    run "$MCPCTL" read $'mem:\xff' -- "$stranger"
    [ "$status" -eq 2 ]
}

@test "no output of a server controls the terminal" {
    export TERM=dumb # no progress bar, whose escapes are not the server's
    run on_terminal "$MCPCTL" ls -- "$stranger"
    [[ ${lines[0]} == NAME*SIZE*TYPE*URI ]]
    [[ ${lines[1]} == 'one\x1b[31m\u202e'*"5  text/plain"*mem:-1 ]]
    [[ $output != *"$esc"* ]]
    for what in "info" "info --json" "ls --long" "ls --json" "read mem:escape" "read mem:gone"; do
        # shellcheck disable=SC2086
        run on_terminal "$MCPCTL" $what -- "$stranger"
        [[ -n $output && $output != *"$esc"* && $output != *$'\u202e'* ]]
    done
    run on_terminal "$MCPCTL" ls -v -- "$stranger" floods
    [[ $output == *'\x1b[31mlast words'* ]]
    [[ $output != *"$esc"* ]]
    run on_terminal "$MCPCTL" read mem:blob -- "$stranger"
    [[ $output == *"are binary"*"--force"* ]]
    run on_terminal "$MCPCTL" read --force mem:blob -- "$stranger"
    [[ $output == *$'\x02\xff'* ]]
}

@test "a server that cannot be started, or ended: exit 3" {
    run "$MCPCTL" ls -- /nonexistent/server
    [ "$status" -eq 3 ]
    [[ $output == *"cannot start /nonexistent/server"*PATH* ]]
    run "$MCPCTL" ls -- /etc/passwd
    [ "$status" -eq 3 ]
    [[ $output == *"Permission denied"* ]]
    [[ $output == *"chmod +x"* ]]
    run "$MCPCTL" ls -- "$stranger" dies
    [ "$status" -eq 3 ]
    [[ $output == *"exit status 7"*"no licence"* ]]
    run "$MCPCTL" ls -- "$stranger" dies-later
    [ "$status" -eq 3 ]
    [[ $output == *"exit status 9"*"I give up"* ]]
    run "$MCPCTL" ls -- sh -c 'echo short >&2'
    [[ $output == *"the last line on its stderr: short"* && $output != *"wrote to stderr"* ]]
    # Of long output only the last lines are shown. The suggested command is complete.
    run "$MCPCTL" ls -- bash -c 'for i in {1..900}; do echo "line $i of many" >&2; done' "it's" ''
    [[ $output == *"try the server's command on its own: bash -c 'for i in"*" >&2; done' 'it'\\''s' ''"* ]]
    [[ $output == *"the last of what the server wrote to stderr:"* && $output != *"line 1 of"* ]]
    [[ $(grep -A1 'the last of what' <<<"$output" | tail -n 1) == line\ *\ of\ many ]]
    run "$MCPCTL" servers --help
    [[ ${lines[0]} == "Usage: mcpctl servers [OPTIONS]" ]]
    run "$MCPCTL" ls -- sh -c 'printf "%0300d end\n" 7 >&2'
    [[ $output == *"wrote to stderr"*"0007 end"* ]]
    run "$MCPCTL" ls -- "$stranger" half
    [ "$status" -eq 3 ]
}

@test "a server that breaks the protocol or is silent: exit 4" {
    local kind text
    while read -r kind text; do
        run "$MCPCTL" ls -- "$stranger" "$kind"
        echo "$kind: $status ${output: -300}"
        [ "$status" -eq 4 ]
        [[ $output == *"$text"* ]]
    done <<'KINDS'
circle a cursor a second time
endless more than 10000 pages
no-array /result/resources: expected array, got object
huge longer than 67108864 bytes
odd-type unknown resultType "odd"
future 2099-01-01
old "1999-01-01"
KINDS
    apart "$MCPCTL" ls -- "$stranger" no-uri
    [[ $status == 0 && -z $output && $stderr == *"1 of 1 entries of resources/list are malformed and left out"* ]]
    for kind in silent silent-later; do
        run "$MCPCTL" ls --timeout 0.2 -- "$stranger" $kind
        [ "$status" -eq 4 ]
        [[ $output == *"no answer within 0.200 s"*--timeout* ]]
    done
}

@test "an error report shows the stderr since the call began, and earlier lines only if the server ended" {
    local earlier='echo earlier >&2; exec "$0" "$1"'
    local seconds
    for seconds in 0.5 20; do # on a busy machine the server may take longer to start
        run "$MCPCTL" ls --timeout $seconds -- sh -c "$earlier" "$stranger" silent-later
        [[ $output == *"wrote to stderr"* ]] || break
    done
    [[ $status == 4 && $output == *"no answer within"* && $output != *earlier$'\n'* && $output != *"wrote to stderr"* ]]
    for seconds in 0.5 20; do
        run "$MCPCTL" ls --timeout $seconds -- sh -c "$earlier" "$stranger" silent
        [[ $output != *"wrote to stderr"* ]] || break
    done
    [[ $status == 4 && $output == *"wrote to stderr:"*$'\n'earlier ]]
    run "$MCPCTL" ls -- sh -c "$earlier" "$stranger" dies-later
    [[ $status == 3 && $output == *"I give up"* && $output != *$'\n'earlier* ]]
    run "$MCPCTL" ls -- sh -c "$earlier" "$stranger" half
    [[ $status == 3 && $output == *earlier* ]]
}

@test "--ping: a legacy server that does not answer a ping counts as ended; a modern one gets no ping" {
    cd "$BATS_TEST_TMPDIR"
    run timeout 100 "$MCPCTL" ls --ping 0.3 --timeout 90 -- "$stranger" mute
    [ "$status" -eq 3 ]
    [[ $output == *"the connection to the server was lost: the server did not answer a ping within 0.300 s"* ]]
    # During the seconds of waiting there are more pings than those of the command itself. On a busy machine an answer
    # may take longer than 0.3 s.
    local count=3
    run "$MCPCTL" ping --count $count --ping 0.3 --trace legacy -- "$BATS_TEST_DIRNAME/support/workshop" legacy
    if [ "$status" -ne 0 ]; then
        count=13
        run "$MCPCTL" ping --count $count --ping 6 --trace legacy -- "$BATS_TEST_DIRNAME/support/workshop" legacy
    fi
    [ "$status" -eq 0 ]
    [ "$(grep -c '"method":"ping"' legacy)" -gt $count ]
    run "$MCPCTL" ping --count 2 --ping 0.1 --trace modern -- "$BATS_TEST_DIRNAME/support/workshop"
    [ "$status" -eq 0 ]
    ! grep -q '"method":"ping"' modern
}

@test "unusual behaviour that a client must tolerate: exit 0" {
    local kind seconds
    for kind in noisy floods mute-probe legacy; do
        # The time-out is that of the first request too, to which mute-probe gives no answer.
        for seconds in 1 20; do
            apart "$MCPCTL" ls --quiet --timeout $seconds -- "$stranger" $kind
            [ "$status" -ne 0 ] || break
        done
        [ "$status" -eq 0 ]
        [[ $output == mem:-1* ]]
        [ -z "$stderr" ]
    done
}

@test "a server that prints to stdout is tolerated, with one warning" {
    noisy() { printf '#!/bin/sh\necho "starting%s"; echo; echo more\nexec "$@"\n' "$1" >"$BATS_TEST_TMPDIR/noisy"; }
    noisy '\033[31m'
    chmod +x "$BATS_TEST_TMPDIR/noisy"
    apart "$MCPCTL" info -- "$BATS_TEST_TMPDIR/noisy" "$MCPD" "$BATS_TEST_TMPDIR"
    [ "$status" -eq 0 ]
    [[ $output == *"name:"*mcpd* ]]
    [[ $stderr == *"warning: the server wrote something other than a message to stdout: starting"*stderr* ]]
    [[ $stderr != *"$esc"* && $stderr != *more* ]]
    apart "$MCPCTL" info --quiet -- "$BATS_TEST_TMPDIR/noisy" "$MCPD" "$BATS_TEST_TMPDIR"
    [ -z "$stderr" ]
}

@test "--revision selects the revision" {
    run "$MCPCTL" info --revision 2025-06-18 -- "$stranger"
    [ "$status" -eq 0 ]
    [[ $output == *"2025-06-18 (legacy)"* ]]
    run "$MCPCTL" info --revision 2026-07-28 -- "$stranger" legacy
    [ "$status" -eq 1 ]
    [[ $output == *"without --revision"* ]]
    run "$MCPCTL" info --revision 2025-11-25 -- "$stranger"
    [ "$status" -eq 4 ]
    [[ $output == *"instead of the requested 2025-11-25"* ]]
}

@test "output that cannot be written" {
    run bash -c '"$0" ls -- "$1" endless | head -n 1; exit "${PIPESTATUS[0]}"' "$MCPCTL" "$stranger"
    [ "$status" -eq 5 ]
    [ "$output" = mem:-1 ]
    run bash -c '"$0" ls -- "$1" >/dev/full' "$MCPCTL" "$stranger"
    [ "$status" -eq 5 ]
    [[ $output == *"cannot write the output: No space left"* ]]
}

@test "a signal ends mcpctl and the server" {
    run timeout --preserve-status -s INT 0.3 "$MCPCTL" ls -- "$stranger" silent-later
    [ "$status" -eq 130 ]
    [ "$output" = "mcpctl: ls: interrupted; the server is told that the call is cancelled" ]
}

@test "with mcpd" {
    touch "$BATS_TEST_TMPDIR/notes.md"
    run "$MCPCTL" read notes.md -- "$MCPD" "$BATS_TEST_TMPDIR"
    [ "$status" -eq 1 ]
    [[ $output == *"'mcpctl find notes.md'"* ]]
    local uri folder=$BATS_TEST_TMPDIR/folder
    mkdir "$folder"
    printf 'hello\n' >"$folder/a.txt"
    printf '\0\1' >"$folder/b.bin"
    for revision in 2026-07-28 2025-11-25 2025-06-18 2025-03-26 2024-11-05; do
        run "$MCPCTL" info --revision $revision -- "$MCPD" "$folder"
        [ "$status" -eq 0 ]
        [[ $output == *"name:         mcpd"*"$revision"*resources* ]]
        run "$MCPCTL" ls --revision $revision -- "$MCPD" "$folder"
        [ "$status" -eq 0 ]
        [[ $output == *"file://"*"/a.txt"* ]]
        uri=$(grep a.txt <<<"$output")
        run "$MCPCTL" read "$uri" --revision $revision -- "$MCPD" "$folder"
        [ "$status" -eq 0 ]
        [ "$output" = hello ]
        run "$MCPCTL" read "${uri%a.txt}none" --revision $revision -- "$MCPD" "$folder"
        [ "$status" -eq 1 ]
        [[ $output == *"mcpctl ls"* ]]
    done
    run "$MCPCTL" info -- "$MCPD" "$folder"
    [[ $output == *"2026-07-28 (modern)"* ]]
    "$MCPCTL" read "${uri%a.txt}b.bin" -- "$MCPD" "$folder" | cmp - "$folder/b.bin"
}

@test "a file in UTF-16 is text, and its bytes in a pipe" {
    folder=$BATS_TEST_TMPDIR/wide
    mkdir "$folder"
    for order in LE BE; do
        { [ $order = LE ] && printf '\377\376' || printf '\376\377'; printf 'Größe\r\n一𝄞\n' | iconv -f UTF-8 -t UTF-16$order; } >"$folder/$order.txt"
        "$MCPCTL" read "file://$folder/$order.txt" -- "$MCPD" "$folder" | cmp - "$folder/$order.txt"
        "$MCPCTL" read --json "file://$folder/$order.txt" -- "$MCPD" "$folder" >"$folder.json"
        [ "$(jq -j '.contents[0].text' "$folder.json")" = "$(printf '\357\273\277Größe\r\n一𝄞')" ]
        [ "$(jq -r '.contents[0].mimeType' "$folder.json")" = "text/plain;charset=utf-16${order,,}" ]
    done
}

@test "every page of a folder" {
    local folder=$BATS_TEST_TMPDIR/many
    mkdir "$folder"
    (cd "$folder" && touch {001..250}.txt)
    run "$MCPCTL" ls -- "$MCPD" --page-size 7 "$folder"
    [ "$status" -eq 0 ]
    [ "$(grep -c '\.txt$' <<<"$output")" -eq 250 ]
    [ -z "$(sort <<<"$output" | uniq -d)" ]
}

@test "ls: a list whose cursor is refused begins again, once, and nothing is printed twice" {
    local again='the list is read again from the beginning' form
    for form in '' --json '--sort uri'; do
        run --separate-stderr "$MCPCTL" ls $form -- "$stranger" forgets
        [ "$status" -eq 0 ]
        [ "$(grep -o 'mem:[a-z]' <<<"$output")" = $'mem:a\nmem:b\nmem:c\nmem:d' ]
        [[ $stderr == *"$again"* ]]
    done
    run --separate-stderr "$MCPCTL" ls --quiet -- "$stranger" forgets
    [[ $status == 0 && -z $stderr ]]
    run --separate-stderr "$MCPCTL" ls -- "$stranger" forgets-always
    [ "$status" -eq 1 ]
    [ "$output" = $'mem:a\nmem:b' ]
    [ "$(grep -c "$again" <<<"$stderr")" -eq 1 ]
    [[ $stderr == *"error -32602: no such cursor"* ]]
}
