#!/bin/sh
# sizes.sh SOURCE LIBRARY...: tests what docs/api-stability.md guarantees about `size`. A program is built against our
# headers, against headers with one more member in every struct, and against headers without the last member of every
# struct. All three must behave the same with our libraries. That page lists the structs that never grow. Every other
# struct begins with `size` and has no padding at its end, because an appended member would overlap the padding.
. "${0%/*}/lib.sh"
source=$1
shift
here=$source/tests/api/outside

frozen=$(sed -n '/^## Structs that never change/,/^## /s/^- `\(mcp_[a-z_]*\)`.*/\1/p' "$source/docs/api-stability.md" |
    tr '\n' ' ')

# Removes comments, then prints one line for each struct: its name, "size" or "none", and its last member.
list_structs() {
    cat "$source"/include/mcp/*.h "$source"/include/mcp/sys/*.h | sed -e 's|/\*.*\*/||' -e '/\/\*/,/\*\//d' | awk '
        /^typedef struct mcp_[a-z_]* \{/ { name = $3; body = ""; next }
        name && /^}/ {
            n = split(body, parts, ";")
            last = parts[n - 1]
            if (match(last, /\(\*[a-z_]+\)/)) last = substr(last, RSTART + 2, RLENGTH - 3)
            else { sub(/\[[^]]*\] *$/, "", last); sub(/^.*[ *,]/, "", last) }
            print name, (body ~ /^ *size_t size;/ ? "size" : "none"), last
            name = ""
        }
        name { body = body $0 }'
}
list_structs >"$tmp/structs"

is_frozen() { case " $frozen " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }
each_has_size() {
    [ "$(wc -l <"$tmp/structs")" -gt 40 ] || return 1
    while read -r name size last; do
        [ "$size" = size ] || is_frozen "$name" || { echo "$name has no size"; return 1; }
        [ "$size" = none ] || ! is_frozen "$name" || { echo "$name has a size and never changes"; return 1; }
    done <"$tmp/structs"
}
step "every struct begins with its size, or never changes" each_has_size

no_padding() {
    {
        echo '#include <mcp/io.h>'
        echo '#include <mcp/mcp.h>'
        echo '#include <mcp/module.h>'
        (cd "$source/include" && printf '#include <%s>\n' mcp/sys/*.h)
        while read -r name size last; do
            is_frozen "$name" ||
                echo "_Static_assert(sizeof($name) == offsetof($name, $last) + sizeof((($name *)0)->$last), \"padding behind $last of $name\");"
        done <"$tmp/structs"
    } >"$tmp/padding.c"
    "$cc" -std=c11 -I"$source/include" -c "$tmp/padding.c" -o "$tmp/padding.o"
}
step "no struct ends with padding" no_padding

# Headers with one more member, and without the last member, in all structs that have a size.
mkdir -p "$tmp/same" "$tmp/more/mcp/sys" "$tmp/less/mcp/sys"
ln -s "$source/include/mcp" "$tmp/same/mcp"
for header in "$source"/include/mcp/*.h "$source"/include/mcp/sys/*.h; do
    name=${header#"$source"/include/}
    awk -v frozen=" $frozen " '
        /^typedef struct mcp_[a-z_]* \{/ { name = $3 }
        name && /^}/ && index(frozen, " " name " ") == 0 { print "    void *one_more[3];" }
        /^}/ { name = "" }
        { print }' "$header" >"$tmp/more/$name"
    awk -v frozen=" $frozen " '
        /^typedef struct mcp_[a-z_]* \{/ { name = $3; body = ""; print; next }
        name && /^}/ {
            if (index(frozen, " " name " ") == 0) {
                gsub(/\/\*[^*]*\*+([^\/*][^*]*\*+)*\//, "", body)
                sub(/[ \n]*$/, "", body)
                sub(/;$/, "", body)
                at = match(body, /[,;][^,;()]*(\(\*[^;]*)?$/)
                body = substr(body, 1, at - 1) ";\n"
            }
            printf "%s%s\n", body, $0
            name = ""
            next
        }
        name { body = body $0 "\n"; next }
        { print }' "$header" >"$tmp/less/$name"
done

libraries=
for library in "$@"; do
    libraries="$libraries $library -Wl,-rpath,$(dirname "$library")"
done
build() { # same, more or less
    # shellcheck disable=SC2086
    "$cc" -std=c11 -Wall -Werror -g -fstack-protector-all -I"$tmp/$1" "$here/everything.c" -o "$tmp/$1.program" $libraries
}
run() {
    "$tmp/$1.program" >"$tmp/$1.out" || { tail -n 5 "$tmp/$1.out"; return 1; }
}
as_before() {
    run "$1" && diff "$tmp/same.out" "$tmp/$1.out"
}
step "the program is built" build same
step "it runs" run same
step "it is built with one more member everywhere" build more
step "it does the same" as_before more
step "it is built without the last member of each" build less
step "it does the same" as_before less

echo "1..$number"
exit $failed
