# Files that README.md, CHANGELOG.md and docs mention exist: the targets of links, C files and
# headers, and paths that begin with a top folder.

setup_file() {
    cd "$BATS_TEST_DIRNAME/../.."
    find . -path ./build -prune -o -path '*/.git' -prune -o -path '*/node_modules' -prune -o -print |
        sed 's|^\.||' >"$BATS_FILE_TMPDIR/tree"
}
setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    pages=(README.md CHANGELOG.md docs/*.md)
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
@test "docs/architecture.md names every C file of the layers, the providers and the programs" {
    named=$(grep -oE '`[a-z_/0-9]+\.c`' docs/architecture.md | tr -d '`' | sed 's|.*/||' | sort -u)
    missing=
    while read -r file; do
        grep -qxF "${file##*/}" <<<"$named" || missing+="$file"$'\n'
    done < <(find src providers programs -name '*.c' -not -path 'src/base/*' -not -path 'src/json*' -not -path 'src/uri/*')
    echo "$missing"
    [ -z "$missing" ]
}
