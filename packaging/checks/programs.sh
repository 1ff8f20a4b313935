# programs.sh: the tests of the programs with the programs in $folder. For packaging/check.

# Runs this script again in a network of its own, in which only the loopback device is up: no server of somebody else
# answers at a usual port.
alone() {
    local user=(--map-root-user)
    [ "$(id -u)" != 0 ] || user=()
    MCP_ALONE=1 unshare ${user[@]+"${user[@]}"} --net sh -c 'ip link set lo up && exec "$@"' alone "$tree/packaging/check" "$@"
}

# What the tests of the programs need beside the programs: servers and clients of tests, examples, the folder of modules.
build_tests() {
    { [ -e build/dev/build.ninja ] || cmake --preset dev; } && cmake --build --preset dev -j "$(nproc)" --target drive conformance-server \
        mcpd mcpctl examples/all
}

# test_programs NAME: a file of tests/programs with these programs. All of its tests have run, and each that is skipped says why.
test_programs() {
    env MCPD="${MCPD:-$folder/mcpd}" MCPCTL="$folder/mcpctl" PATH="$folder:$tree/build/dev/examples:$PATH" MCP_BUILD_DIR="$tree/build/dev" \
        MCP_SOURCE_DIR="$tree" DRIVE="$tree/build/dev/tests/drive" bats --tap "tests/programs/$1.bats" >"$work/tap" 2>&1
    grep -A12 '^not ok' "$work/tap"
    grep '^ok .* # skip' "$work/tap" >>"$work/skipped"
    ! grep -q '^not ok' "$work/tap" && [ "$(sed -n 's/^1\.\.//p' "$work/tap")" = "$(grep -c '^ok' "$work/tap")" ] || { tail -n 3 "$work/tap"; return 1; }
}

# Files of tests that are not about the programs of FOLDER: they build and install those of the tree, or packages.
other_programs='^(quickstart|packaging|examples)$'

# all_tests [PATTERN]: every file of tests/programs, without those that are left out, and what was skipped in them.
all_tests() {
    local name
    : >"$work/skipped"
    for name in tests/programs/*.bats; do
        name=$(basename "$name" .bats)
        [[ $name =~ ${MCP_CHECK_FILES:-.} ]] || continue
        if [[ $name =~ $other_programs || $name =~ ${1:-^$} ]]; then
            echo "left out tests/programs/$name.bats"
        else
            check "tests/programs/$name.bats" test_programs "$name"
        fi
    done
    sed 's/^ok [0-9]*/skipped/' "$work/skipped"
}
