#!/usr/bin/env bats
# mcpctl browse, in a terminal of its own. What is on the screen is compared as text.

load support/mcpctl
load support/screen

setup() {
    export LC_ALL=C.UTF-8 HOME=$BATS_TEST_TMPDIR/home XDG_CONFIG_HOME='' XDG_STATE_HOME=''
    mkdir "$HOME"
    load_screen
    place=$(mktemp -d /tmp/XXX) # so that the path is as long as /home/me/demo, which the screens have instead
    demo=$place/demo
    mkdir "$demo"
    cd "$demo"
    mkdir src
    printf 'Hello,\n\nthis is a text.\n' >hello.txt
    printf 'int main(void);\n' >src/main.c
    touch -d 2026-07-28T12:00:00Z . src hello.txt src/main.c
}

teardown() {
    close_screen
    rm -rf "$place"
}

browse() { # size
    open_screen "$1" "$MCPCTL" browse -- "$MCPD" "$demo"
    until_shown "hello.txt" "type         inode/directory"
}

@test "a folder at 80x24: list, preview of a text, end" {
    browse 80x24
    type_keys Down
    until_shown "this is a text."
    is_screen folder_80x24
    type_keys q
    until_shown "ended with 0"
}

@test "120x40, 300x80, and another size while it runs" {
    browse 120x40
    type_keys Down
    until_shown "this is a text."
    is_screen folder_120x40
    resize 300x80
    is_screen folder_300x80
    resize 80x24
    is_screen folder_80x24
    resize 19x3
    until_shown "too small"
}

@test "keys: help, the other pane, the lists, the end of a list, redrawing" {
    browse 80x24
    type_keys '?'
    until_shown "one line up" "Enter         open"
    type_keys Escape
    until_shown "inode/directory"
    type_keys G
    until_shown "4/4" "uri          file://*src/main.c"
    type_keys k k
    until_shown "2/4"
    type_keys 4
    until_shown "the server offers none"
    type_keys '['
    until_shown "the server offers none"
    type_keys '['
    until_shown "file://{+path}"
    type_keys 1
    until_shown "2/4"
    type_keys C-c
    until_shown "ended with 0"
}

@test "a server that cannot be started, and one that ends" {
    open_screen 80x24 "$MCPCTL" browse -- ./nothing
    until_shown "No such file"
    type_keys q
    until_shown "ended with 0"
    close_screen
    open_screen 80x24 "$MCPCTL" browse -- sh -c 'echo it is broken >&2; exit 3'
    until_shown "it is broken"
}

@test "without a terminal, and on one that cannot move its cursor" {
    run "$MCPCTL" browse -- "$MCPD" "$demo" </dev/null
    [ "$status" -eq 5 ]
    [[ $output == *"needs a terminal"*"mcpctl shell"* ]]
    TERM=dumb run on_terminal "$MCPCTL" browse -- "$MCPD" "$demo"
    [[ $output == *"cannot move its cursor"*"mcpctl shell"* ]]
    run "$MCPCTL" browse
    [ "$status" -eq 2 ]
}

@test "search as one types: the best match first, more letters, Enter keeps it, Escape ends it" {
    browse 80x24
    type_keys / m
    until_shown "2 of 4" # name of the folder, path of the file
    type_keys a i
    until_shown "1 of 4" "uri          file://*src/main.c"
    type_keys x
    until_shown "nothing matches"
    type_keys BSpace Enter
    until_shown "1 of 4"
    type_keys Escape
    until_shown "4/4" "hello.txt"
}

@test "previews: Markdown, folded JSON, a table, a difference, bytes" {
    printf '# Title\n\nSome *text*.\n' >a.md
    printf '{"a":{"b":{"c":{"d":{"e":1}}}}}' >b.json
    printf 'name,n\nx,1\nyy,22\n' >c.csv
    printf '\0\1' >d.bin
    open_screen 80x24 "$MCPCTL" browse -- "$MCPD" "$demo"
    until_shown "b.json"
    type_keys Down
    until_shown "│Title" "│Some text."
    type_keys Down
    until_shown "│        d: { … 2 lines"
    type_keys Right G k k k k Enter
    until_shown "│          e: 1"
    type_keys Left Down
    until_shown "│name │ n" "│yy   │ 22"
    type_keys Down
    until_shown "│00000000  00 01"
}
