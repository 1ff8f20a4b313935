#!/usr/bin/env bats
# The same with the items of our own servers on other SDKs; run by `servers --browse`.

load browse

@test "$PEER: a template and a prompt, with completion" {
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
