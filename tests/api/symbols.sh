#!/bin/sh
# symbols.sh LIBRARY...: libmcp.so, and libmcp-io.so if it is built. A shared library exports mcp_* in a version node that
# corresponds to its soname. Internal functions (mcp__*) are not exported, except those that libmcp-io uses of libmcp.
# They are in a version node of exactly this version. No function is compiled into both libraries.
set -eu
nm=${NM:-nm}

number=0 failed=0
report() { # title, unexpected lines; there should be none
    number=$((number + 1))
    if [ -z "$2" ]; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1"
        echo "$2" | sed 's/^/# /'
        failed=1
    fi
}
exports() { # prints the name and version node of each exported symbol
    "$nm" -D --defined-only "$1" | awk '$(NF - 1) != "A" { sub(/@+/, " ", $NF); print $NF }'
}
needs() { # the same for the symbols that it imports from libmcp
    "$nm" -D --undefined-only "$1" | sed -n 's/.* \(mcp_[^@]*\)@*\(.*\)/\1 \2/p'
}
global() { # symbols that the archive defines with external linkage
    "$nm" --defined-only "$1" 2>/dev/null | awk 'NF == 3 && $2 ~ /[A-Z]/ { print $3 }' | sort -u
}

for library in "$@"; do
    name=${library##*/}
    full=$(readlink -f "$library")
    version=${full##*.so.}
    case $version in
        0.*) abi=${version%.*} ;;
        *) abi=${version%%.*} ;;
    esac
    node=$(echo "${name%%.so*}" | tr a-z- A-Z_)
    soname=$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
    [ "$soname" = "${name%%.so*}.so.$abi" ] && wrong='' || wrong=$soname
    report "the soname of $name has the numbers that the interface has" "$wrong"
    report "$name exports something" "$([ -n "$(exports "$library")" ] || echo 'no symbol at all')"
    report "$name exports mcp_* only" "$(exports "$library" | grep -v '^mcp_' || true)"
    report "the public symbols of $name have the version of the soname" \
        "$(exports "$library" | grep '^mcp_[a-z]' | grep -v " ${node}_$abi\$" || true)"
    report "the private ones of $name have the version of the library" \
        "$(exports "$library" | grep '^mcp__' | grep -v " LIBMCP_PRIVATE_$version\$" || true)"
done
report "no symbol leaves twice" "$(for library in "$@"; do exports "$library"; done | cut -d' ' -f1 | sort | uniq -d)"

if [ $# -eq 2 ]; then
    tmp=$(mktemp -d)
    trap 'rm -rf "$tmp"' EXIT
    exports "$1" | grep '^mcp__' | sort >"$tmp/lent"
    needs "$2" | grep '^mcp__' | sort >"$tmp/needed"
    report "libmcp exports the private symbols that libmcp-io needs, and no others" "$(diff "$tmp/lent" "$tmp/needed" || true)"
    folder=$(dirname "$1")
    global "$folder/libmcp.a" >"$tmp/mcp"
    "$nm" --defined-only "$2" | awk 'NF == 3 { print $3 }' | sort -u >"$tmp/io"
    report "libmcp-io.so has no copy of anything of libmcp" "$(comm -12 "$tmp/mcp" "$tmp/io")"
    global "$folder/libmcp-io.a" >"$tmp/io"
    report "neither has libmcp-io.a" "$(comm -12 "$tmp/mcp" "$tmp/io")"
fi
echo "1..$number"
exit $failed
