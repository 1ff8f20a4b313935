#!/bin/sh
# engine.sh SOURCE: configures, builds, tests and uses libmcp without libmcp-io, while pkg-config finds yyjson, uriparser
# and PCRE2, but none of the other packages. Then builds it as a part of another project with add_subdirectory().
. "${0%/*}/lib.sh"
source=$1

# Packages that may be installed but must not be found.
mkdir "$tmp/pc"
for package in libuv libllhttp libcurl libssl libcrypto libgit2 sqlite3 libpq; do
    printf 'Name: %s\nDescription: as if it were not there\nVersion: 0\nRequires: not-here\n' "$package" >"$tmp/pc/$package.pc"
done
export PKG_CONFIG_PATH="$tmp/pc"

step "configured without the others" "$cmake" -S "$source" -B "$tmp/engine" -G "${CMAKE_GENERATOR:-Ninja}" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_BUILD_TYPE=Debug -DMCP_BUILD_IO=OFF
step "built, with its tests and examples" "$cmake" --build "$tmp/engine" -j 2
# The tests of libmcp-io are not built here, and this script is one of the tests of api.
step "its tests pass" ctest --test-dir "$tmp/engine" -j 2 --output-on-failure -L 'unit|transcripts|fault'
has_tests() { [ "$(ctest --test-dir "$tmp/engine" -N -L 'unit|transcripts' | sed -n 's/^Total Tests: //p')" -gt 100 ]; }
step "which are many" has_tests
alone() { ! ldd "$tmp/engine/src/libmcp.so" | grep -E 'libuv|libcurl|libssl|libcrypto|llhttp'; }
step "libmcp.so needs none of the others" alone

step "installed" "$cmake" --install "$tmp/engine" --prefix "$tmp/installed"
pc=$(dirname "$(find "$tmp/installed" -name mcp.pc)")
# Static linking needs only yyjson, uriparser and PCRE2.
static_packages() {
    [ "$(PKG_CONFIG_PATH=$pc pkg-config --print-requires-private mcp | awk '{ print $1 }' | sort | tr '\n' ' ')" = \
        'libpcre2-8 liburiparser yyjson ' ]
}
step "pkg-config --static asks for those three" static_packages
use_example() {
    # shellcheck disable=SC2046
    $cc -std=c11 "$source/examples/own_loop.c" -o "$tmp/own_loop" $(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs mcp) &&
        LD_LIBRARY_PATH=$pc/.. "$tmp/own_loop" </dev/null
}
step "the example with a loop of its own" use_example

mkdir "$tmp/outer"
cat >"$tmp/outer/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(outer LANGUAGES C)
set(MCP_BUILD_IO OFF)
add_subdirectory($source libmcp EXCLUDE_FROM_ALL)
add_executable(use $source/tests/api/outside/mcp.c)
target_link_libraries(use mcp::mcp_static)
END
subdirectory() {
    "$cmake" -S "$tmp/outer" -B "$tmp/outer/build" -G "${CMAKE_GENERATOR:-Ninja}" -DCMAKE_C_COMPILER="$cc" &&
        "$cmake" --build "$tmp/outer/build" -j 2 && "$tmp/outer/build/use"
}
step "as a part of another project" subdirectory

echo "1..$number"
exit $failed
