# A terminal for full-screen programs: tmux, whose screen is compared as text. Each test has a tmux server of its own.

load_screen() {
    # a static mcpctl contains it
    ! "$MCPCTL" browse -- true 2>&1 </dev/null | grep -q 'mcpctl was built without it' || skip "built without ncurses"
    command -v tmux >/dev/null || skip "tmux is not installed"
    unset NO_COLOR TMUX
}

mux() { tmux -L "mcp-$BATS_ROOT_PID-$BATS_SUITE_TEST_NUMBER-${screens:-0}" -f /dev/null -u "$@"; }

# open_screen COLUMNSxROWS COMMAND...: runs the command in a terminal of this size. Its output and its exit status stay
# on the screen when it has ended.
open_screen() {
    local size=$1 line
    shift
    screens=$((${screens:-0} + 1)) # a server that ends may still have the old name
    printf -v line '%q ' "$@"
    mux new-session -d -x "${size%x*}" -y "${size#*x}" "$line; echo ended with \$?; exec sleep 600"
    mux set-option -g status off
    resize "$size"
}

close_screen() { mux kill-server 2>/dev/null || :; }

resize() { mux resize-window -x "${1%x*}" -y "${1#*x}"; }
# The screen, in which the folder of the test is /home/me/demo.
screen() {
    mux capture-pane -p | sed -e "s|${demo:-/home/me/demo}|/home/me/demo|g" \
        -e "s|▾ tmp/ |▾ home/|" -e "s|▾ ${place##*/}/|▾ me/ |"
}
type_keys() { mux send-keys "$@"; }

# until_shown TEXT...: waits until the screen contains all of these texts.
until_shown() {
    local text shown missing
    for _ in {1..600}; do
        shown=$(screen) missing=
        for text in "$@"; do
            [[ $shown == *"$text"* ]] || missing=$text
        done
        [ "$missing" ] || return 0
        sleep 0.05
    done
    printf 'not shown: %s\n%s\n' "$missing" "$shown" >&2
    return 1
}

# is_screen NAME: waits until the screen is that of screens/NAME.txt, which has no empty lines at its end. With
# MCP_WRITE_SCREENS=1, writes the file as soon as the screen has stayed the same for a second.
is_screen() {
    local file=$BATS_TEST_DIRNAME/screens/$1.txt want shown before=
    if [ "${MCP_WRITE_SCREENS:-}" ]; then
        while shown=$(screen); [ "$shown" != "$before" ]; do
            before=$shown
            sleep 1
        done
        echo "$shown" >"$file"
    fi
    want=$(cat "$file")
    for _ in {1..600}; do
        shown=$(screen)
        [ "$shown" = "$want" ] && return
        sleep 0.05
    done
    diff <(echo "$want") <(echo "$shown") >&2
    return 1
}
