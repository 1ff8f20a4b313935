# lib.sh: what the tests of this folder begin with: a folder for their files, and TAP. Sourced, by `. "${0%/*}/lib.sh"`.
set -eu
cc=${CC:-cc}
cmake=${CMAKE:-cmake}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

number=0 failed=0
step() { # title, command...: succeeds when the command does; else the last lines of its output are shown
    number=$((number + 1))
    title=$1
    shift
    if "$@" >"$tmp/log" 2>&1; then
        echo "ok $number - $title"
    else
        echo "not ok $number - $title"
        tail -n 40 "$tmp/log" | cut -c1-300 | sed 's/^/# /'
        failed=1
    fi
}
