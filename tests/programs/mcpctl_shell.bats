#!/usr/bin/env bats
# mcpctl on a terminal: its shell, colours, completion, and that no server controls it.

load support/mcpctl
load support/eventually

@test "colours on a terminal only, and not against the user's will" {
    unset NO_COLOR
    run on_terminal "$MCPCTL" ls -- "$workshop"
    [[ $output == *"${esc}[36mreadme.md"* ]]
    run "$MCPCTL" ls -- "$workshop"
    [[ $output != *"$esc"* ]]
    TERM=dumb run on_terminal "$MCPCTL" ls -- "$workshop"
    [[ $output != *"$esc"* ]]
    NO_COLOR=1 run on_terminal "$MCPCTL" ls -- "$workshop"
    [[ $output != *"$esc"* ]]
}

@test "the help of every command describes its --json output" {
    for name in $("$MCPCTL" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
        run "$MCPCTL" "$name" --help
        [ "$status" -eq 0 ]
        [[ $output == "Usage: mcpctl $name"* ]]
        [[ $name == trace || $name == shell || $name == browse || $name == web || $output == *"With --json:"* ]]
    done
}

@test "shell: reads lines from a pipe" {
    run bash -c 'printf "%s\n" "ls -n 1" "# nothing" "" "find read all" "/greet name=\"A b\"" "prompt greet name=x\\ y" "call shape --yes" | "$0" shell -- "$1"' "$MCPCTL" "$workshop"
    [ "$status" -eq 0 ]
    [ "$output" = "mem:docs/readme.md
mem:src/readAll.c
Greet {\"name\":\"A b\"}${esc}[5m
Greet {\"name\":\"x y\"}${esc}[5m
{\"x\":1}" ]
    run bash -c 'printf "%s\n" "nope" "ls -n 1" "ls --server x" | "$0" shell -- "$1"' "$MCPCTL" "$workshop"
    [ "$status" -eq 2 ]
    [[ $output == *"no command 'nope'"*mem:docs/readme.md*"--server is an option of the shell itself"* ]]
    run bash -c 'printf "%s\n" "call shape" "exit" "ls" | "$0" shell --yes -- "$1"' "$MCPCTL" "$workshop"
    [ "$output" = '{"x":1}' ]
    run bash -c 'printf "%s\n" "trace x" "shell" | "$0" shell -- "$1"' "$MCPCTL" "$workshop"
    [[ $output == *"trace is not a command of the shell"*"shell is not a command of the shell"* ]]
    run bash -c 'echo help | "$0" shell --json -- "$1"' "$MCPCTL" "$workshop"
    [[ $output == *"/NAME"*"watch"* ]]
    # The server dies after its first answer: it is started again.
    run bash -c '(echo ls; sleep 0.5; echo ls) | "$0" shell -- "$1" dies-later' "$MCPCTL" "$stranger"
    [[ $output == *"I give up"*"starting it again"*"I give up"* ]]
}

@test "shell: a server that ended between two lines is started again before the next one fails" {
    printf '#!/bin/bash\necho $$ >"$0.pid"\nexec %q\n' "$stranger" >server
    chmod +x server
    ends() { # the server ends after it has answered the first line; nothing more is typed until then
        echo 'ls -n 1'
        until grep -q mem: out; do sleep 0.05; done
        kill -9 "$(<server.pid)"
        while [[ $(ps -o stat= -p "$(<server.pid)") == [^Z]* ]]; do sleep 0.05; done
        echo 'ls -n 1'
    }
    : >out
    ends | "$MCPCTL" shell -- ./server >>out 2>err
    [ "$(cat out)" = $'mem:-1\nmem:-1' ]
    [[ $(<err) == *"the server ended; starting it again"* && $(<err) != *error* && $(<err) != *Killed* ]]
}

@test "roots: a folder that is gone leaves the list, of which a legacy server is notified, until it is back" {
    local here told='"from":"client".*notifications/roots/list_changed'
    mkdir one two
    here=$(pwd -P)
    times_told() { [ "$(grep -c "$told" trace)" -eq "$1" ]; }
    # While a command waits.
    "$MCPCTL" watch --root one --root two --trace trace -- "$workshop" legacy >out 2>err 3>&- &
    others=$!
    eventually grep -q '"from":"client".*notifications/initialized' trace
    ! grep -q "$told" trace || false
    rmdir one
    eventually times_told 1
    grep -q "root $here/one: No such file or directory; the server no longer gets it" err
    mkdir one
    eventually times_told 2
    # Another folder in its place is not the one that the user has named.
    mv one three
    ln -s two one
    eventually times_told 3
    kill $others
    rm one
    mkdir one
    # When the server asks: in both eras, with what is there then.
    local era
    for era in legacy ''; do
        mkfifo lines
        "$MCPCTL" shell --root one --root two -- "$workshop" $era <lines >out 2>err 3>&- &
        others=$!
        exec {fd}>lines
        echo 'call where --yes' >&$fd
        eventually grep -q "$here/one" out
        rmdir one
        printf 'call where --yes\nroots\nread mem:readme\n' >&$fd
        exec {fd}>&-
        wait $others
        [ "$(grep -c "file://$here/one" out)" -eq 1 ]
        [ "$(grep -c "file://$here/two" out)" -eq 2 ]
        grep -qx "$here/two" out
        ! grep -qx "$here/one" out || false
        rm lines
        mkdir one
    done
}

@test "shell: roots are listed and changed, of which a legacy server is notified" {
    local here typed
    here=$(pwd -P)
    mkdir one 'two 2'
    typed=$'roots\nroot add "two 2"\nroot add one\nroots\nroot remove one\ncall where --yes\nroot remove one\nroot add nowhere\nroot\n'
    apart "$MCPCTL" shell --root one --trace legacy -- "$workshop" legacy <<<"$typed"
    [ "$status" -eq 2 ]
    [[ $output == "$here/one"$'\n'"$here/one"$'\n'"$here/two 2"$'\ngot {"jsonrpc":"2.0","id":"roots","result":{"roots":[{"uri":"file://'$here'/two%202","name":"two 2"}]}}' ]]
    [[ $stderr == *"one is not one of the roots"*"root nowhere: No such file"*"root add DIR or root remove DIR"* ]]
    grep -q '"from":"client".*notifications/roots/list_changed' legacy
    # A modern server is not notified, because the revision has no such notification. It requests
    # the roots when it needs them, and gets those that were added later too.
    apart "$MCPCTL" shell --trace modern -- "$workshop" <<<$'roots\nroot add one\ncall where --yes\n'
    [[ $status == 0 && $output == 'got {"roots":{"roots":[{"uri":"file://'$here'/one","name":"one"}]}}'* ]]
    ! grep -q list_changed modern || false
    # A legacy server that was started without roots does not know that it may request them.
    apart "$MCPCTL" shell -- "$workshop" legacy <<<'root add one'
    [[ $status == 0 && $stderr == *"started without any"* ]]
    run "$MCPCTL" shell -- "$workshop" <<<'ls --root one'
    [[ $status == 2 && $output == *"--root is an option of the shell itself"* ]]
}

@test "shell: without libedit it names the missing package, and does not mention TAB" {
    [[ $("$MCPCTL" --version --verbose) != *libedit* ]] || skip "libedit is a part of this mcpctl"
    mkdir lib
    : >lib/libedit.so.2 # found first, but not a library
    lacks='TAB and the arrow keys do nothing: libedit.so.2 is not installed (Debian: the package libedit2)'
    TYPED='\033[A\033[3~nope\nexit\n' LD_LIBRARY_PATH=$PWD/lib run on_terminal "$MCPCTL" shell -- "$workshop"
    [[ $output == *"$lacks"* && $output != *"TAB completes"* && $output == *"no command 'nope'"* ]]
    TYPED='exit\n' TERM=dumb run on_terminal "$MCPCTL" shell -- "$workshop"
    [[ $output == *"TAB and the arrow keys do nothing: this terminal cannot"* ]]
}

@test "shell: completion and history on a terminal" {
    compgen -G '/usr/lib*/*/libedit.so.2' >/dev/null || compgen -G '/usr/lib*/libedit.so.2' >/dev/null ||
        skip "libedit is not installed"
    typed() { sleep 0.7; for keys in "$@"; do printf "$keys"; sleep 0.5; done; }
    show() { typed "$@" 'exit\n' | SHELL=/bin/bash script -qec "$(printf '%q ' "$MCPCTL" shell -- "$workshop")" /dev/null; }
    run show 'pi\t\n' 'read mem:d\t' 'r\t\n' 'call a\t' '\t\025'
    [[ $output == *" ms"*one*$'  add\r\n  ask'* ]]
    run show '/g\tna\tA\t\t\025' 'template pa\tna\tAd\t\n' '\n' '\n' 'ls --so\tpr\t-n 1\n'
    [[ $output == *name=Ada*name=Alan*mem:page/Ada*readme.md* ]]
    # Ctrl-C ends a call or a line, but not the shell.
    run show 'call slow --yes\n' '\003' 'nonsense' '\003' 'ping\n'
    [[ $output == *" ms"* && $output != *"no command"* ]]
    grep -q ping "$HOME/.local/state/mcpctl/history"
    [ "$(stat -c %a "$HOME/.local/state/mcpctl/history")" = 600 ]
}

@test "shell: repeated completion sends one request until something changes" {
    compgen -G '/usr/lib*/*/libedit.so.2' >/dev/null || compgen -G '/usr/lib*/libedit.so.2' >/dev/null ||
        skip "libedit is not installed"
    asked() {
        rm -f messages
        STAY=1 TYPED="$1exit\n" on_terminal "$MCPCTL" shell --trace messages -- "$workshop"
        count=$(grep -c '"method":"completion/complete"' messages)
    }
    asked 'prompt greet name=A\t\t\t tone=x\n' # the third TAB shows what the second did
    [ "$count" -eq 1 ]
    # Another value, context or argument needs another request.
    asked 'prompt greet name=A\t\t\tl\t\n'
    [ "$count" -eq 2 ]
    asked 'prompt greet tone=x name=A\t\t\nprompt greet tone=y name=A\t\t tone=\t\n'
    [ "$count" -eq 3 ]
    # After a command, or a notification of the server, the cached completions may be outdated.
    asked '# prompt greet name=A\t\t\nprompt greet name=A\t\t tone=x\nprompt greet name=A\t\t tone=x\n'
    [ "$count" -eq 2 ]
    asked 'prompt greet name=N\t\t\t tone=x\n'
    [ "$count" -eq 3 ]
}

@test "completion scripts are generated from the tables" {
    mkdir -p bin
    ln -s "$MCPCTL" bin/mcpctl
    PATH=$PWD/bin:$PATH
    printf '{"mcpServers":{"alpha":{"command":"x"},"git:project":{"command":"y"},"git:other":{"command":"z"}}}' >.mcp.json
    mkdir prompts
    source <("$MCPCTL" --completion bash)
    after() {
        COMP_WORDS=(mcpctl "$@") COMP_CWORD=$# COMPREPLY=()
        _mcpctl
        echo "${COMPREPLY[*]}"
    }
    [ "$(after in)" = info ]
    [ "$(after pr)" = "prompts prompt" ]
    [ "$(after ls --so)" = --sort ]
    [ "$(after info --so)" = '' ]
    [ "$(after ls --sort pr)" = priority ]
    [ "$(after ls -s al)" = alpha ]
    [ "$(after ls -s git : pro)" = project ] # Bash's words
    [ "$(after ls -s git :)" = "project other" ]
    [ "$(after ls -s git)" = "git:project git:other" ]
    [ "$(after --server alpha ls --lo)" = --long ]
    # A command is not completed as a file, even if a folder has the same name.
    [ "$(after promp)" = "prompts prompt" ]
    [[ $(complete -p mcpctl) != *filenames* ]]
    [ "$(after trace promp)" = prompts ]
    [ "$(after trace --)" != "$(after call --)" ]
    [[ $(after ls -- bas) == *bash* ]]
    if command -v zsh >/dev/null; then "$MCPCTL" --completion zsh | zsh -n; fi
    if command -v fish >/dev/null; then "$MCPCTL" --completion fish | fish -n; fi
    [[ $("$MCPCTL" --completion zsh) == "#compdef mcpctl"*"(name uri size"* ]]
    [[ $("$MCPCTL" --completion zsh) == *'|| $command == (browse|call|prompt|read|shell) ]] && specs+=('"''--sampler'["* ]]
    [[ $("$MCPCTL" --completion zsh) == *':NAME\: VALUE: '* ]]
    [[ $("$MCPCTL" --completion fish) == *"-l sort -n '__fish_seen_subcommand_from ls find' -x -a 'name uri"* ]]
    run "$MCPCTL" --completion csh
    [ "$status" -eq 2 ]
}

@test "no output of any command controls the terminal" {
    local evil=$BATS_TEST_DIRNAME/support/evil name=$'a\e[31m\u009b2J\u202e\u2066\r\aadd' shown
    while read -r -a words; do
        shown=$(on_terminal "$MCPCTL" "${words[@]}" -- "$evil")
        echo "${words[*]}: $shown" | cat -v
        [ -n "$shown" ]
        [[ $shown != *$esc* && $shown != *$'\a'* && $shown != *$'\u202e'* && $shown != *$'\u2066'* ]]
        [[ $shown != *$'\u009b'* && $shown != *$'\u009d'* && $shown != *[!$'\n']$'\r'* ]]
    done <<'COMMANDS'
info
info --json
ls
ls --long
ls --json
tree
tree --json
find add read
find read --json
read mem:x
read mem:x --json
read nothing
template
template --json
template page
complete greet name
complete greet name --json
prompts
prompts --long
prompts --json
prompt talk
tools
tools --long
tools --json
call nothing
context
context --json
context --explain
watch --count 1
COMMANDS
    shown=$(TYPED='y\n' on_terminal "$MCPCTL" call "$name" a=1 b=2 -- "$evil")
    echo "$shown" | cat -v
    [[ $shown == *"Call it?"* && $shown != *$esc* && $shown != *$'\u202e'* ]]
}

@test "every command that lists ends, even if the server's list does not end or the server does not answer" {
    for words in "tree" "find x" "context" "read --tail 1 mem:two" "template x" "prompt x" "call x"; do
        # shellcheck disable=SC2086
        run timeout 60 "$MCPCTL" $words --timeout 1 -- "$stranger" silent-later
        echo "$words: $status"
        [ "$status" -lt 100 ]
    done
    for words in "tree" "find x" "context"; do
        # shellcheck disable=SC2086
        run timeout 60 "$MCPCTL" $words -- "$stranger" circle
        [ "$status" -eq 4 ]
    done
}
