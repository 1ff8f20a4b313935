# lib.sh: creates a temporary folder and defines functions for TAP output. The tests of this folder source it with
# `. "${0%/*}/lib.sh"`.
set -eu
cc=${CC:-cc}
cmake=${CMAKE:-cmake}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

number=0 failed=0
step() { # title, command...: passes if the command succeeds; otherwise shows the last lines of its output
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
