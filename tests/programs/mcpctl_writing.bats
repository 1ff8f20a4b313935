#!/usr/bin/env bats
# mcpctl edit and undo, and calls of the tools that change files, which are shown before they are confirmed.

load support/mcpctl

page=$BATS_TEST_DIRNAME/../../docs/mcpctl.md

# A server that lets write, with a.txt in it.
writable() {
    export XDG_STATE_HOME=$BATS_TEST_TMPDIR/state XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR/run VISUAL=''
    mkdir -p files "$XDG_RUNTIME_DIR"
    printf 'one\ntwo\n' >files/a.txt
    here=file://$PWD/files
    mcpd=("$MCPD" 'files?write=**')
}

edits() { EDITOR=$1 apart "$MCPCTL" edit "$here/${2:-a.txt}" -- "${mcpd[@]}"; } # EDITOR [FILE]
undo() { apart "$MCPCTL" undo "$@" -- "${mcpd[@]}"; }
nothing_is_left() { [ -z "$(ls -A "$XDG_RUNTIME_DIR")" ]; }

# Checks stdout against the members that the page promises for a command.
promised() { # COMMAND [PLACE]
    local members
    members=$(grep -F "| \`$1\`${2:+ \`$2\`} | " "$page" | cut -d '|' -f 3 | sed 's/^ *//; s/ *$//')
    [ "$members" ]
    jq -e --arg members "$members" "(\$members | gsub(\"\`\"; \"\") | split(\" \")) as \$all | [${2:-.}] | length > 0 and all(
        keys as \$have | (\$all | map(select(endswith(\"?\") | not)) - \$have) == [] and
        (\$have - (\$all | map(rtrimstr(\"?\")))) == [])" <<<"$output"
}

@test "edit: the editor gets a private copy, and what it saves is written" {
    writable
    edits 'stat -c %a:%n "$1" "${1%/*}" >seen; sed -i s/one/1/'
    [[ $status == 0 && $output == "Changed $here/a.txt (+1 −1 lines)"* ]]
    [ "$(cat files/a.txt)" = $'1\ntwo' ]
    [[ $(<seen) == "600:$XDG_RUNTIME_DIR/mcpctl-"*'/a.txt'$'\n'"700:$XDG_RUNTIME_DIR/mcpctl-"* ]]
    nothing_is_left
    EDITOR=false VISUAL='sed -i s/1/one/' run "$MCPCTL" edit --json "$here/a.txt" -- "${mcpd[@]}"
    [ "$status" -eq 0 ]
    promised edit
    [ "$(jq -c '[.operation, .uri, .plus]' <<<"$output")" = "[\"change\",\"$here/a.txt\",1]" ]
    # an editor that replaces the file, and leaves others beside it
    edits 'f() { touch "$1~"; sed s/two/2/ "$1" >"$1.new"; mv "$1.new" "$1"; }; f'
    [[ $status == 0 && $(cat files/a.txt) == $'one\n2' ]]
    nothing_is_left
}

@test "edit: nothing is written if nothing was changed, or if the editor fails" {
    writable
    local before
    printf no-end >files/b.txt
    before=$(stat -c %i:%z files/*)
    edits true
    [[ $status == 0 && ! $output && $stderr == *'nothing was changed'* ]]
    EDITOR=true run --separate-stderr "$MCPCTL" edit --json "$here/a.txt" -- "${mcpd[@]}"
    promised edit
    [ "$(jq -r .operation <<<"$output")" = none ]
    edits 'echo >>' b.txt # as vi ends the last line
    [[ $status == 0 && $stderr == *'nothing was changed'* ]]
    edits false
    [[ $status == 5 && $stderr == *'the editor failed: false'* ]]
    nothing_is_left
    apart env EDITOR= PATH=/nowhere "$MCPCTL" edit "$here/a.txt" -- "${mcpd[@]}"
    [[ $status == 5 && $stderr == *'set VISUAL or EDITOR'* ]]
    nothing_is_left
    [ "$(stat -c %i:%z files/*)" = "$before" ]
    # what was typed stays, if the editor fails after that, or if it is no text
    edits 'f() { echo mine >"$1"; false; }; f'
    [[ $status == 5 && $stderr == *"your text is kept in $XDG_RUNTIME_DIR/"* ]]
    [ "$(cat "$XDG_RUNTIME_DIR"/*/a.txt)" = mine ]
    rm -r "${XDG_RUNTIME_DIR:?}"/*
    edits 'printf "\377" >'
    [[ $status == 5 && $stderr == *"your text is kept in $XDG_RUNTIME_DIR/"* ]]
    [ "$(stat -c %i:%z files/*)" = "$before" ]
}

@test "edit: the mark, the ends of lines and the missing end of the last one stay" {
    writable
    printf '\357\273\277one\r\ntwo\nthree' >files/a.txt
    edits 'sed -i s/two/2/'
    [ "$status" -eq 0 ]
    cmp files/a.txt <(printf '\357\273\277one\r\n2\nthree')
    edits 'f() { sed s/2/two/ "$1" >new; printf "\n" >>new; cp new "$1"; }; f'
    cmp files/a.txt <(printf '\357\273\277one\r\ntwo\nthree')
}

@test "edit: a file in UTF-16 keeps its charset" {
    writable
    printf '\377\376a\0\n\0' >files/utf16.txt
    edits 'sed -i s/a/ä/' utf16.txt
    [ "$status" -eq 0 ]
    cmp files/utf16.txt <(printf '\377\376\344\0\n\0')
}

@test "edit: what is refused" {
    writable
    printf 'a\344' >files/latin.txt
    edits 'touch touched-by-editor' latin.txt
    [[ $status == 5 && $stderr == *'binary, or in a charset'* ]]
    edits 'touch touched-by-editor' 'a.txt?line=2'
    [[ $status == 2 && $stderr == *'a part of a file'* ]]
    edits 'touch touched-by-editor' none.txt
    [[ $status == 1 ]]
    mcpd=("$MCPD" 'files?write=other/**')
    edits 'touch touched-by-editor'
    [[ $status == 2 && $stderr == *'no version of it, so you may not write it'* ]]
    mcpd=("$MCPD" files)
    edits 'touch touched-by-editor'
    [[ $status == 2 && $stderr == *"no tool 'write_file'"*'rules let you write'* ]]
    [ ! -e touched-by-editor ]
    nothing_is_left
}

@test "edit: a change that somebody else made meanwhile is not overwritten, and what was typed is not lost" {
    writable
    local both='f() { sed -i s/two/mine/ "$1"; echo theirs >>files/a.txt; }; f'
    edits "$both"
    [[ $status == 1 && $stderr == *'was changed meanwhile'*"Your text is in $XDG_RUNTIME_DIR/"*$'\n    -two\n    -theirs\n    +mine\n'* ]]
    [[ $stderr == *"your text is kept in $XDG_RUNTIME_DIR/"* ]]
    [ "$(cat files/a.txt)" = $'one\ntwo\ntheirs' ]
    [ "$(cat "$XDG_RUNTIME_DIR"/*/a.txt)" = $'one\nmine' ]
    rm -r "${XDG_RUNTIME_DIR:?}"/*
    # on a terminal: keep it, write it nevertheless, edit it again
    asked() { STAY=1 TYPED=$1 EDITOR=$both run on_terminal "$MCPCTL" edit "$here/a.txt" -- "${mcpd[@]}"; }
    printf 'one\ntwo\n' >files/a.txt
    asked 'k\n'
    [[ $output == *'[e]dit your text again'*'kept in'* && $(cat files/a.txt) == $'one\ntwo\ntheirs' ]]
    rm -r "${XDG_RUNTIME_DIR:?}"/*
    printf 'one\ntwo\n' >files/a.txt
    asked 'w\n'
    [[ $output == *'[e]dit your text again'*'Changed'* && $(cat files/a.txt) == $'one\nmine' ]]
    nothing_is_left
    printf 'one\ntwo\n' >files/a.txt
    both='f() { if [ -e second ]; then echo again >>"$1"; else touch second; sed -i s/two/mine/ "$1"; echo theirs >>files/a.txt; fi; }; f'
    asked 'e\n'
    [[ $output == *'[e]dit your text again'*'Changed'* && $(cat files/a.txt) == $'one\nmine\nagain' ]]
    nothing_is_left
    # the file is gone
    edits 'f() { echo mine >"$1"; rm files/a.txt; }; f'
    [[ $status == 1 && $stderr == *'your text is kept in'* && ! -e files/a.txt ]]
}

@test "undo: one's changes are listed and taken back" {
    writable
    undo
    [[ $status == 0 && ! $output && $stderr == *'you have changed nothing'* ]]
    undo --last
    [[ $status == 1 && $stderr == *'no change of yours'* ]]
    edits 'sed -i s/one/1/'
    "$MCPCTL" call --yes write_file "uri=b.txt" text=b -- "${mcpd[@]}"
    "$MCPCTL" call --yes move_file "uri=b.txt" to=c.txt -- "${mcpd[@]}"
    edits 'sed -i s/two/2/'
    undo
    [ "$status" -eq 0 ]
    [ "$(cut -f 3- <<<"$output" | tr '\t' ' ')" = \
        "$(printf '%s\n' "change done $here/a.txt " "move done $here/b.txt $here/c.txt" "create done $here/b.txt " "change done $here/a.txt ")" ]
    [[ $output =~ ^20[0-9-]+T[0-9:]+Z$'\t'[0-9a-f-]+$'\t' ]]
    first=$(cut -f 2 <<<"${lines[3]}") move=$(cut -f 2 <<<"${lines[1]}")
    undo --json --limit 2
    promised undo && promised undo '.changes[]'
    [ "$(jq -c '[.changes[].operation]' <<<"$output")" = '["change","move"]' ]
    undo --uri "$here/a.txt" --list
    [ "${#lines[@]}" -eq 2 ]
    COLUMNS=80 run on_terminal "$MCPCTL" undo -- "${mcpd[@]}"
    [[ $output == *'Z  '*'  move    done       '"$here/b.txt  $here/c.txt"* ]]

    undo "$first"
    [[ $status == 1 && $stderr == *'undo the later change first'* ]]
    undo "$move"
    [[ $status == 0 && $output == "Moved back to $here/b.txt" && $stderr == *"'mcpctl undo "*"' takes this back"* ]]
    [ -e files/b.txt ]
    undo --json --last --uri "$here/a.txt"
    promised 'undo --last'
    [ "$(cat files/a.txt)" = $'1\ntwo' ]
    undo --last # the move is undone already, so this is the first call
    [[ $output == "Deleted $here/b.txt" && ! -e files/b.txt ]]
    undo --last
    [[ $output == "Restored $here/a.txt" && $(cat files/a.txt) == $'one\ntwo' ]]
    undo --last
    [[ $status == 1 && $stderr == *'no change of yours'* ]]

    undo nothing
    [[ $status == 1 && $stderr == *'no change with this id'* ]]
    undo --last x
    [[ $status == 2 && $stderr == *'one of'* ]]
    undo x --uri "$here/a.txt"
    [[ $status == 2 ]]
    mcpd=("$MCPD" files) # no rule any more
    undo
    [[ $status == 1 && $stderr == *'keeps no changes that you could take back'* ]]
    mcpd=("$workshop")
    undo --last
    [[ $status == 1 && $stderr == *'keeps no changes that you could take back'* ]]
}

@test "undo --purge: old contents are forgotten, if the user says so" {
    writable
    echo 'password' >files/a.txt
    edits 'sed -i s/password/removed/'
    grep -qr password "$XDG_STATE_HOME"
    undo --purge "$here/a.txt"
    [[ $status == 6 && $stderr == *'without a terminal: --yes'* ]]
    STAY=1 TYPED='\n' run on_terminal "$MCPCTL" undo --purge "$here/a.txt" -- "${mcpd[@]}"
    [[ $output == *'Forget them? [y/N]'* ]]
    grep -qr password "$XDG_STATE_HOME"
    STAY=1 TYPED='y\n' run on_terminal "$MCPCTL" undo --purge "$here/a.txt" -- "${mcpd[@]}"
    [[ $output == *'Forgot the old contents in 1 change'* ]]
    run ! grep -qr password "$XDG_STATE_HOME"
    undo --json --yes --purge "$PWD/files/a.txt"
    promised 'undo --purge'
    undo --last
    [[ $status == 1 && $(cat files/a.txt) == removed ]]
}

# Answers on a terminal; the words of the call follow.
calls() { # TYPED WORDS...
    local typed=$1
    shift
    rm -f trace
    COLUMNS=60 STAY=1 TYPED=$typed run on_terminal "$MCPCTL" call --trace trace "$@" -- "${mcpd[@]}"
}
sent() { jq -c 'select(.from == "client" and .message.method == "tools/call") | .message.params.arguments.dry_run' trace; }

@test "call: the difference is shown before a file is changed" {
    writable
    printf 'one\ntwo\t\33[31m\342\200\256\n' >files/a.txt
    local words=(edit_file uri=a.txt 'edits:=[{"old":"two","new":"2"}]')
    calls 'n\nn\n' "${words[@]}" # that is a call, too
    [[ $output == *'Call it with dry_run'*'Call it?'* && ! $(sent) ]]
    calls 'y\nn\n' "${words[@]}"
    [[ $output == *$'\n    @@ -1,2 +1,2 @@\n     one\n    -two\t\\x1b[31m\\u202e\n    +2\t\\x1b[31m\\u202e\n'*'Call it?'* ]]
    [ "$(head -c 5 files/a.txt)" = $'one\nt' ]
    [ "$(sent)" = true ]
    calls 'y\ny\n' "${words[@]}"
    [[ $output == *$'\n    -two'*'Call it?'*"Changed $here/a.txt"* ]]
    [ "$(sent)" = $'true\nnull' ]
    # what would fail is not called
    calls 'y\n' "${words[@]}"
    [[ $output == *'does not occur'*'would fail, so it is not called'* && $output != *'Call it?'* ]]
    [ "$(sent)" = true ]
    # write_file, too; whoever tries it anyway is only asked
    calls 'y\nn\n' write_file uri=new.txt text=new
    [[ $output == *'+new'*'Call it?'* && ! -e files/new.txt ]]
    calls 'y\n' write_file uri=new.txt text=new dry_run=true
    [[ $output == *'Call it?'*'+new'* && ! -e files/new.txt ]]
    [ "$(sent)" = true ]
    # nothing is called before the confirmation where nobody sees it, where nobody is asked, and of tools that say that they only read
    rm trace
    run "$MCPCTL" call --trace trace write_file uri=new.txt text=new -- "${mcpd[@]}"
    [[ $status == 6 && ! $(sent) ]]
    calls '' --yes write_file uri=new.txt text=new
    [[ -e files/new.txt && $(sent) == null ]]
    mcpd=(sh -c '"$0" "$1" | sed -u "s/\"name\":\"write_file\"/\"name\":\"other_tool\"/"' "$MCPD" 'files?write=**')
    calls 'y\n' other_tool uri=other.txt text=new dry_run:=false # whatever its name is; the server does not know it
    [[ $output == *'Call it with dry_run'*'would fail, so it is not called'* && $(sent) == true ]]
    mcpd=(sh -c '"$0" "$1" | sed -u "s/\"readOnlyHint\":false/\"readOnlyHint\":true/"' "$MCPD" 'files?write=**')
    calls 'n\n' write_file uri=other.txt text=new
    [[ $output == *'Call it?'* && $output != *'Call it with dry_run'* && ! $(sent) ]]
}

@test "call: a question about a change is shown line by line, and has no default" {
    writable
    jq -n '{sources: ["files"], access: [{effect: "allow"}, {effect: "ask", operations: ["create", "change"], resources: "files/**"}]}' >mcpd.json
    mcpd=("$MCPD" --config mcpd.json)
    local long='many words that are longer than a line of this terminal is  -not a line of its own'
    local text="text:=\"first\\n  $long\\n\""
    calls 'n\ny\n\ndo not\ny\n' write_file uri=new.txt "$text"
    [[ $output == *'Send this?'* && ! -e files/new.txt ]]
    calls 'n\ny\n\ndo it\ny\n' write_file uri=new.txt "$text"
    [[ $output == *" asks:"*"create $here/new.txt, +2 "*" lines"*"+first"$'\n'*"+  $long"$'\n'*'Decision'*'Decision'*'Send this?'* ]]
    [ "$(head -n 1 files/new.txt)" = first ]
}
