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
    kill ${server:-} 2>/dev/null || :
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
    is_screen help_80x24
    type_keys End
    until_shown "For screen readers"
    type_keys Home
    is_screen help_80x24
    type_keys Escape
    until_shown "inode/directory"
    type_keys G
    until_shown "4/4" "src/main.c" "uri          file://"
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
    until_shown "1 of 4" "src/main.c" "uri          file://"
    type_keys x
    until_shown "nothing matches"
    type_keys BSpace Enter
    until_shown "1 of 4"
    type_keys Escape
    until_shown "4/4" "hello.txt"
    close_screen
    workshop
    type_keys 3 / g r e e t i Enter # the title
    until_shown "1 of 2" "A greeting"
    type_keys Escape / g r e e t Enter
    until_shown "1 of 2" "/greet "
    type_keys 1 / r e a d m e . Enter
    until_shown "of 5" "Read me first" "readme.md"
}

@test "the tree: folders open and close; a search in it is a list" {
    browse 80x24
    type_keys t
    until_shown "▾ file:///" "▾ demo/" "▸ src/" "hello.txt"
    type_keys G
    until_shown "uri          file:///home/me/demo/src"
    type_keys Right
    until_shown "▾ src/" "  main.c"
    is_screen tree_80x24
    type_keys j
    until_shown "int main(void);"
    type_keys Left
    until_shown "type         inode/directory"
    type_keys Left
    until_shown "▸ src/"
    type_keys / h e l l Enter
    until_shown "1 of 4" "this is a text."
    type_keys Escape t
    until_shown "1/4"
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

workshop() {
    open_screen 80x24 "$MCPCTL" browse -- "$BATS_TEST_DIRNAME/support/workshop"
    until_shown "readme" "4 Tools 14"
}

@test "a tool: its form, wrong values, exactly what is sent, the call, a checked result" {
    workshop
    type_keys 4 Enter
    until_shown "Tool add" "> a *" "integer, required"
    type_keys x Tab 2.5 Tab Tab 'p,q' C-s
    until_shown "> a *                 │ x"
    is_screen form_80x24
    type_keys BSpace 1 C-s
    until_shown "Call this tool?" "y call"
    is_screen confirm_80x24
    type_keys n
    until_shown "> a *                 │ 1"
    type_keys C-s
    until_shown "y call"
    type_keys y
    until_shown 'called with {"a":1,"b":2.5,"tags":["p","q"]}'
    type_keys Escape
    until_shown "inputSchema"
    type_keys / c o u n t Enter Enter C-s
    until_shown "y call"
    type_keys y
    until_shown "Structured result" "n: 7" "it fits the tool's schema"
}

@test "a slow tool: progress, and its cancellation" {
    workshop
    type_keys 4 / s l o w Enter Enter C-s
    until_shown "y call"
    type_keys y
    until_shown "waiting for the server" '%  step '
    ! screen | grep $'\e' || false
    type_keys Escape
    until_shown "/slow"
}

@test "a tool that becomes a task: its state, its result, its cancellation" {
    open_screen 120x40 "$MCPCTL" browse -- "$MCP_BUILD_DIR/tests/conformance-server" --stdio
    until_shown "1 Resources " "4 Tools "
    type_keys 4 / s l o w _ c o Enter Enter
    until_shown "Tool slow_compute" "> seconds"
    type_keys 0 Tab x C-s
    until_shown "y call"
    type_keys y
    until_shown "Result" "Computed x"
    type_keys Escape
    until_shown "/slow_co"
    type_keys Enter
    until_shown "Tool slow_compute" "> seconds"
    type_keys C-u 9 9 9 C-s
    until_shown "y call" "seconds: 999"
    type_keys y
    until_shown "waiting for the server" "task " ": working"
    type_keys Escape
    until_shown "/slow_co"
    type_keys T
    until_shown "Messages" '"tasks/cancel"'
}

@test "a question of a server, during the call that asks" {
    workshop
    type_keys 4 / a s k Enter Enter C-s
    until_shown "y call"
    type_keys y
    until_shown "The server asks" 'Who are you?\x1b[2J' "> name *" "│ 30"
    type_keys b o b C-s
    until_shown "Send this answer?" 'name: "bob"' "age: 30"
    type_keys y
    until_shown "Result" '"name":"bob"'
}

@test "a request for sampling is shown before it is answered: by hand, by a command, not at all" {
    workshop
    type_keys 4 / t h i n k Enter Enter C-s
    until_shown "y call"
    type_keys y
    until_shown "wants the answer of a language model" "Think!" "maxTokens" "> answer"
    type_keys C-s
    until_shown "Write the answer, or decline"
    type_keys 'It is 4.'
    until_shown "│ It is 4."
    is_screen sample_80x24
    type_keys C-s
    until_shown "Send this answer?" 'text: "It is 4."' 'model: "human"'
    type_keys n
    until_shown "Think!" "│ It is 4."
    type_keys C-s
    until_shown "y send"
    type_keys y
    until_shown "Result" '"text":"It is 4."'
    type_keys Escape Enter C-s
    until_shown "y call"
    type_keys y
    until_shown "Think!"
    type_keys C-r
    until_shown "There is no command"
    type_keys C-x
    until_shown "rejected by the user"
    close_screen
    open_screen 80x24 "$MCPCTL" browse --sampler 'tr a-z A-Z | grep -o THINK' -- "$BATS_TEST_DIRNAME/support/workshop"
    until_shown "readme" "4 Tools 14"
    type_keys 4 / t h i n k Enter Enter C-s
    until_shown "y call"
    type_keys y
    until_shown "Think!" "^R run the command"
    type_keys C-r
    until_shown "Send this answer?" 'text: "THINK' 'model: "command"'
    type_keys y
    until_shown "Result" '"text":"THINK'
}

# thinks COMMAND: the browser with a request for sampling, which the command answers
thinks() {
    close_screen
    open_screen 80x24 "$MCPCTL" browse --sampler "$1" -- "$BATS_TEST_DIRNAME/support/workshop"
    until_shown "readme" "4 Tools 14"
    type_keys 4 / t h i n k Enter Enter C-s
    until_shown "y call"
    type_keys y
    until_shown "Think!" "^O edit the request"
}

@test "a request for sampling and its answer are changed with the editor, or refused" {
    export EDITOR='sed -i "s/Think/Ponder/; s/thought/idea/"' VISUAL=
    thinks "cat >$demo/request; echo one thought"
    type_keys C-o
    until_shown "Ponder!" "The command gets the request as it is shown."
    type_keys C-r
    until_shown "Send this answer?" 'text: "one thought' "e edit  n change  ^X decline"
    grep -q Ponder! request
    type_keys e
    until_shown "Send this answer?" 'text: "one idea' 'model: "command"'
    type_keys y
    until_shown "Result" '"text":"one idea'
    # The answer is refused after it was seen.
    thinks "touch $demo/ran; echo a secret"
    type_keys C-r
    until_shown 'text: "a secret'
    type_keys C-x
    until_shown "rejected by the user"
    [ -e ran ]
    # What is no JSON object, and an editor that fails, change nothing; an answer by hand can be changed too.
    EDITOR='sed -i s/messages/x\"y/' thinks "cat >$demo/request; echo fine"
    type_keys C-o
    until_shown "Not changed; ^O edits it again: " "Think!"
    type_keys C-r
    until_shown 'text: "fine'
    grep -q Think! request
    # What was no JSON is not lost: the editor gets it again, until it is.
    cat >editor <<'END'
#!/bin/sh
if grep -q broken "$1"; then sed -i 's/broken"/"messages/; s/Think/Ponder/' "$1"; else sed -i 's/"messages/broken"/' "$1"; fi
END
    chmod 755 editor
    EDITOR=$PWD/editor thinks "echo fine"
    type_keys C-o
    until_shown "Not changed; ^O edits it again: " "Think!"
    type_keys C-o
    until_shown "Ponder!" "The command gets the request as it is shown."
    type_keys C-o
    until_shown "Not changed; ^O edits it again: " "Ponder!"
    EDITOR=false thinks "echo fine"
    type_keys C-o
    until_shown "Not changed: the editor failed: false" "Think!"
    thinks "echo fine"
    type_keys 'my thought' C-s
    until_shown 'text: "my thought"' 'model: "human"'
    type_keys e
    until_shown 'text: "my idea"' 'model: "human"'
    mkdir tmp
    TMPDIR=$PWD/tmp thinks "echo fine"
    type_keys C-o
    until_shown "Ponder!"
    [ -z "$(ls tmp)" ]
}

# What is on the screen in green and in red: added and removed lines.
coloured() { mux capture-pane -p -e | sed -n "s/.*\\x1b\\[3$1m\\([^\\x1b]*\\).*/\\1/p"; }
edits() { # EDITOR OPTIONS...: opens the form of edit_file and fills it in
    type_keys 4 / e d i t Enter Enter
    until_shown "Tool edit_file" "> uri *"
    type_keys "$1" Tab
    until_shown "> edits"
    type_keys -l "$2"
    type_keys C-s
}

@test "what a call would change is shown before it is made, if the user wants it" {
    printf 'one\33[2J\342\200\256\ntwo\n' >a.txt
    open_screen 80x24 "$MCPCTL" browse -- "$MCPD" "$demo?write=**"
    until_shown "hello.txt" "type         inode/directory"
    edits a.txt '[{"old":"two","new":"2"}]'
    until_shown "Call this tool?" "y call  d dry_run" "whether it changes nothing is the server's word"
    [[ $(screen) != *"-two"* ]] # nothing was called yet
    type_keys d
    until_shown "What the tool says it would change" "  -two" "  +2" '   one\x1b[2J\u202e' "y call"
    [[ $(coloured 2) == *+2* && $(coloured 1) == *-two* ]]
    [ "$(tail -n 1 a.txt)" = two ]
    type_keys y
    until_shown "Result" "Changed file:///home/me/demo/a.txt"
    [ "$(tail -n 1 a.txt)" = 2 ]
    # what would fail is not called
    type_keys Escape
    until_shown "/edit" " of 4"
    type_keys Escape
    edits a.txt '[{"old":"two","new":"2"}]'
    until_shown "y call  d dry_run"
    type_keys d
    until_shown "It would fail, so it is not called." "does not occur"
    close_screen
    # a long difference begins on top; tools that only read, and others, have nothing to try
    seq -f 'line %g' 60 >a.txt
    open_screen 80x24 "$MCPCTL" browse -- "$MCPD" --resource-tools "$demo?write=**"
    until_shown "hello.txt" "type         inode/directory"
    edits a.txt "$(jq -cn '[range(30; 58) | {old: "line \(.)\n", new: "\(.)\n"}]')"
    until_shown "y call  d dry_run"
    type_keys d
    until_shown "-line 30"
    [[ $(screen) != *"Call this tool?"* ]]
    type_keys End
    until_shown "line 60"
    type_keys C-c
    until_shown "/edit"
    type_keys Escape
    type_keys / r e a d _ r Enter Enter
    until_shown "Tool read_resource"
    type_keys hello.txt C-s
    until_shown "Call this tool?" "y call  n change"
}

@test "a question about a change keeps its lines, is scrolled, and is answered below" {
    printf 'one\ntwo\n' >a.txt
    jq -n --arg here "$demo" '{sources: [$here], access: [{effect: "allow"},
        {effect: "ask", operations: ["change"], resources: ($here + "/**")}]}' >"$HOME/mcpd.json"
    open_screen 80x24 "$MCPCTL" browse -- "$MCPD" --config "$HOME/mcpd.json"
    until_shown "hello.txt" "type         inode/directory"
    edits a.txt "$(jq -cn '[{old: "two", new: ("many words that do not fit " + "and so on " * 8 + "-end")}, {old: "one\n", new: ([range(30) | "line \(.)\n"] | join(""))}]')"
    until_shown "y call"
    type_keys y
    until_shown "The server asks" "  change file:///home/me/demo/a.txt, +31 −2 lines" "  | -one" "  | +line 0" "more rows" \
        "> decision *" "one of: do it, do not" "PgDn scroll"
    [[ $(coloured 1) == *"| -one"* && $(coloured 2) == *"| +line 0"* ]]
    type_keys PageDown PageDown PageDown
    # what goes on in another row is indented further than what begins a line
    until_shown "  | +many words" "          "
    [[ $(screen) == *"  | +many words that do not fit"*$'\n          '[a-z]* ]]
    type_keys -l 'do it'
    type_keys C-s
    until_shown "Send this answer?" 'decision: "do it"' "change file:///home/me/demo/a.txt, +31 −2 lines"
    type_keys y
    until_shown "Result" "Changed file:///home/me/demo/a.txt"
    [ "$(head -n 1 a.txt)" = "line 0" ]
}

@test "a question with an address: whose it is, and that nothing is opened" {
    workshop
    type_keys 4 / v i s i t Enter Enter C-s
    until_shown "y call"
    type_keys y
    until_shown "https://example.com/sign-in?for=workshop" "It belongs to:" "example.com"
    type_keys C-s
    until_shown "Result" "accept"
}

@test "a prompt and a template, by their forms" {
    workshop
    type_keys 3 Enter
    until_shown "Prompt"
    type_keys C-s
    until_shown "required"
    type_keys Escape 2 Enter
    until_shown "Template mem:page" "> name"
    type_keys x C-s
    until_shown "one" "five"
}

@test "completion in forms: as one types, the next ones by Tab, and of a server of the older era" {
    local era
    for era in '' legacy; do
        open_screen 80x24 "$MCPCTL" browse -- "$BATS_TEST_DIRNAME/support/workshop" $era
        until_shown "readme" "4 Tools 14"
        type_keys 3 Enter
        until_shown "Tab takes one of 3" "Alan" 'Grace\x1b[1m'
        type_keys A
        until_shown "Tab takes one of 7"
        [[ $(screen) != *Grace* ]]
        [ "$era" ] || is_screen complete_80x24
        type_keys Tab
        until_shown "> name *              │ Ada"
        type_keys Tab
        until_shown "│ Alan"
        type_keys BTab Enter
        until_shown "  name *              │ Ada" "> tone"
        type_keys C-s
        until_shown 'Greet {"name":"Ada"}'
        type_keys Escape 2 Enter
        until_shown "Template mem:page" "Tab takes one of 3"
        close_screen
    done
}

@test "completion uses the values of the other fields, and Tab without proposals moves" {
    workshop
    type_keys 3 Enter
    until_shown "Tab takes one"
    type_keys x Down r u d e Up
    until_shown "oi"
    type_keys Tab
    until_shown "> name *              │ oi"
    type_keys Tab
    until_shown "> tone"
}

shifty() { # kind
    export SHIFTY_LOG=$demo/log
    open_screen 80x24 "$MCPCTL" browse -- "$BATS_TEST_DIRNAME/support/shifty" "$1"
    until_shown "4 Tools"
    type_keys 4
}

@test "hostile names move no cursor, set no title and fake no confirmation" {
    shifty escapes
    until_shown "1/7" "<script>"
    is_screen hostile_80x24
    resize 120x40
    is_screen hostile_120x40
    resize 300x80
    is_screen hostile_300x80
    resize 80x24
    is_screen hostile_80x24
    [[ $(mux display-message -p '#{pane_title}') != title* ]]
    type_keys End Enter
    until_shown 'Tool fake\x0a y call' 'Enter next  ^S go on'
    type_keys y
    until_shown '> path                │ y'
    [ ! -e log ]
}

@test "a name of 10 MB, 100,000 tools, and a list that never ends" {
    shifty long
    until_shown "xxxxxx…" "1/2"
    type_keys Enter Down Enter
    until_shown "Tool short"
    close_screen
    shifty many
    until_shown "tool000001" "1/100000"
    type_keys End
    until_shown "100000/100000"
    type_keys / 9 9 8 7 7
    until_shown "tool099877"
    close_screen
    shifty endless
    until_shown "tool 1" "+"
    type_keys End
    until_shown "reading more"
    type_keys k
    type_keys 1
    until_shown "offers none"
    type_keys q
    until_shown "ended with 0"
}

@test "a tool that changes while its call is confirmed is not called" {
    shifty renamed
    until_shown "version 1"
    type_keys Enter
    until_shown "Tool remove"
    type_keys x C-s
    until_shown "y call"
    type_keys y
    until_shown "Not called: the tool has changed" "version 2"
    type_keys x C-s
    until_shown "y call"
    type_keys y
    until_shown "Not called: the server no longer offers this tool"
    [ ! -e log ]
}

@test "several servers, and the panes of log and messages" {
    serve "$demo"
    open_screen 80x24 "$MCPCTL" browse "$url" -- sh -c "echo from stderr >&2; exec '$BATS_TEST_DIRNAME/support/workshop'"
    until_shown "hello.txt" "$url" " sh -c"
    type_keys s
    until_shown "Read me first" "Tools 14"
    type_keys L
    until_shown "Log" "stderr: from stderr"
    type_keys T
    until_shown "Messages" '> {"jsonrpc":"2.0"'
    type_keys T s
    until_shown "hello.txt"
}

@test "a server by its name in a configuration file, after its confirmation" {
    printf '{"mcpServers":{"named":{"command":"%s","args":["."]}}}' "$MCPD" >servers.json
    open_screen 80x24 "$MCPCTL" browse --config servers.json named
    until_shown "[y/N]"
    type_keys y Enter
    until_shown "hello.txt" "mcpd ."
    type_keys q
    until_shown "ended with 0"
    run "$MCPCTL" browse --config servers.json none
    [ "$status" -eq 2 ]
    run "$MCPCTL" browse --config servers.json named -- "$MCPD" .
    [ "$status" -eq 2 ]
}

@test "marks make a context: its order, its budget, a file, the clipboard, the end" {
    for i in {1..400}; do echo "line $i of a long text"; done >long.txt
    open_screen 80x24 "$MCPCTL" browse --budget 4K -- "$MCPD" "$demo"
    until_shown "hello.txt" "long.txt"
    type_keys c
    until_shown "Nothing is marked"
    type_keys Escape Down Space Space Space Space
    until_shown "*hello.txt" "*long.txt" "*src/" "*src/main.c" "* 4"
    type_keys c
    until_shown "in      hello.txt" "part    long.txt" "folder  src" "in      src/main.c"
    type_keys / m a i n Enter
    until_shown "match 1.00: included"
    is_screen context_80x24
    type_keys - -
    until_shown "of 1.0K bytes"
    type_keys + + G Space w "$demo/out.md" Enter
    until_shown "bytes written to"
    grep -q 'line 1 of a long text' out.md
    grep -q 'int main(void);' out.md
    [ "$(head -1 out.md)" = "# Context" ]
    [ "$(wc -c <out.md)" -le 4096 ]
    type_keys w Enter
    until_shown "not written" "File exists"
    mux set-option -s set-clipboard on
    type_keys y
    until_shown "sent to the terminal's clipboard"
    mux show-buffer | cmp - out.md
    type_keys p
    until_shown "printed at the end"
    type_keys Escape q
    until_shown "of a long text" "ended with 0"
}

@test "a context that is printed into a file; what cannot be marked; a resource without text" {
    open_screen 80x24 sh -c "'$MCPCTL' browse -- '$BATS_TEST_DIRNAME/support/workshop' >context.md"
    until_shown "readme" "4 Tools 14"
    type_keys 4 Space
    until_shown "only resources can be marked"
    type_keys 1 Space End Space c
    until_shown "* 2" "in      Read me first" "no text logo.png" "priority 0.90"
    type_keys Escape Space
    until_shown "* 1"
    type_keys q
    until_shown "ended with 0"
    grep -q '## Read me first' context.md
    [ "$(grep -c '^## ' context.md)" = 1 ]
}

@test "a resource that changes is read again, and what is new in it is marked" {
    browse 80x24
    type_keys Down
    until_shown "this is a text."
    printf 'Hello,\n\nthis is another text.\n' >hello.txt
    until_shown "changed 1 time since it was selected" "│▌ this is another text." "│  Hello,"
    printf 'One more line.\n' >>hello.txt
    until_shown "changed 2 times" "│▌ One more line." "│  this is another text."
}

@test "lists that change: a new resource appears" {
    browse 80x24
    echo new >new.txt
    until_shown "new.txt" "Resources 5"
}

# The bytes of a terminal for a button (0: left, 64: wheel up, 65: wheel down) at a column and a row, counted from 1.
mouse() { # button column row
    local byte keys='1b 5b 4d'
    for byte in "$@"; do printf -v keys '%s %x' "$keys" $((32 + byte)); done
    type_keys -H $keys
    [ "$1" != 0 ] || mouse 3 "$2" "$3" # released
}

@test "the lists of several servers side by side" {
    serve "$demo"
    open_screen 120x40 "$MCPCTL" browse "$url" -- "$BATS_TEST_DIRNAME/support/workshop"
    until_shown "hello.txt" "$url" " workshop"
    type_keys S
    until_shown "hello.txt" "Read me first"
    type_keys s j
    until_shown "2/5"
    mouse 0 5 1 # the name of the first server
    until_shown "1/5"
    type_keys s 4
    until_shown "add" "the server offers none"
    type_keys 1 S
    until_shown "uri          mem:docs/api.md"
}

@test "the mouse: a click selects, in either pane, and the wheel scrolls what is below it" {
    for i in {1..60}; do echo "line $i"; done >hello.txt
    browse 80x24
    mouse 0 5 4 # the second entry
    until_shown "2/4" "line 1" "line 14"
    mouse 1 5 6 # another button does nothing
    mouse 3 5 6
    type_keys Up
    until_shown "1/4"
    mouse 0 5 4
    until_shown "2/4" "line 14"
    mouse 65 60 10
    mouse 65 60 10
    mouse 65 60 10
    mouse 65 60 10
    mouse 65 60 10
    mouse 65 60 10
    mouse 65 60 10
    mouse 65 60 10
    until_shown "line 18"
    mouse 64 5 10 # the wheel moves in the list: three rows up
    until_shown "1/4" "inode/directory"
    mouse 0 4 2 # a click on a tab
    until_shown "1/4"
    mouse 0 22 2
    until_shown "file://{+path}"
}

@test "a server that requires a login: i logs in, and the tokens are those of mcpctl" {
    "$BATS_TEST_DIRNAME/support/gatehouse" >gate 3>&- &
    server=$!
    for _ in {1..600}; do [ -s gate ] && break; sleep 0.05; done
    url=$(cat gate)
    export BROWSER='curl -sLo /dev/null'
    open_screen 80x24 "$MCPCTL" browse "$url"
    until_shown "i logs in"
    type_keys i
    until_shown "behind the gate" "you are in"
    type_keys q
    until_shown "ended with 0"
    close_screen
    open_screen 80x24 "$MCPCTL" browse "$url"
    until_shown "you are in"
    close_screen
    "$MCPCTL" logout "$url"
    export BROWSER=false
    open_screen 80x24 "$MCPCTL" browse "$url"
    until_shown "i logs in"
    type_keys i
    until_shown "open this address"
    type_keys C-c
    until_shown "Press Enter to go back"
    type_keys Enter
    until_shown "i logs in"
}

@test "a server that ended is started again" {
    printf '#!/bin/sh\n[ -e ok ] || { echo not yet >&2; exit 3; }\nexec "%s" .\n' "$MCPD" >later
    chmod +x later
    open_screen 80x24 "$MCPCTL" browse -- ./later
    until_shown "r starts it again"
    touch ok
    type_keys r
    until_shown "hello.txt" "Resources"
}

@test "^Z goes back to the shell, and fg continues" {
    open_screen 80x24 bash --norc -i
    type_keys "'$MCPCTL' browse -- '$MCPD' '$demo'" Enter
    until_shown "hello.txt" "inode/directory"
    type_keys Down
    until_shown "this is a text."
    type_keys C-z
    until_shown "Stopped"
    [[ $(screen) != *"this is a text."* ]]
    type_keys fg Enter
    until_shown "this is a text." "2/4"
    is_screen folder_80x24
    type_keys q
    until_shown "bash-"
}

# The screen with its colours and attributes.
coloured() { mux capture-pane -e -p; }

@test "colours for a dark and a light background, and none" {
    local esc=$'\e'
    browse 80x24
    [[ $(coloured) == *"${esc}[36m"*src* ]]
    close_screen
    open_screen 80x24 "$MCPCTL" browse --theme light -- "$MCPD" "$demo"
    until_shown "inode/directory"
    [[ $(coloured) == *"${esc}[34m"*src* ]]
    close_screen
    COLORFGBG='0;15' browse 80x24
    [[ $(coloured) == *"${esc}[34m"*src* ]]
    close_screen
    NO_COLOR=1 browse 80x24
    [[ $(coloured) == *"${esc}[7m"* ]] # what matters differs in attributes
    [[ ! $(coloured) =~ $esc\[([0-9]+\;)*(3[0-7]|9[0-7])m ]]
    close_screen
    open_screen 80x24 "$MCPCTL" browse --theme none -- "$MCPD" "$demo"
    until_shown "inode/directory"
    [[ ! $(coloured) =~ $esc\[([0-9]+\;)*(3[0-7]|9[0-7])m ]]
}

@test "on a Linux console, and where characters beyond ASCII are not shown" {
    open_screen 80x24 env TERM=linux "$MCPCTL" browse -- "$MCPD" "$demo"
    until_shown "hello.txt" "inode/directory"
    type_keys Down
    until_shown "this is a text."
    is_screen folder_80x24
    close_screen
    touch 'é.txt'
    open_screen 80x24 env LC_ALL=C "$MCPCTL" browse -- "$MCPD" "$demo"
    until_shown 'hello.txt' '|name' '\u00e9.txt'
    [[ $(screen) != *│* ]]
}

@test "the page in docs/ has these screens" {
    "$BATS_TEST_DIRNAME/../../scripts/make-browse-page" --check
}

@test "headers, which may be secrets, are for one server only" {
    run "$MCPCTL" browse -H 'Authorization: Bearer secret' http://127.0.0.1:1/mcp http://127.0.0.1:2/mcp </dev/null
    [ "$status" = 2 ]
    [[ $output == *"headers would be sent to all servers"* ]]
}

@test "a list whose cursor is refused begins again, once" {
    open_screen 80x24 "$MCPCTL" browse -- "$BATS_TEST_DIRNAME/support/stranger" forgets
    until_shown "1 Resources 3" "mem:b" "1/3"
    close_screen
    open_screen 80x24 "$MCPCTL" browse -- "$BATS_TEST_DIRNAME/support/stranger" forgets-always
    until_shown "mem:a" "no such cursor"
    close_screen
    shifty forgets
    until_shown sooner later
    type_keys Down Enter
    until_shown "Tool later"
    type_keys x C-s
    until_shown "y call"
    type_keys y
    until_shown Result called
    [ "$(cat log)" = called ]
}
