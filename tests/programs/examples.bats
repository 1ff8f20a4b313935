# The examples do what their first comments say.

bats_require_minimum_version 1.5.0

setup() {
    : "${MCPCTL:=mcpctl}" "${MCP_BUILD_DIR:=build/release}"
    examples=$MCP_BUILD_DIR/examples
}

@test "hello: a resource, a template and a tool" {
    [ "$("$MCPCTL" ls -- "$examples/hello")" = hello:world ]
    [ "$("$MCPCTL" read hello:world -- "$examples/hello")" = 'Hello, world!' ]
    [ "$("$MCPCTL" read hello:name/J%C3%B6 -- "$examples/hello")" = 'Hello, Jö!' ]
    out=$(printf '%s\n' \
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
        '{"jsonrpc":"2.0","method":"notifications/initialized"}' \
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada"}}}' \
        '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"greet","arguments":{}}}' |
        "$examples/hello" | jq -sc '[.[1,2].result | [.content[0].text, .isError]]')
    [ "$out" = '[["Hello, Ada!",null],["Invalid arguments for tool greet: (root): missing property \"name\" (required)",true]]' ]
}
