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
