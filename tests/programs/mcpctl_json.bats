#!/usr/bin/env bats
# Checks that the output of mcpctl for scripts is what docs/mcpctl.md documents.

load support/mcpctl

page=$BATS_TEST_DIRNAME/../../docs/mcpctl.md

# Prints the command line for a command that the page names.
words_for() {
    case $1 in
    ping) echo "ping --count 1" ;;
    find) echo "find read" ;;
    read) echo "read mem:a" ;;
    "template NAME") echo "template page name=x" ;;
    "template NAME --read") echo "template page name=x --read" ;;
    complete) echo "complete greet name A" ;;
    "watch --read") echo "watch --read --count 1" ;;
    watch) echo "watch mem:docs/readme.md --count 1" ;;
    context*) echo "$1 read" ;;
    prompt) echo "prompt greet name=x" ;;
    call) echo "call add a=1 b=2 --yes" ;;
    *) echo "$1" ;;
    esac
}

# Prints the rows of the table: command, path in the document, members.
rows() {
    sed -n 's/^| `\([a-z][^`]*\)`\( `\(\.[^`]*\)`\)\? | \([^|]*\) |.*/\1;\3;\4/p' "$page"
}

@test "the members of every command's JSON are those of the page" {
    printf '{"mcpServers":{"alpha":{"command":"x"}}}' >.mcp.json
    local command place members words seen=0
    while IFS=';' read -r command place members; do
        case $command in login | logout | auth) continue ;; esac # mcpctl_login.bats
        case $command in edit | undo*) continue ;; esac          # mcpctl_writing.bats
        read -r -a words <<<"$(words_for "$command")"
        if [ "$command" = servers ]; then
            "$MCPCTL" servers --json >out
        else
            "$MCPCTL" "${words[@]}" --json -- "$workshop" >out 2>err
        fi
        echo "$command $place: $members"
        jq -se --arg members "$members" "
            (\$members | gsub(\"\`\"; \"\") | split(\" \")) as \$all |
            [.[] | ${place:-.}] | length > 0 and all(
                keys as \$have |
                (\$all | map(select(endswith(\"?\") | not)) - \$have) == [] and
                (\$have - (\$all | map(rtrimstr(\"?\")))) == [])" out ||
            { cat out err; false; }
        seen=$((seen + 1))
    done < <(rows)
    [ "$seen" -ge 20 ]
}

@test "JSON is whole or absent, whichever request fails" {
    local hostile=$BATS_TEST_DIRNAME/support/hostile words kind n code whole=0 absent=0
    while read -r words; do
        for kind in fails ends; do
            for n in 1 2 3; do
                read -r -a command <<<"$words"
                code=0
                "$MCPCTL" "${command[@]}" --json -- "$hostile" $kind-$n >out 2>err || code=$?
                echo "$words, $kind-$n: $code"
                if [ $code = 0 ] || [ $code = 7 ]; then
                    jq -se 'length > 0' out >/dev/null
                    whole=$((whole + 1))
                elif [ "${command[0]}" = ping ]; then
                    jq -s . out >/dev/null
                else
                    [ ! -s out ] || { cat out && false; }
                    grep -q 'error -32000: no\|the connection to the server was lost' err
                    absent=$((absent + 1))
                fi
            done
        done
    done <<'COMMANDS'
info
ping --count 3
ls
ls --long --limit 9
ls --sort size
tree
find n
read mem:a mem:b mem:c
template
template n v=1
template n v=1 --read
complete p a
context n
prompts
prompt p a=1
tools
call --yes t
COMMANDS
    [ $whole -ge 20 ] && [ $absent -ge 40 ]
}

@test "JSON of files is whole or absent" {
    printf '{"mcpServers":{"alpha":{"command":"x"}}}' >good.json
    printf '{"mcpServers":{"beta":{"command":' >bad.json
    run -0 --separate-stderr "$MCPCTL" servers --json --config good.json
    jq -e '.servers | length == 1' <<<"$output"
    run -2 --separate-stderr "$MCPCTL" servers --json --config good.json --config bad.json
    [ -z "$output" ]
}

@test "watch --read: the contents are in the line of the change" {
    run -0 --separate-stderr "$MCPCTL" watch --count 1 --json --read mem:docs/readme.md -- "$workshop"
    [ "${#lines[@]}" = 1 ]
    jq -e '.contents[0].text | startswith("one\n")' <<<"$output"
}

@test "the page lists every command with JSON output" {
    local name
    for name in $("$MCPCTL" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
        [[ $("$MCPCTL" "$name" --help) != *"With --json:"* ]] || rows | cut -d ';' -f 1 | grep -q "^$name\b"
    done
}

@test "the exit codes of the page are those of the manual" {
    diff <(sed -n 's/^| \([0-9]\) | \(.*\) |$/\1 \2/p' "$page") \
        <("$MCPCTL" --help | sed -n '/^Exit status:/,/^$/p' | sed 1d | sed 's/^  \([0-9]\) */\1 /' |
            awk '/^[0-9]/ { if (line) print line; line = $0; next } NF { sub(/^ */, ""); line = line " " $0 }
                END { print line }')
}
