# Each row of the table "Where a change belongs" in docs/architecture.md names functions, tables, types or constants, and
# all of these names are defined in the tree. So who renames one finds the row.

setup_file() {
    cd "$BATS_TEST_DIRNAME/../.." || return
    # Prints FILE NAME for each definition in C, as check-format lays it out: what begins in the first column, and the
    # constants of enums.
    find src include providers programs bus -name '*.[ch]' | sort | xargs awk '
        function add(name) { if (name != "") print FILENAME, name }
        function last_word(text) { sub(/[^A-Za-z0-9_]+$/, "", text); sub(/^.*[^A-Za-z0-9_]/, "", text); return text }
        FNR == 1 { head = "" }
        /^#[ ]*define [A-Za-z_]/ { name = $2; sub(/\(.*/, "", name); add(name); next }
        /^[A-Za-z_]/ { head = $0 }
        /^\{/ { text = head; sub(/\(.*/, "", text); add(last_word(text)) } # a function
        /^(typedef |static const |static )?(struct|enum|union) [a-z_A-Z0-9]+ \{/ {
            match($0, /(struct|enum|union) [a-zA-Z_0-9]+/)
            add(last_word(substr($0, RSTART, RLENGTH)))
        }
        /^\} [a-z_A-Z]/ || /^[a-z].* = / || /^[a-z].*\[.*\] =$/ { # a type, or a table
            text = $0
            sub(/( = | =$|;).*/, "", text); sub(/\[.*/, "", text)
            if (text ~ /\(\*const [a-z_]+$/) sub(/.*\(\*const /, "", text)
            add(last_word(text))
        }
        /^ +[A-Z][A-Z0-9_]+( = .*)?,/ { name = $1; sub(/,.*/, "", name); add(name) }
        /^(typedef )?enum .*\{.*\}/ { gsub(/.*\{|\}.*/, ""); n = split($0, all, ","); for (i = 1; i <= n; i++) { sub(/ = .*/, "", all[i]); add(last_word(all[i])) } }
    ' | sort -u >"$BATS_FILE_TMPDIR/defined"
    find web -name '*.js' | sort | xargs awk '
        /^(export )?(default )?(async )?(function|const|let|class) [A-Za-z_]/ {
            sub(/^(export )?(default )?(async )?(function|const|let|class) /, ""); sub(/[^A-Za-z0-9_].*/, ""); print FILENAME, $0
        }' >>"$BATS_FILE_TMPDIR/defined"
    # The rows, without the head of the table.
    awk '/^## / { inside = $0 == "## Where a change belongs" } inside && /^\|/' docs/architecture.md | tail -n +3 \
        >"$BATS_FILE_TMPDIR/rows"
}
setup() {
    cd "$BATS_TEST_DIRNAME/../.." || return
}

# Prints what is wrong with one name: NAME, FILE:NAME or TYPE.MEMBER.
wrong() {
    local name=$1 files file
    case $name in
        *:*)
            grep -qE "(^|/)${name%%:*} ${name#*:}\$" "$BATS_FILE_TMPDIR/defined" || echo "nothing defines it there"
            return ;;
    esac
    files=$(awk -v name="${name%%.*}" '$2 == name { print $1 }' "$BATS_FILE_TMPDIR/defined" | sort -u)
    case $files in
        '') echo "nothing defines it"; return ;;
        *.c*.c* | *.h*.h*) echo "several files define it, so the file has to be named: ${files//$'\n'/ }"; return ;;
    esac
    case $name in
        *.*)
            for file in $files; do
                ! grep -qw -e "${name#*.}" "$file" || return 0
            done
            echo "the type has no such member" ;;
    esac
}

@test "each row of \"Where a change belongs\" names something that exists" {
    rows=0 faults=
    while IFS='|' read -r _ change where _; do
        [[ $change != *'**'* ]] || continue # the head of a group
        rows=$((rows + 1)) named=0
        for name in $(grep -oE '`([A-Za-z0-9_/-]+\.(c|h|js):)?[A-Za-z_][A-Za-z0-9_]*(\.[a-z_]+)?(\(\))?`' <<<"$where" | tr -d '`()'); do
            case $name in mcpd | mcpctl | *.c | *.h | *.js | *.json | *.md | *.bats) continue ;; esac
            named=$((named + 1))
            why=$(wrong "$name")
            [ -z "$why" ] || faults+="$change: $name: $why"$'\n'
        done
        [ $named -gt 0 ] || faults+="$change: names nothing"$'\n'
    done <"$BATS_FILE_TMPDIR/rows"
    echo "$faults"
    [ "$rows" -gt 50 ]
    [ -z "$faults" ]
}

@test "a name that is defined nowhere is found" {
    [ "$(wrong mcp__renamed)" = "nothing defines it" ]
    [ "$(wrong revision.c:mcp__methods)" = "nothing defines it there" ]
    [ "$(wrong mcp_provider.no_such_member)" = "the type has no such member" ]
    [[ $(wrong refuse) == "several files define it"* ]]
    for name in mcp__methods revision.c:mcp__revisions mcp_provider.watch_list mcp__http_refusal MCP__INVALID_PARAMS app.js:PANELS; do
        [ -z "$(wrong $name)" ]
    done
}

@test "each name of ours that the map and the pages about mechanisms have is in the tree" {
    missing=
    find src include providers programs bus -name '*.[ch]' -exec grep -ohE '[A-Za-z_][A-Za-z0-9_]*' {} + | sort -u >"$BATS_TEST_TMPDIR/words"
    while IFS=: read -r page name; do
        grep -qxF "$name" "$BATS_TEST_TMPDIR/words" || missing+="$page names $name"$'\n'
    done < <(grep -oHE '`(mcp|upstream)_[A-Za-z0-9_]+' docs/architecture.md docs/internals/*.md | tr -d '`' | sort -u)
    echo "$missing"
    [ -z "$missing" ]
}
