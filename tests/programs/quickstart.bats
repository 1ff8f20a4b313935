# quickstart, in a copy of the source tree that uses this build. A fake cmake builds nothing and
# prints the progress of ninja.

bats_require_minimum_version 1.5.0

setup() {
    : "${MCPD:=mcpd}" "${MCPCTL:=mcpctl}" "${MCP_BUILD_DIR:=build/release}"
    root=$BATS_TEST_DIRNAME/../..
    cd "$BATS_TEST_TMPDIR"
    mkdir -p bin tree/scripts tree/build/release project home
    cp "$root/quickstart" tree/
    ln -s "$MCP_BUILD_DIR/programs" tree/build/release/programs
    printf '#!/bin/sh\n' >tree/scripts/install-deps
    printf '#!/bin/sh\ncase $1 in\n--build) cat "%s/ninja" ;;\n--install) exec %q --install %q --prefix "$4" ;;\nesac\n' \
        "$PWD" "$(command -v cmake)" "$MCP_BUILD_DIR" >bin/cmake
    printf '#!/bin/sh\necho 1000\n' >bin/id
    chmod +x bin/* tree/scripts/install-deps
    for i in $(seq 40); do echo "[$i/40] Building C object x"; done >ninja
    export PATH=$PWD/bin:$PATH HOME=$PWD/home
    printf '# Notes of Ada\n' >project/README.md
}

entry() { # sets the array $command to the command of the printed entry
    mapfile -t command < <(printf '%s\n' "$output" | sed -n '/^{$/,/^}$/p' | jq -r '.mcpServers.mcpd | .command, .args[]')
}

@test "invalid arguments: usage or a reason, before anything is built" {
    printf '#!/bin/sh\nexit 1\n' >bin/cmake
    for word in --help -h; do
        run -0 --separate-stderr tree/quickstart $word
        [[ "$output" == "quickstart [--install] [SOURCE]: "* && -z $stderr ]]
    done
    run -2 --separate-stderr tree/quickstart --nope
    [[ -z "$output" && $stderr == *"[--install]"* ]]
    run -2 tree/quickstart project home
    [[ "$output" == "quickstart: one folder or file at a time"* ]]
    run -1 tree/quickstart none
    [ "$output" = "quickstart: there is no folder or file 'none'" ]
    mkfifo fifo
    run -1 tree/quickstart fifo
    [ "$output" = "quickstart: 'fifo' is neither a folder nor a regular file" ]
}

@test "serves a folder and prints an entry that works anywhere; the printed commands work" {
    mv project 'my project'
    run -0 --separate-stderr tree/quickstart 'my project'
    [[ "$output" == *$'\n4 of 40 steps\n8 of 40 steps\n'*$'\n40 of 40 steps\n'* ]]
    [[ "$output" == *"# Notes of Ada"* ]]
    entry
    cd /
    [ "${command[0]}" = "$(realpath "$MCPD")" ]
    "$MCPCTL" ls -- "${command[@]}" | grep -q 'my%20project/README.md$'
    printf '%s\n' "$output" | sed -n 's/^\$ //p' >"$BATS_TEST_TMPDIR/typed"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/typed")" -eq 4 ]
    [[ "$output" == *"/mcpd --install cursor "* && "$output" == *--resource-tools* ]]
    while read -r line; do
        env -i HOME="$HOME" PATH=/usr/bin:/bin bash -c "$line" </dev/null >/dev/null 2>&1
    done <"$BATS_TEST_TMPDIR/typed"
}

@test "on a terminal one line shows the progress" {
    run -0 script -qec 'tree/quickstart project' /dev/null
    [[ "$output" == *$'\r1 of 40 steps\r2 of 40 steps\r'* ]]
}

@test "serves a single file" {
    touch project/other
    run -0 tree/quickstart project/README.md
    [[ "$output" == *"# Notes of Ada"* && "$output" != *project/other* ]]
    entry
    [ "${command[-1]}" = "$PWD/project/README.md" ]
}

@test "--install: the programs and their modules are found, after the line that it prints" {
    run -0 tree/quickstart --install project
    [[ "$output" == *"which is not in PATH"* ]]
    eval "$(printf '%s\n' "$output" | grep '^    export PATH=')"
    [ "$(command -v mcpd)" = "$HOME/.local/bin/mcpd" ]
    run -0 tree/quickstart --install project
    [[ "$output" == *$'\n$ mcpctl info -- mcpd '* && "$output" == *"which is in PATH."* ]]
    entry
    [ "${command[0]}" = "$HOME/.local/bin/mcpd" ]
    cd /
    [ "$(mcpctl read "file://$BATS_TEST_TMPDIR/project/README.md" -- "${command[@]}")" = "# Notes of Ada" ]
    [ -f "$MCP_BUILD_DIR/programs/lib/mcp/sqlite.so" ] || skip "built without sqlite"
    sqlite3 "$BATS_TEST_TMPDIR/shop.db" 'create table goods(name)'
    mcpctl ls -- mcpd "sqlite:$BATS_TEST_TMPDIR/shop.db" | grep -q goods
}

@test "README: the commands work as they are written" {
    awk '/^## Try it/ { on = 1; next } /^## / { on = 0 } on && /^    / { sub(/^    /, ""); print }' "$root/README.md" >lines
    [ "$(cat lines)" = "git clone ADDRESS libmcp
libmcp/quickstart --install ~/project
mcpd --install cursor ~/project" ]
    mkdir home/project
    echo '# Notes' >home/project/README.md
    sed -i "s|git clone ADDRESS|cp -R $PWD/tree|; s|--install cursor|& --yes|" lines
    PATH=$HOME/.local/bin:$PATH run -0 bash -euc "$(cat lines)"
    mapfile -t command < <(jq -r '.mcpServers.mcpd | .command, .args[]' home/.cursor/mcp.json)
    [ "${command[*]}" = "$HOME/.local/bin/mcpd --resource-tools $HOME/project" ]
    cd /
    "$MCPCTL" ls -- "${command[@]}" | grep -q '/project/README.md$'
    # and every file that it links to exists
    grep -o '](\([a-z][^)#]*\))' "$root/README.md" | grep -v '(http' | tr -d '()]' | while read -r link; do
        [ -e "$root/$link" ] || { echo "no $link"; return 1; }
    done
}

@test "a build that fails prints the reason" {
    printf '#!/bin/sh\necho "foo.c:1: error: no"\nexit 1\n' >bin/cmake
    run -1 tree/quickstart project
    [[ "$output" == *"foo.c:1: error: no"* ]]
}
