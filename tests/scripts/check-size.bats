# scripts/check-size on generated files.

setup() {
    cd "$BATS_TEST_TMPDIR"
    mkdir -p scripts src/base bus providers programs tests/unit
    cp "$BATS_TEST_DIRNAME/../../scripts/check-size" scripts/
}

# function_of LINES FILE: adds a function of LINES lines.
function_of() {
    {
        printf 'static int name(int a,\n                int b)\n{\n'
        seq -f '    a += %g;' $(($1 - 4))
        printf '}\n'
    } >>"$2"
}

@test "a function of 60 lines passes, one of 61 does not" {
    printf '/* head */\n\nstruct s {\n    int a;\n};\n\n' >src/base/x.c
    function_of 60 src/base/x.c
    run scripts/check-size
    [ "$status" -eq 0 ]
    echo >>src/base/x.c
    echo 'int after;' >>src/base/x.c
    function_of 61 src/base/x.c
    run scripts/check-size
    echo "$output"
    [ "$status" -eq 1 ]
    [ "$output" = "src/base/x.c:69: a function of 61 lines, where 60 are allowed" ]
}
@test "a table does not count as a function" {
    { echo 'static const int t[] = {'; seq -f '    %g,' 90; echo '};'; } >src/base/x.c
    function_of 20 src/base/x.c
    run scripts/check-size
    [ "$status" -eq 0 ]
}
@test "a file of 500 lines passes, one of 501 does not; a test may have 700" {
    seq -f '/* %g */' 500 >src/base/x.h
    seq -f '/* %g */' 700 >tests/unit/x.c
    run scripts/check-size src/base/x.h tests/unit/x.c
    [ "$status" -eq 0 ]
    echo >>src/base/x.h
    run scripts/check-size
    [ "$status" -eq 1 ]
    [ "$output" = "src/base/x.h:1: a file of 501 lines, where 500 are allowed" ]
    echo >>tests/unit/x.c
    run scripts/check-size tests/unit/x.c
    [ "$status" -eq 1 ]
}
