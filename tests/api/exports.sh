#!/bin/sh
# exports.sh SOURCE LIBRARY...: the functions that the headers declare are those that the libraries export. The functions
# of include/mcp/sys are those in the table of docs/internals/sys.md, and docs/api-stability.md says how many there are
# in all and outside of sys. With --count instead of the libraries, prints only the sentence that this page must have.
. "${0%/*}/lib.sh"
source=$1
shift

# Prints "header name" for each function, whose name is in the first line of its declaration.
declared() {
    (cd "$source/include/mcp" && grep -o '^MCP_API [^(;]*[ *]mcp_[a-z0-9_]*(' ./*.h sys/*.h | sed 's|^\./||; s|:.*[ *]\(mcp_[a-z0-9_]*\)($| \1|')
}
declared >"$tmp/declared"
all=$(wc -l <"$tmp/declared")
outside=$(grep -vc '^sys/' "$tmp/declared")
sentence="There are $all exported functions, $outside of them outside of \`mcp/sys\`."
if [ "${1:-}" = --count ]; then
    echo "$sentence"
    exit 0
fi

says_so() {
    tr '\n' ' ' <"$source/docs/api-stability.md" | grep -qF "$sentence" || { echo "the page must say: $sentence"; return 1; }
}
step "docs/api-stability.md says how many functions there are" says_so

cut -d' ' -f2 "$tmp/declared" | sort >"$tmp/names"
for library in "$@"; do
    "${NM:-nm}" -D --defined-only "$library" | sed -n 's/.* T \(mcp_[a-z][a-z0-9_]*\)@.*/\1/p'
done | sort >"$tmp/exported"
step "the headers declare what the libraries export" diff "$tmp/names" "$tmp/exported"

# "sys/header name" for each function in the table; an empty first cell repeats the header above.
awk -F'|' '/^\| *(`[a-z]+\.h`)? *\| `mcp_/ {
    if ($2 ~ /`/) { header = $2; gsub(/[ `]/, "", header) }
    n = split($3, names, ",")
    for (i = 1; i <= n; i++) { gsub(/[ `]/, "", names[i]); print "sys/" header, names[i] }
}' "$source/docs/internals/sys.md" | sort >"$tmp/table"
grep '^sys/' "$tmp/declared" | sort >"$tmp/sys"
step "docs/internals/sys.md has the functions of mcp/sys" diff "$tmp/sys" "$tmp/table"

no_includes() { ! grep -n '<mcp/sys/' "$source"/include/mcp/*.h; }
step "no header outside of mcp/sys includes one of it" no_includes

echo "1..$number"
exit $failed
