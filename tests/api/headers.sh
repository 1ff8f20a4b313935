#!/bin/sh
# headers.sh INCLUDE: each public header compiles alone as C11 and as C++17. The parts for C++, which are mainly macros,
# are tested with every installed C++ compiler.
set -eu
include=$1
cc=${CC:-cc}
cxx=$(command -v "${CXX:-c++}" || true)
flags='-fsyntax-only -Wall -Wextra -Wpedantic -Wundef -Wshadow -Werror'

number=0 failed=0
check() { # what command...
    number=$((number + 1))
    what=$1
    shift
    if printf '#include <%s>\n' "$header" | "$@"; then
        echo "ok $number - $header as $what"
    else
        echo "not ok $number - $header as $what"
        failed=1
    fi
}

for path in "$include"/mcp/*.h "$include"/mcp/sys/*.h; do
    header=${path#"$include"/}
    check C11 "$cc" -std=c11 -Wstrict-prototypes $flags -I"$include" -x c -
    if [ -n "$cxx" ]; then
        check C++17 "$cxx" -std=c++17 $flags -I"$include" -x c++ -
    else
        number=$((number + 1))
        echo "ok $number - $header as C++17 # skip there is no C++ compiler"
    fi
done
header=outside/cpp.cpp
here=$(dirname "$0")
for compiler in "${cxx:-c++}" g++ clang++; do
    for std in 17 20; do
        number=$((number + 1))
        what="$header as C++$std, ${compiler##*/}"
        if ! command -v "$compiler" >/dev/null; then
            echo "ok $number - $what # skip there is no such compiler"
        elif "$compiler" -std=c++$std $flags -I"$include" "$here/$header"; then
            echo "ok $number - $what"
        else
            echo "not ok $number - $what"
            failed=1
        fi
    done
done
echo "1..$number"
exit $failed
