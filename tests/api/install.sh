#!/bin/sh
# install.sh BUILD HERE: installs BUILD to a temporary prefix and builds the program in HERE/outside
# against it as a user would: with pkg-config, shared and static, and with find_package.
. "${0%/*}/lib.sh"
build=$1
outside=$2/outside
prefix=$tmp/installed

# Move the tree after installation: no file may contain its old path.
step "cmake --install" "$cmake" --install "$build" --prefix "$tmp/elsewhere"
[ $failed -eq 0 ] || { echo "1..$number"; exit 1; }
mv "$tmp/elsewhere" "$prefix"
libdir=$(dirname "$(find "$prefix" -name libmcp.a)")
export PKG_CONFIG_PATH="$libdir/pkgconfig" LD_LIBRARY_PATH="$libdir"

compile() { # module, output, option...
    module=$1 output=$2
    shift 2
    $cc -std=c11 -Wall -Werror "$outside/$module.c" -o "$output" "$@"
}
# Links our archives by name and their dependencies as shared libraries. `pkg-config --static` would
# require archives of all direct and indirect dependencies, which the system may not have.
archives() { # module
    pkg-config --cflags "$1"
    pkg-config --libs "$1" | sed 's/-l\(mcp[-a-z]*\)/-l:lib\1.a/g'
    pkg-config --libs $(pkg-config --print-requires-private mcp $modules | awk '{ print $1 }')
}
depends() { ldd "$1" | grep -q libmcp; }
independent() { [ -x "$1" ] && ! depends "$1"; }

modules=mcp
[ ! -e "$libdir/libmcp-io.a" ] || modules='mcp mcp-io'
for module in $modules; do
    shared=$tmp/$module-shared static=$tmp/$module-static
    step "pkg-config $module, shared" compile $module "$shared" $(pkg-config --cflags --libs $module)
    step "it runs" "$shared"
    step "it needs our libraries" depends "$shared"
    step "pkg-config $module, static" compile $module "$static" $(archives $module)
    step "it runs" env -u LD_LIBRARY_PATH "$static"
    step "it needs none of our libraries" independent "$static"
done

find_package() {
    "$cmake" -S "$outside" -B "$tmp/cmake" -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$prefix" &&
        "$cmake" --build "$tmp/cmake"
}
step "find_package" find_package
for program in "$tmp"/cmake/use-*; do
    step "${program##*/} runs" env -u LD_LIBRARY_PATH "$program"
done

modules_lie_there() {
    for file in "$build"/programs/lib*/mcp/*.so; do
        [ ! -e "$file" ] || [ -e "$(pkg-config --variable=moduledir mcp)/${file##*/}" ] || return 1
    done
}
step "the folder of modules is known to pkg-config" modules_lie_there

for program in mcpd mcpctl; do
    if [ -e "$build/programs/$program/$program" ]; then
        step "$program --version" env -u LD_LIBRARY_PATH "$prefix/bin/$program" --version
        step "$program needs none of our libraries" independent "$prefix/bin/$program"
        step "$program's manual and completion scripts" test -s "$prefix/share/man/man1/$program.1" \
            -a -s "$prefix/share/bash-completion/completions/$program" \
            -a -s "$prefix/share/zsh/site-functions/_$program" \
            -a -s "$prefix/share/fish/vendor_completions.d/$program.fish"
    fi
done

echo "1..$number"
exit $failed
