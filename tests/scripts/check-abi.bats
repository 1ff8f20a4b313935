#!/usr/bin/env bats
# scripts/check-abi detects exactly the changes that would break an already built program.

setup() {
    command -v abidiff >/dev/null || skip "abidiff is not installed"
    abidiff --version | grep -q ' 2\.2' || skip "the dump is of libabigail 2.2"
    [ "$(uname -m)" = x86_64 ] || skip "the dump is of x86-64"
    root=$BATS_TEST_DIRNAME/../..
    mkdir -p "$BATS_TEST_TMPDIR/scripts"
    cp -r "$root/include" "$BATS_TEST_TMPDIR/"
    cp "$root/scripts/check-abi" "$BATS_TEST_TMPDIR/scripts/"
    "$BATS_TEST_TMPDIR/scripts/check-abi" --update
    headers=$BATS_TEST_TMPDIR/include/mcp
}

check() {
    "$BATS_TEST_TMPDIR/scripts/check-abi"
}

@test "unchanged headers and changed comments are accepted" {
    check
    sed -i 's|^typedef struct mcp_tool {|/* More words.\n * And a line. */\n&|' "$headers/server.h"
    check
}

@test "a new member in the middle is detected" {
    sed -i '/^typedef struct mcp_tool {/,/^}/s|    const char \*title;|    int surprise;\n&|' "$headers/server.h"
    run check
    [ "$status" -eq 1 ]
    [[ $output == *"int surprise"* ]]
    [[ $output == *"check-abi --update"* ]]
}

@test "a changed argument is detected" {
    sed -i 's|mcp_server_remove_tool(mcp_server \*server,|mcp_server_remove_tool(mcp_server *server, int why,|' "$headers/server.h"
    run check
    [ "$status" -eq 1 ]
    [[ $output == *"mcp_server_remove_tool"* ]]
}

@test "a changed value is detected" {
    sed -i 's|X(ENOMEM, 1,|X(ENOMEM, 77,|; s|MCP_OK = 0|MCP_OK = 7|' "$headers/base.h"
    sed -i 's|MCP_HINT_UNSET = 0|MCP_HINT_UNSET = 5|' "$headers/server.h"
    run check
    [ "$status" -eq 1 ]
}
