#!/bin/sh
# pair.sh BUILD SOURCE: checks that a libmcp and a libmcp-io of different versions cannot be
# combined: with shared libraries a program does not start, and with archives it does not link.
. "${0%/*}/lib.sh"
build=$1
source=$2

# Builds another libmcp from the same sources with a higher patch number, which does not change the soname.
version=$(sed -n 's/.*MCP_VERSION_STRING *"\(.*\)"/\1/p' "$source/include/mcp/base.h")
other=${version%.*}.$((${version##*.} + 1))
mkdir "$tmp/source"
for part in CMakeLists.txt cmake include src tests; do
    cp -r "$source/$part" "$tmp/source/"
done
sed -e "s/\(MCP_VERSION_STRING *\)\".*\"/\1\"$other\"/" -e "s/\(MCP_VERSION_PATCH *\).*/\1${other##*.}/" \
    "$source/include/mcp/base.h" >"$tmp/source/include/mcp/base.h"
build_other() {
    "$cmake" -S "$tmp/source" -B "$tmp/other" -DCMAKE_C_COMPILER="$cc" -DCMAKE_BUILD_TYPE=Debug \
        -DMCP_BUILD_PROVIDERS=OFF -DMCP_BUILD_PROGRAMS=OFF -DMCP_BUILD_EXAMPLES=OFF -DMCP_BUILD_TESTS=OFF &&
        "$cmake" --build "$tmp/other" --target mcp --target mcp_static
}
step "libmcp $other is built" build_other

mkdir "$tmp/matched" "$tmp/mixed"
cp -P "$build"/src/libmcp*.so* "$tmp/matched/"
cp -P "$build"/src/libmcp-io.so* "$tmp/other"/src/libmcp.so* "$tmp/mixed/"
program=$tmp/program
step "a program is linked" $cc -std=c11 -I"$source/include" "$source/tests/api/outside/mcp-io.c" -o "$program" \
    -L"$tmp/matched" -lmcp-io -lmcp
step "it starts with the pair" env LD_LIBRARY_PATH="$tmp/matched" "$program"
refused() { # what it says
    ! env LD_LIBRARY_PATH="$tmp/mixed" "$program" 2>"$tmp/said" || return 1
    cat "$tmp/said"
    grep -q "LIBMCP_PRIVATE_$version" "$tmp/said"
}
step "it does not start with libmcp $other and libmcp-io $version" refused

packages=$(PKG_CONFIG_PATH=$build pkg-config --print-requires-private mcp mcp-io | awk '{ print $1 }')
link() { # the folder of libmcp.a
    # shellcheck disable=SC2046,SC2086
    $cc -std=c11 -I"$source/include" "$source/tests/api/outside/mcp-io.c" -o "$tmp/static" \
        "$build/src/libmcp-io.a" "$1/libmcp.a" $(pkg-config --libs $packages) 2>"$tmp/said"
}
not_linked() {
    ! link "$tmp/other/src" || return 1
    cat "$tmp/said"
    grep -q 'undefined reference to .mcp__pair_' "$tmp/said"
}
step "archives of one version are linked" link "$build/src"
step "archives of two are not" not_linked

echo "1..$number"
exit $failed
