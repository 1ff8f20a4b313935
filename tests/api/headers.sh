#!/bin/sh
# headers.sh INCLUDE: each public header compiles alone, with nothing before it, as C11 and as C++17.
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
    if printf '#include <mcp/%s>\n' "$header" | "$@"; then
        echo "ok $number - $header as $what"
    else
        echo "not ok $number - $header as $what"
        failed=1
    fi
}

for path in "$include"/mcp/*.h; do
    header=${path##*/}
    check C11 "$cc" -std=c11 -Wstrict-prototypes $flags -I"$include" -x c -
    if [ -n "$cxx" ]; then
        check C++17 "$cxx" -std=c++17 $flags -I"$include" -x c++ -
    else
        number=$((number + 1))
        echo "ok $number - $header as C++17 # skip there is no C++ compiler"
    fi
done
# What there is for C++ alone.
header=outside/cpp.cpp
here=$(dirname "$0")
for std in 17 20; do
    number=$((number + 1))
    if [ -z "$cxx" ]; then
        echo "ok $number - $header as C++$std # skip there is no C++ compiler"
    elif "$cxx" -std=c++$std $flags -I"$include" "$here/$header"; then
        echo "ok $number - $header as C++$std"
    else
        echo "not ok $number - $header as C++$std"
        failed=1
    fi
done
echo "1..$number"
exit $failed
