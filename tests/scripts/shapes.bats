# The table of shapes is made from the schemas of the specification.

@test "src/protocol/shape_table.c is what scripts/make-shapes writes" {
    cd "$BATS_TEST_DIRNAME/../.."
    scripts/make-shapes | diff - src/protocol/shape_table.c
}
