#!/usr/bin/env bats
# The same with the items of server-everything; run by `servers --browse`.

load browse

@test "everything: completion that depends on another field, a structured result" {
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
