#!/usr/bin/env bats
# mcpctl browse with a server on another SDK, in a terminal; run by `servers --browse`. What is on the screen is compared
# as text.

load browse

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
