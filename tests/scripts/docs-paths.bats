# Files that the pages for people mention exist: the targets of links, C files and headers, and paths that begin with a top
# folder. Each C file and each module of the page says what it is, and each page about a mechanism is on the map.

setup_file() {
    cd "$BATS_TEST_DIRNAME/../.."
    find . -path ./build -prune -o -path '*/.git' -prune -o -path '*/node_modules' -prune -o -print |
        sed 's|^\.||' >"$BATS_FILE_TMPDIR/tree"
}
setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    pages=(*.md docs/*.md docs/internals/*.md providers/README.md tests/*/README.md)
}

# Prints the quoted names of files and folders as page:name.
quoted() {
    grep -oHE '`[A-Za-z0-9_./-]+`' "${pages[@]}" | tr -d '`' | sort -u
}
# Succeeds if a path of the tree ends with the name.
in_tree() {
    grep -qE "/${1//./\\.}/?\$" "$BATS_FILE_TMPDIR/tree"
}

@test "C files and headers are in the tree" {
    missing=
    while IFS=: read -r page name; do
        in_tree "$name" || missing+="$page names $name"$'\n'
    done < <(quoted | grep -E '\.[ch]$')
    echo "$missing"
    [ -z "$missing" ]
}
@test "paths that begin with a folder at the top are in the tree" {
    missing=
    while IFS=: read -r page name; do
        [ -e "$name" ] || missing+="$page names $name"$'\n'
    done < <(quoted | grep -E ':(abi|bench|cmake|docs|examples|fuzz|include|man|programs|providers|scripts|src|tests)/')
    echo "$missing"
    [ -z "$missing" ]
}
@test "links point to files of the tree" {
    missing=
    while IFS=: read -r page target; do
        [ -e "$(dirname "$page")/$target" ] || missing+="$page links to $target"$'\n'
    done < <(grep -oHE '\]\([^)#: ]+[)#]' "${pages[@]}" | sed -E 's/\]\(//; s/[)#]$//' | sort -u)
    echo "$missing"
    [ -z "$missing" ]
}
@test "links to headings lead to one" {
    missing=
    while IFS=: read -r page target; do
        file=${target%%#*} heading=${target#*#}
        [ -n "$file" ] && file=$(dirname "$page")/$file || file=$page
        sed -n 's/^##* //p' "$file" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9_\n-' | grep -qxF "$heading" ||
            missing+="$page links to $target"$'\n'
    done < <(grep -oHE '\]\([^): ]*#[^) ]+\)' "${pages[@]}" | sed -E 's/\]\(//; s/\)$//' | sort -u)
    echo "$missing"
    [ -z "$missing" ]
}
@test "each C file and each module of the page begins with its name and what it is" {
    missing=
    while read -r file; do
        head -n 1 "$file" | grep -qE "^(/\*|//) ${file##*/}: ." || missing+="$file"$'\n'
    done < <(find src providers programs bus web -name '*.[ch]' -o -name '*.js')
    echo "$missing"
    [ -z "$missing" ]
}
@test "docs/architecture.md names each page about a mechanism" {
    missing=
    for page in docs/internals/*.md; do
        grep -qF "](${page#docs/})" docs/architecture.md || missing+="$page"$'\n'
    done
    echo "$missing"
    [ -z "$missing" ]
}
@test "each word of docs/style.md is explained once" {
    words=$(sed -n '/^## Words of the specification/,$p' docs/style.md | grep '^|' | cut -d '|' -f 2 | tr ',' '\n' |
        sed 's/^ *//; s/ *$//' | grep -vE '^(-*|word)$')
    [ "$(wc -l <<<"$words")" -gt 50 ]
    sort <<<"$words" | uniq -d
    [ -z "$(sort <<<"$words" | uniq -d)" ]
}
