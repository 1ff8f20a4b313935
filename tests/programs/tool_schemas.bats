# Every model service accepts the schemas of all tools that mcpd can offer (support/portable.jq has
# the rules).

bats_require_minimum_version 1.5.0
load support/talk

setup() {
    : "${MCPD:=mcpd}"
    cd "$BATS_TEST_TMPDIR"
}

faults() { # prints the faults of the Tool in a file, one on each line
    jq -r -L "$BATS_TEST_DIRNAME/support" 'include "portable"; faults' "$1"
}

# Starts mcpd with every module that was built and with everything that has tools; a PostgreSQL
# server is not needed.
start_everything() {
    local sources=(folder)
    mkdir folder
    sqlite3 shop.db 'CREATE TABLE t(x)'
    [ ! -e "$MCP_BUILD_DIR/programs/lib/mcp/sqlite.so" ] || sources+=(sqlite:shop.db 'sqlite:shop.db?name=the%20other.one')
    [ ! -e "$MCP_BUILD_DIR/programs/lib/mcp/postgres.so" ] || sources+=('postgres:host=/nowhere dbname=shop')
    if [ -e "$MCP_BUILD_DIR/programs/lib/mcp/git.so" ]; then
        git init -q repository
        sources+=(git:repository)
    fi
    cat >tools.json <<'END'
{"tools": [
    {"name": "count", "description": "Counts words", "command": ["wc", "{what}", "{file}"], "input-schema": {
        "type": "object", "required": ["file"], "additionalProperties": false, "properties": {
            "file": {"type": "string"}, "what": {"type": "string", "enum": ["-w", "-l"]}}}},
    {"name": "date", "command": ["date"]}]}
END
    talk modern "$MCPD" --config tools.json --resource-tools "${sources[@]}"
}

@test "all tools of mcpd" {
    start_everything
    result tools/list '{}'
    jq -c '.tools[]' <<<"$heard" >tools
    hush
    for name in list_resources read_resource count date query_sqlite_shop query_sqlite_the_other_one query_postgres_shop; do
        case $name in
        query_*) module=${name#query_} && [ -e "$MCP_BUILD_DIR/programs/lib/mcp/${module%%_*}.so" ] || continue ;;
        esac
        grep -q "\"name\":\"$name\"" tools || { echo "there is no $name"; return 1; }
    done
    while IFS= read -r tool; do
        printf '%s' "$tool" >tool
        faults tool
    done <tools >faults
    [ ! -s faults ] || { cat faults; return 1; }
}

@test "the rules detect violations" {
    while IFS='|' read -r schema wanted; do
        printf '{"name": "t", "inputSchema": %s}' "$schema" >tool
        run -0 faults tool
        [ "$output" = "$wanted" ] || { printf '%s\ngot:    %s\nwanted: %s\n' "$schema" "$output" "$wanted"; return 1; }
    done <<'END'
{"type":"object","properties":{}}|
{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}},"b":{"type":"string","enum":["x"]}},"required":["a"]}|
{"type":"object","properties":{"a":{"type":["array","object"]}}}|t/a: has no one type
{"type":"object","properties":{"a":{}}}|t/a: has no type
{"type":"object","properties":{"a":true}}|t/a: is no object
{"type":"object","properties":{"a":{"type":"array"}}}|t/a: is an array of it does not say what
{"type":"object","properties":{"a":{"type":"array","items":{}}}}|t/a/items: has no type
{"type":"object","properties":{"a":{"type":"array","items":{"type":["string","null"]}}}}|t/a/items: has no one type
{"type":"object","properties":{"a":{"type":"integer","enum":[1]}}}|t/a: is an enum of what are not strings
{"type":"object","properties":{"a":{"type":"object"}}}|t/a: is an object without properties
{"type":"object","properties":{"a":{"type":"object","properties":{},"additionalProperties":{"type":"string"}}}}|t/a: takes other properties
{"type":"object","properties":{"a b":{"type":"string"}}}|t: has a property a b
{"type":"object","properties":{},"required":["a"]}|t: requires a, which it has not
{"type":"object","properties":{},"oneOf":[]}|t: has oneOf
{"type":"string"}|t: the arguments are no object
END
    printf '{"name": "t.t", "inputSchema": {"type": "object", "properties": {"a": {"enum": ["x"]}}}}' >tool
    run -0 faults tool
    [ "$output" = $'t.t: is no name for a tool\nt.t/a: has no type\nt.t/a: is an enum without a type' ]
    printf '{"name": "t", "inputSchema": {"type": "object", "properties": {}}, "outputSchema": {"type": "object",
        "properties": {"rows": {"type": "array", "items": {"type": "array", "items": {}}}, "a": {"type": "array"},
        "b": {"anyOf": []}}}}' >tool
    run -0 faults tool
    [ "$output" = $'t output/a: is an array of it does not say what\nt output/b: has anyOf' ]
}
