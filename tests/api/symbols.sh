#!/bin/sh
# symbols.sh LIBRARY...: a shared library exports mcp_* and nothing else; what our files share among
# themselves (mcp__*) stays inside, and each symbol leaves from one library only.
set -eu
nm=${NM:-nm}

number=0 failed=0
report() { # what, lines that should not be there
    number=$((number + 1))
    if [ -z "$2" ]; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1"
        echo "$2" | sed 's/^/# /'
        failed=1
    fi
}
exports() {
    "$nm" -D --defined-only "$1" | awk '{ sub(/@.*/, "", $NF); print $NF }'
}

for library in "$@"; do
    name=${library##*/}
    report "$name exports mcp_* only" "$(exports "$library" | grep -v '^mcp_[a-z]' || true)"
    report "$name keeps mcp__* inside" "$(exports "$library" | grep '^mcp__' || true)"
    [ -n "$(exports "$library")" ] && nothing='' || nothing='no symbol at all'
    report "$name exports something" "$nothing"
done
report "no symbol leaves twice" "$(for library in "$@"; do exports "$library"; done | sort | uniq -d)"
echo "1..$number"
exit $failed
