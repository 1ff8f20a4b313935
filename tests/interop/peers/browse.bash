# What the tests of mcpctl browse with servers on other SDKs share. $SERVER is the command line of the server, $PEER its
# name.

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
