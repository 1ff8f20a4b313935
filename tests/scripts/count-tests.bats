# scripts/count-tests on the output of ctest: the last line, and that every failure is counted.

setup() {
    count=$BATS_TEST_DIRNAME/../../scripts/count-tests
    results=$BATS_TEST_TMPDIR/tests.xml
    printf '<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="x"\n\t>\n' >"$results"
}
# a_test STATUS OUTPUT [ELEMENT]
a_test() {
    printf '\t<testcase name="it" classname="it" time="0" status="%s">\n\t\t%s\n\t\t<system-out>%b</system-out>\n\t</testcase>\n' \
        "$1" "${3:-}" "$2" >>"$results"
}
# closing LINE STATUS
closing() {
    printf '</testsuite>\n' >>"$results"
    run "$count" "$results"
    echo "$output"
    [ "${lines[-1]}" = "$1" ]
    [ "$status" -eq "$2" ]
}

@test "a test without cases counts as one" {
    a_test run 'hello\n'
    a_test fail 'hello\n'
    closing "1 passed, 1 failed, 0 skipped" 1
}
@test "TAP: the cases are counted" {
    a_test run '1..3\nok 1 - a\nok 2 - b\nok 3 # SKIP why\n'
    closing "2 passed, 0 failed, 1 skipped" 0
}
@test "cmocka's form of skipped cases" {
    a_test run '1..2\nok 1 - a\nnot ok 2 # SKIP b\n# ok - group\n'
    closing "1 passed, 0 failed, 1 skipped" 0
}
@test "TAP: failed cases, and each is named" {
    a_test fail '1..2\nnot ok 1 - this one\nok 2 - b\n'
    closing "1 passed, 1 failed, 0 skipped" 1
    [[ $output == *"failed: "*"this one"* ]]
}
@test "a crash after passed cases" {
    a_test fail '1..1\nok 1 - a\n'
    closing "1 passed, 1 failed, 0 skipped" 1
}
@test "an early exit with status 0" {
    a_test run '1..5\nok 1 - a\nok 2 - b\n'
    closing "2 passed, 3 failed, 0 skipped" 1
}
@test "an early end after a failed case" {
    a_test fail '1..5\nok 1 - a\nnot ok 2 - b\n'
    closing "1 passed, 4 failed, 0 skipped" 1
}
@test "a failed case of a program with exit status 0" {
    a_test run 'not ok 1 - a\n'
    closing "0 passed, 1 failed, 0 skipped" 1
}
@test "node's test runner" {
    a_test fail 'ℹ tests 4\nℹ pass 1\nℹ fail 2\nℹ cancelled 0\nℹ skipped 1\nℹ todo 0\n'
    closing "1 passed, 2 failed, 1 skipped" 1
}
@test "skipped, with its reason" {
    a_test notrun 'skipped: no network\n' '<skipped message="SKIP_RETURN_CODE=77"/>'
    closing "0 passed, 0 failed, 1 skipped" 0
    [[ $output == *"skipped: "*"no network"* ]]
}
@test "a test that could not be started has failed" {
    a_test notrun 'Unable to find executable: x' '<skipped message="Unable to find executable"/>'
    closing "0 passed, 1 failed, 0 skipped" 1
}
@test "missing or incomplete results are a failure" {
    run "$count" "$BATS_TEST_TMPDIR/none.xml"
    [ "${lines[-1]}" = "0 passed, 1 failed, 0 skipped" ]
    a_test run 'ok 1 - a\n'
    run "$count" "$results"
    [ "${lines[-1]}" = "1 passed, 1 failed, 0 skipped" ]
    [ "$status" -eq 1 ]
}
