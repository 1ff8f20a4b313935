#!/bin/sh
# modules.sh BUILD SOURCE: builds and loads modules as a user would: against an installed libmcp,
# with pkg-config, without the source tree. The example of docs/modules.md with its own command;
# then the project's own modules, from a copy of their folder and of those that several share alone,
# which proves that they use nothing private. Finally, the error of the build without a module's
# library, and the option that omits the module.
. "${0%/*}/lib.sh"
build=$1
source=$2
prefix=$tmp/installed

not() { ! "$@"; }

step "cmake --install" "$cmake" --install "$build" --prefix "$prefix"
libdir=$(dirname "$(find "$prefix" -name libmcp.a)")
export PKG_CONFIG_PATH="$libdir/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
folder=$(pkg-config --variable=moduledir mcp)
PATH=$prefix/bin:$PATH
cd "$tmp"
lists() { # pattern, source...: the list of resources has a line with it
    pattern=$1
    shift
    mcpctl ls -- mcpd "$@" >"$tmp/listed" || return 1
    grep -q "$pattern" "$tmp/listed"
}

# ---- the example -------------------------------------------------------------------------------------------

cp "$source/examples/module.c" .
# The command of docs/modules.md, with the tested compiler.
command=$(sed -n 's/^ *cc \(-shared .*\)$/\1/p' "$source/docs/modules.md" | head -n 1)
example() { eval "$cc $command"; }
step "docs/modules.md: its command builds the example" example
step "--module loads it" lists notes://shopping/2 --module ./notes.so 'notes:milk,bread?name=shopping'
step "installed, it is found by its name" sh -c "mkdir -p '$folder' && cp notes.so '$folder/'"
step "and loaded" lists notes://shopping/2 'notes:milk,bread?name=shopping'
step "--list-modules knows it" sh -c "mcpd --list-modules | grep -q '^  notes:WHAT '"

# ---- in C++ ----------------------------------------------------------------------------------------------------

cxx=$(command -v "${CXX:-c++}" || true)
cat >words.cpp <<'END'
#include <mcp/module.h>

namespace
{
int read(mcp_request *req, mcp_str, const mcp_uri_match *, void *)
{
    return mcp_reply_text(req, "a word");
}
int mount(mcp_server *server, const char *source, const mcp_json *, const char *, mcp_error *error)
{
    mcp::sized<mcp_resource> word;
    word.uri = source;
    word.name = "word";
    word.read = read;
    return mcp_server_add_resource(server, &word, nullptr, error);
}
} // namespace
MCP_MODULE(words, .about("Words").mount(mount));
END
# shellcheck disable=SC2046
in_cxx() {
    "$cxx" -std=c++17 -Wall -Wextra -Wpedantic -Werror -shared -fPIC -fvisibility=hidden words.cpp \
        $(pkg-config --cflags mcp) -o words.so
}
if [ -n "$cxx" ]; then
    step "a module in C++ is built" in_cxx
    step "and loaded" lists word:one --module ./words.so words:word:one
fi

# ---- the project's own ---------------------------------------------------------------------------------------

outside() { # name, packages, folders other than common; lists are separated by commas, and "-" is an empty list
    mkdir "$1"
    cp "$source/providers/$1"/*.[ch] "$1/"
    beside=
    for shared in $(echo "$3" | tr , ' ' | tr -d -); do
        beside="$beside -I$shared $shared/*.c"
    done
    # shellcheck disable=SC2046,SC2086
    $cc -std=c11 -O1 -Wall -shared -fPIC -fvisibility=hidden -Icommon -I"$1" "$1"/*.c common/*.c $beside \
        $(pkg-config --cflags mcp) $(pkg-config --cflags --libs $(echo "$2" | tr , ' ')) -o "$1.so"
}
private() { [ ! -e "$1" ] || nm -D --undefined-only "$1" | grep -w 'mcp__[a-z_]*'; }
linked() { ldd "$1" | grep libmcp; }

mkdir common search
cp "$source/providers/common"/*.[ch] common/
cp "$source/providers/search"/*.[ch] search/
mkdir repository
git init -q -b main repository
git -C repository -c user.name=a -c user.email=a@b commit -q --allow-empty -m first
sqlite3 shop.db 'CREATE TABLE sale(id INTEGER PRIMARY KEY)'
rm -f "$folder"/git.so "$folder"/sqlite.so "$folder"/postgres.so
while read -r name packages beside served pattern; do
    grep -q "^MCP_MODULE_$(echo "$name" | tr a-z A-Z):BOOL=ON" "$build/CMakeCache.txt" || continue
    step "$name: built by pkg-config, out of the tree" outside "$name" "$packages" "$beside"
    step "$name: uses no private symbol" not private "./$name.so"
    step "$name: is not linked with libmcp" not linked "./$name.so"
    # An unreachable database does not keep other sources from being served.
    step "$name: is loaded and serves" lists "$pattern" --module "./$name.so" "$name:$served" repository
done <<'MODULES'
git libgit2,zlib,libpcre2-8 search repository git://repository/
sqlite sqlite3,libpcre2-8 search shop.db sqlite://shop/sale
postgres libpq - host=/nowhere /repository
MODULES

# ---- without their libraries -----------------------------------------------------------------------------------

# Configures the project while pkg-config does not find the library of one module.
without() { # package, option...
    package=$1
    shift
    rm -rf pc without
    mkdir pc
    printf 'Name: %s\nDescription: as if it were not there\nVersion: 0\nRequires: not-here\n' "$package" >"pc/$package.pc"
    PKG_CONFIG_PATH=$tmp/pc "$cmake" -S "$source" -B without -DCMAKE_C_COMPILER="$cc" \
        -DMCP_BUILD_TESTS=OFF -DMCP_BUILD_EXAMPLES=OFF "$@" >"$tmp/configured" 2>&1
    status=$?
    tr -s ' \n' ' ' <"$tmp/configured"
    return $status
}
refuses() { # package, option
    ! without "$1" >said || return 1
    grep -q "$1 is missing.*install-deps.*-D$2=OFF" said || { cat said; return 1; }
}
while read -r package option; do
    step "without $package: what is missing, and how to do without" refuses "$package" "$option"
    step "without $package and with $option=OFF it can be built" without "$package" "-D$option=OFF"
done <<'MODULES'
libgit2 MCP_MODULE_GIT
sqlite3 MCP_MODULE_SQLITE
libpq MCP_MODULE_POSTGRES
MODULES

echo "1..$number"
exit $failed
