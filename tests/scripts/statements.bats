# The tests that docs/internals/statements.md names exist, and each statement has one.

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    page=docs/internals/statements.md
}

# The rows of its tables.
rows() {
    grep '^|' "$page" | grep -vE '^\|(-|\s*statement \|)'
}

# exists FILE[:NAME]: the name is a function of a test in C, or a part of the name of a test of bats
exists() {
    local file=tests/${1%%:*} name=${1#*:}
    [ -e "$file" ] || return 1
    case $1 in
    *.c:*) grep -qE "^static void $name\(" "$file" ;;
    *.bats:*) grep '^@test "' "$file" | grep -qF -- "$name" ;;
    *:*) return 1 ;;
    esac
}

@test "each statement names tests, and all of them exist" {
    [ "$(rows | wc -l)" -gt 60 ]
    local wrong= row test named
    while IFS= read -r row; do
        named=$(cut -d '|' -f 4 <<<"$row" | grep -oE '`[^`]+`' | tr -d '`')
        [ -n "$named" ] || wrong+="no test: $row"$'\n'
        while IFS= read -r test; do
            exists "$test" || wrong+="$test"$'\n'
        done <<<"$named"
    done < <(rows)
    echo "$wrong"
    [ -z "$wrong" ]
}

@test "the revisions in its tables are those of the specification" {
    local wrong
    wrong=$(rows | cut -d '|' -f 3 | grep -oE '[0-9]{4}-[0-9-]+' | sort -u | while read -r revision; do
        [ -e "tests/support/schema/$revision.json" ] || echo "$revision"
    done)
    echo "$wrong"
    [ -z "$wrong" ]
}
