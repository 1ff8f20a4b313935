# scripts/longest on generated files.

setup() {
    cd "$BATS_TEST_TMPDIR"
    mkdir -p scripts src/base bus providers programs tests/unit
    cp "$BATS_TEST_DIRNAME/../../scripts/longest" scripts/
}

# function_of LINES FILE: adds a function of LINES lines.
function_of() {
    {
        printf 'static int name(int a,\n                int b)\n{\n'
        seq -f '    a += %g;' $(($1 - 4))
        printf '}\n'
    } >>"$2"
}

@test "the longest functions and files, the longest first; a table is no function" {
    { echo 'static const int t[] = {'; seq -f '    %g,' 90; echo '};'; } >src/base/x.c # 92 lines
    function_of 20 src/base/x.c
    printf '/* head */\n\n' >tests/unit/y.c
    function_of 61 tests/unit/y.c
    run scripts/longest
    [ "$status" -eq 0 ]
    diff - <(echo "$output") <<'END'
lines of the longest functions:
    61  tests/unit/y.c:3
    20  src/base/x.c:93
lines of the longest files:
   112  src/base/x.c
    63  tests/unit/y.c
END
}
