#!/usr/bin/env bats
# mcpctl browse with servers on other SDKs, in a terminal; run by `servers --browse`. $SERVER is the command line of the
# server, $PEER its name. What is on the screen is compared as text.

load ../../programs/support/mcpctl
load ../../programs/support/screen

setup() {
    unset DISPLAY
    export LC_ALL=C.UTF-8 HOME=$BATS_TEST_TMPDIR/home XDG_CONFIG_HOME='' XDG_STATE_HOME=''
    mkdir "$HOME"
    load_screen
    cd "$BATS_TEST_TMPDIR"
    printf '#!/bin/sh\nexec %s stdio\n' "$SERVER" >peer # so that the screens have no paths
    chmod +x peer
}

teardown() { close_screen; }

browse() { # size
    open_screen "$1" "$MCPCTL" browse -- ./peer
    until_shown "1 Resources " "2 Templates " "3 Prompts " "4 Tools "
}

not_everything() { [ "$PEER" != everything ] || skip "it has other items"; }
only_everything() { [ "$PEER" = everything ] || skip "its items are those of server-everything"; }

@test "$PEER: lists and previews at three sizes" {
    local size
    for size in 80x24 120x40 300x80; do
        browse $size
        if [ "$PEER" = everything ]; then
            until_shown "architecture.md" "Everything Server – Architecture"
        else
            type_keys / t e x t Enter
            until_shown " of 3" "uri          mem://text" "three"
        fi
        is_screen "${PEER}_$size"
        type_keys q
        until_shown "ended with 0"
        close_screen
    done
}

@test "$PEER: a template and a prompt, with completion" {
    not_everything
    browse 80x24
    type_keys 2 Enter
    until_shown "Template mem://city/{name}" "Tab takes one of 3" "Rome"
    type_keys B e r l
    until_shown "Tab takes one of 1" "Berlin"
    type_keys Tab C-s
    until_shown "This is Berlin."
    type_keys Escape 3 Enter
    until_shown "Prompt visit"
    type_keys R Tab C-s
    until_shown "Plan a visit to R"
}

@test "$PEER: a tool with progress, its cancellation, and noise on stdout and stderr" {
    not_everything
    browse 80x24
    type_keys 4 / s l o w Enter Enter
    until_shown "Tool slow" "steps"
    type_keys 1 0 0 Tab t r u e C-s
    until_shown "steps: 100" "tell: true" "y call"
    type_keys y
    until_shown "waiting for the server" "%"
    type_keys Escape
    until_shown "/slow"
    type_keys Escape / n o i s e Enter Enter
    until_shown "Tool noise" "lines"
    type_keys 3 C-s
    until_shown "y call"
    type_keys y
    until_shown "quiet again"
    type_keys Escape L
    until_shown "stderr: noise 3 ...."
}

@test "everything: completion that depends on another field, a structured result" {
    only_everything
    browse 120x40
    type_keys 3 / c o m p l e t Enter Enter
    until_shown "Tab takes one of"
    type_keys E n g Tab
    until_shown "│ Engineering"
    type_keys Enter
    until_shown "Tab takes one of 3" "Charlie"
    type_keys Tab C-s
    until_shown "Please promote Alice"
    type_keys Escape 4 / s t r u c t Enter Enter
    until_shown "Tool get-structured-content"
    type_keys 'Chicago' C-s
    until_shown "y call"
    type_keys y
    until_shown "Structured result" "it fits the tool's schema"
}

@test "everything: sampling, which is shown before it is answered, and an image" {
    only_everything
    browse 120x40
    type_keys 4 / s a m p l i n g Enter Enter
    until_shown "Tool trigger-sampling-request"
    type_keys 'Say hello' C-s
    until_shown "y call"
    type_keys y
    until_shown "answer of a language model" "Say hello" "maxTokens" "> answer"
    type_keys 'Hello there' C-s
    until_shown "Send this answer?" 'text: "Hello there"'
    type_keys y
    until_shown "Result" "Hello there"
    type_keys Escape Escape / t i n y Enter Enter C-s
    until_shown "y call"
    type_keys y
    until_shown "Result" "[an image of " "00000000  89 50 4e 47"
}
