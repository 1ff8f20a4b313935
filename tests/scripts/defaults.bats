# The defaults that headers, schemas and --help name are those that the code fills in: see defaults.py.

setup() {
    cd "$BATS_TEST_DIRNAME/../.." || return
}

@test "each documented default has a row with the same number" {
    python3 tests/scripts/defaults.py
}

@test "a row that is forgotten, another number and another maximum are found" {
    cp -r include src providers bus programs "$BATS_TEST_TMPDIR"
    cd "$BATS_TEST_TMPDIR"
    sed -i '/mcp_http_options, max_body,/d' src/http/server/endpoint.c
    sed -i 's/max_depth, 64, .maximum/max_depth, 63, .maximum/' src/json/parse.c
    sed -i 's/max_depth, 512, .maximum = 4096/max_depth, 512, .maximum = 4095/' src/schema/compile.c
    sed -i 's/(settings, max_upstream_calls, 1024)/(settings, max_upstream_calls, 1023)/' programs/mcpd/capacity.c
    sed -i 's/(mcp_upstream_options, max_calls, 256)/(mcp_upstream_options, max_calls, 255)/' providers/upstream/provider.c
    run python3 "$BATS_TEST_DIRNAME/defaults.py"
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *"mcp_http_options.max_body has the default 4194304, and no row"* ]]
    [[ $output == *"mcpd: --max_body has the default 4194304, and its row []"* ]]
    [[ $output == *"mcp_json_limits.max_depth: the comment says 64, its row 63"* ]]
    [[ $output == *"mcp_schema_options.max_depth: the comment says the maximum 4096, its row 4095"* ]]
    [[ $output == *"mcpd: --max_upstream_calls has the default 1024, and its row [1023]"* ]]
    [[ $output == *"providers/upstream/source.c: max_calls has the default 256, and its row [255]"* ]]
}
