#!/usr/bin/env bats
# Every command of mcpctl with the workshop, a small server that has something of everything; piped and on a
# terminal.

setup() {
    : "${MCPCTL:=mcpctl}" "${MCPD:=mcpd}"
    workshop=$BATS_TEST_DIRNAME/support/workshop
    stranger=$BATS_TEST_DIRNAME/support/stranger
    esc=$'\e'
    export NO_COLOR=1 TERM=xterm LC_ALL=C.UTF-8
    export HOME=$BATS_TEST_TMPDIR/home XDG_CONFIG_HOME='' XDG_STATE_HOME=''
    mkdir "$HOME" "$BATS_TEST_TMPDIR/work"
    cd "$BATS_TEST_TMPDIR/work"
}

# Whatever became of the test; who keeps bats's own descriptor open keeps bats waiting.
teardown() {
    [ -z "${server:-}" ] || kill "$server" 2>/dev/null || :
}

# mcpd at an address: $url, $server.
serve() {
    "$MCPD" --http 127.0.0.1:0 "$@" 2>log 3>&- &
    server=$!
    url=
    for _ in {1..50}; do
        url=$(grep -o 'http://[^ ]*' log) && break
        sleep 0.1
    done
}

# What it shows on a terminal, on which TYPED is typed; without the carriage returns that the terminal adds.
on_terminal() {
    local line
    printf -v line '%q ' "$@"
    printf "${TYPED:-}" | script -qec "$line" /dev/null | sed 's/\r$//'
}

apart() {
    run --separate-stderr "$@"
}
bats_require_minimum_version 1.5.0


@test "ping" {
    run "$MCPCTL" ping -- "$workshop"
    [ "$status" -eq 0 ]
    [[ $output =~ ^[0-9]+\.[0-9]{3}\ ms$ ]]
    run "$MCPCTL" ping --json -- "$workshop" legacy
    [ "$status" -eq 0 ]
    [[ $output == '{"ms":'* ]]
}

@test "ls: globs and filters" {
    local options wanted
    while IFS='|' read -r options wanted; do
        eval "run \"\$MCPCTL\" ls $options -- \"\$workshop\""
        echo "$options: $status $output"
        [ "$status" -eq 0 ]
        [ "$(tr '\n' ' ' <<<"$output")" = "$wanted" ]
    done <<'FILTERS'
'*.md'|mem:docs/readme.md mem:docs/api.md 
'mem:src/*' logo.png|mem:src/main.c mem:src/readAll.c mem:img/logo.png 
--glob '*.png'|mem:img/logo.png 
--glob nothing| 
--type 'text/x-*'|mem:src/main.c mem:src/readAll.c 
--audience user|mem:docs/readme.md mem:src/main.c mem:src/readAll.c mem:img/logo.png 
--audience assistant '*.md'|mem:docs/api.md 
--priority 0.5|mem:docs/readme.md mem:docs/api.md 
--min-size 4K|mem:src/main.c mem:img/logo.png 
--max-size 120|mem:docs/readme.md mem:src/readAll.c 
--since 2026-06-01|mem:docs/readme.md 
--since 2026-01-01T01:00:00+02:00|mem:docs/readme.md mem:docs/api.md 
--since 1000d '*.md'|mem:docs/readme.md mem:docs/api.md 
--sort size|mem:img/logo.png mem:src/main.c mem:docs/api.md mem:docs/readme.md mem:src/readAll.c 
--sort name --limit 2|mem:docs/api.md mem:img/logo.png 
--sort modified --limit 1|mem:docs/readme.md 
--sort priority -n 3|mem:docs/readme.md mem:docs/api.md mem:src/main.c 
--reverse -n 1|mem:src/readAll.c 
-n 2|mem:docs/readme.md mem:docs/api.md 
FILTERS
    for wrong in "--priority 2" "--priority x" "--since soon" "--sort colour" "--audience all" "--limit 0" "--min-size -1"; do
        # shellcheck disable=SC2086
        run "$MCPCTL" ls $wrong -- "$workshop"
        [ "$status" -eq 2 ]
    done
}

@test "ls: sorted lists are JSON and tables too, and end" {
    run "$MCPCTL" ls --sort size --json -n 1 -- "$workshop"
    [ "${lines[1]:0:24}" = '{"uri":"mem:img/logo.png' ]
    [ "${lines[2]}" = ']}' ]
    run on_terminal "$MCPCTL" ls --sort size -- "$workshop"
    [ "${lines[0]}" = 'NAME        SIZE  TYPE           URI' ]
    [ "${lines[1]}" = 'logo.png     68K  image/png      mem:img/logo.png' ]
    run "$MCPCTL" ls --sort name --timeout 20 -- "$stranger" endless
    [ "$status" -eq 4 ]
    [[ $output == *"10000 pages"* ]]
}

@test "tree" {
    run "$MCPCTL" tree -- "$workshop"
    [ "$status" -eq 0 ]
    [ "$output" = "mem:
├── docs/
│   ├── api.md
│   └── readme.md
├── img/
│   └── logo.png
└── src/
    ├── main.c
    └── readAll.c" ]
    LC_ALL=C run "$MCPCTL" tree '*.c' -- "$workshop"
    [ "$output" = 'mem:src
|-- main.c
`-- readAll.c' ]
    run "$MCPCTL" tree --depth 1 -- "$workshop"
    [ "${#lines[@]}" -eq 4 ]
    run "$MCPCTL" tree --json '*.png' -- "$workshop"
    [[ $output == '{"tree":[{"name":"mem:img/logo.png","resource":{"uri":"mem:img/logo.png"'* ]]
    run on_terminal "$MCPCTL" tree -- "$workshop"
    [[ $output == *"api.md  2.9K"*"3 folders, 5 other resources"* ]]
    run on_terminal "$MCPCTL" tree -- "$stranger" newline-uri
    [[ $output == *'\x1b[2J'* && $output != *"$esc"* ]]
    run "$MCPCTL" tree -- "$stranger" nothing
    [ "$status" -eq 0 ]
}

@test "find: all words, the best first" {
    run "$MCPCTL" find read -- "$workshop"
    [ "$status" -eq 0 ]
    [ "$(tr '\n' ' ' <<<"$output")" = 'mem:docs/readme.md mem:src/readAll.c mem:docs/api.md ' ]
    run "$MCPCTL" find READ all -- "$workshop"
    [ "$output" = mem:src/readAll.c ]
    run "$MCPCTL" find --type 'text/markdown' --sort name read -- "$workshop"
    [ "$(tr '\n' ' ' <<<"$output")" = 'mem:docs/api.md mem:docs/readme.md ' ]
    run "$MCPCTL" find --json interface -- "$workshop"
    [[ ${lines[1]} == '{"score":'*'"uri":"mem:docs/api.md"'* ]]
    apart "$MCPCTL" find zebra -- "$workshop"
    [ "$status" -eq 7 ]
    [[ -z $output && $stderr == *"nothing found"* ]]
}

@test "read: parts, by the server where it can and here where not" {
    [ "$("$MCPCTL" read --lines 2-3 mem:page/x -- "$workshop")" = 'part line=2&lines=2' ]
    [ "$("$MCPCTL" read --lines 4- mem:page/x -- "$workshop")" = 'part line=4' ]
    local options wanted
    while IFS='|' read -r options wanted; do
        # shellcheck disable=SC2086
        "$MCPCTL" read $options mem:x -- "$workshop" | cmp - <(printf "$wanted")
    done <<'PARTS'
--lines 2-3|two\nthree\n
--lines 5-9|five\n
--lines 4-|four\nfive\n
--lines 9|
--lines -2|four\nfive\n
--tail 1|five\n
--tail 99|one\ntwo\nthree\nfour\nfive\n
--range 4-6|two
--range 20-|ive\n
--range -3|ve\n
--range 99-|
PARTS
    "$MCPCTL" read --range 1-2 mem:img/x -- "$workshop" | cmp - <(printf '\1\2')
    for wrong in "--lines 0" "--lines 3-2" "--lines x" "--range a-" "--tail 0" "--tail 1 --lines 1"; do
        # shellcheck disable=SC2086
        run "$MCPCTL" read $wrong mem:x -- "$workshop"
        [ "$status" -eq 2 ]
    done
    run on_terminal "$MCPCTL" read --output file mem:img/x -- "$workshop"
    cmp file <(printf '\0\1\2\377')
    run "$MCPCTL" read --output /nonexistent/file mem:x -- "$workshop"
    [ "$status" -eq 5 ]
}

@test "parts of a file that mcpd serves" {
    mkdir folder
    seq 1 100 >folder/numbers
    local uri=file://$PWD/folder/numbers
    [ "$("$MCPCTL" read --lines 10-11 "$uri" -- "$MCPD" folder | tr '\n' ' ')" = '10 11 ' ]
    [ "$("$MCPCTL" read --tail 2 "$uri" -- "$MCPD" folder | tr '\n' ' ')" = '99 100 ' ]
    [ "$("$MCPCTL" read --range 0-3 "$uri" -- "$MCPD" folder | tr '\n' ' ')" = '1 2 ' ]
    # It was mcpd that cut: the message has no more.
    "$MCPCTL" read --trace messages --tail 1 "$uri" -- "$MCPD" folder
    [[ $(tail -n 1 messages) == *'"text":"100\n"'* ]]
}

@test "template: list, expand, read, ask" {
    run "$MCPCTL" template -- "$workshop"
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = $'mem:page/{name}{?line,lines}\tpage\tA page' ]
    run "$MCPCTL" template --json -- "$workshop"
    [[ ${lines[0]} == '{"resourceTemplates":[' && ${lines[3]} == ']}' ]]
    run "$MCPCTL" template page "name=a b" line=3 -- "$workshop"
    [ "$output" = 'mem:page/a%20b?line=3' ]
    run "$MCPCTL" template 'x:{/path*}' path=a path=b -- "$workshop"
    [ "$output" = 'x:/a/b' ]
    run "$MCPCTL" template --json page name=é -- "$workshop"
    [ "$output" = '{"uri":"mem:page/%C3%A9"}' ]
    run "$MCPCTL" template --read page name=a line=3 -- "$workshop"
    [ "$output" = 'part line=3' ]
    run "$MCPCTL" template page colour=red -- "$workshop"
    [ "$status" -eq 2 ]
    run "$MCPCTL" template unknown -- "$workshop"
    [ "$status" -eq 2 ]
    [[ $output == *"no template 'unknown'"* ]]
    run "$MCPCTL" template 'x:{' -- "$workshop"
    [ "$status" -eq 2 ]
    TYPED='A?\nAda\n\n\n' run on_terminal "$MCPCTL" template page -- "$workshop"
    [[ $output == *"Alan"*"mem:page/Ada" ]]
    run on_terminal "$MCPCTL" template -- "$workshop"
    [[ $output == *"page  mem:page/{name}{?line,lines}"*"A page"* ]]
}

@test "complete" {
    run "$MCPCTL" complete greet name A -- "$workshop"
    [ "$status" -eq 0 ]
    [[ $output == $'Ada\nAlan\n'*"there are more" ]]
    run "$MCPCTL" complete greet name tone=rude -- "$workshop"
    [ "$output" = oi ]
    run "$MCPCTL" complete --json 'mem:page/{name}' name -- "$workshop"
    [[ $output == '{"values":["Ada","Alan",'*'"total":3'* ]]
    run on_terminal "$MCPCTL" complete greet name -- "$workshop"
    [[ $output == *'Grace\x1b[1m'* && $output != *"$esc"* ]]
    run "$MCPCTL" complete greet name -n 1 -- "$workshop"
    [ "${lines[0]}" = Ada ]
    [ "${#lines[@]}" -eq 1 ]
}

@test "prompts and prompt" {
    run "$MCPCTL" prompts -- "$workshop"
    [ "$output" = $'greet\ntalk' ]
    run "$MCPCTL" prompts --long -- "$workshop"
    [ "${lines[0]}" = $'greet\tname= [tone=]\tSays hello' ]
    run "$MCPCTL" prompts --json -- "$workshop"
    [[ ${lines[0]} == '{"prompts":[' && ${lines[1]} == '{"name":"greet",'* ]]
    run on_terminal "$MCPCTL" prompts -- "$workshop"
    [[ $output == *"greet name= [tone=]"*"Says hello"* ]]
    run "$MCPCTL" prompt greet name=Bob "tone=a b" -- "$workshop"
    [ "$status" -eq 0 ]
    [ "$output" = "Greet {\"name\":\"Bob\",\"tone\":\"a b\"}$esc[5m" ]
    run "$MCPCTL" prompt talk -- "$workshop"
    [ "$output" = $'user:\nHello?\n\nassistant:\n[image image/png, 3 bytes]' ]
    run "$MCPCTL" prompt --json talk -- "$workshop"
    [[ $output == '{"messages":[{"role":"user"'* ]]
    run "$MCPCTL" prompt greet -- "$workshop"
    [ "$status" -eq 2 ]
    [[ $output == *"'name' is missing"*"name=value"* ]]
    run "$MCPCTL" prompt great name=x -- "$workshop"
    [ "$status" -eq 2 ]
    [[ $output == *"did you mean 'greet'?"*"mcpctl prompts"* ]]
    TYPED='?\nAda\n\n' run on_terminal "$MCPCTL" prompt greet -- "$workshop"
    [[ $output == *Whom*Alan*'Greet {"name":"Ada"}\x1b[5m'* && $output != *"$esc"* ]]
}

@test "tools" {
    run "$MCPCTL" tools -- "$workshop"
    [ "${lines[0]}" = add ]
    [ "${#lines[@]}" -eq 9 ]
    run "$MCPCTL" tools --long -- "$workshop"
    [ "${lines[0]}" = $'add\ta= b= [loud=] [tags=] [more=] [note=] [either=]\tread-only, stays inside\tAdds' ]
    run "$MCPCTL" tools --json -- "$workshop"
    [[ ${lines[1]} == '{"name":"add",'* ]]
    run on_terminal "$MCPCTL" tools -- "$workshop"
    [[ $output == *"add a= b="*"(the server says: read-only, stays inside)"* ]]
    apart "$MCPCTL" tools -- "$stranger" nothing
    [ "$status" -eq 0 ]
    [[ $stderr == *"no tools"* ]]
}

@test "call: values are what the schema wants" {
    local words wanted
    while IFS='|' read -r words wanted; do
        eval "run \"\$MCPCTL\" call --yes add $words -- \"\$workshop\""
        echo "$words: $status $output"
        [ "$status" -eq 0 ]
        [ "$output" = "called with $wanted" ]
    done <<'WORDS'
a=1 b=2.5|{"a":1,"b":2.5}
a=1 b=2 loud=true note=7|{"a":1,"b":2,"loud":true,"note":"7"}
a=1 b=2 tags=x,y|{"a":1,"b":2,"tags":["x","y"]}
a=1 b=2 tags=x tags=y,z|{"a":1,"b":2,"tags":["x","y,z"]}
a=1 b=2 'tags=["q"]'|{"a":1,"b":2,"tags":["q"]}
a=1 b=2 'more={"k":[1]}'|{"a":1,"b":2,"more":{"k":[1]}}
a=1 b=2 either=null|{"a":1,"b":2,"either":null}
a=1 b=2 other=5 third:=5|{"a":1,"b":2,"other":"5","third":5}
a=123456789012345678901234567890 b=2|{"a":123456789012345678901234567890,"b":2}
--args '{"a":1,"b":3}' b=2|{"a":1,"b":2}
WORDS
    echo '{"a":1,"b":2}' >args
    run "$MCPCTL" call --yes add --args @args -- "$workshop"
    [ "$output" = 'called with {"a":1,"b":2}' ]
    run bash -c '"$0" call --yes add --args - -- "$1" <args' "$MCPCTL" "$workshop"
    [ "$output" = 'called with {"a":1,"b":2}' ]
}

@test "call: arguments are checked" {
    run "$MCPCTL" call --yes add a=x b=1 -- "$workshop"
    [ "$status" -eq 2 ]
    [[ $output == *"/a: expected integer, got string"*"--force"* ]]
    run "$MCPCTL" call --yes add a=1 -- "$workshop"
    [ "$status" -eq 2 ]
    run "$MCPCTL" call --yes --force add a=x b=1 -- "$workshop"
    [ "$status" -eq 0 ]
    [[ $output == *'called with {"a":"x","b":1}' ]]
    run "$MCPCTL" call --yes old n=0 -- "$workshop"
    [ "$status" -eq 2 ]
    run "$MCPCTL" call --yes old n=1 -- "$workshop"
    [ "$output" = 'called with {"n":1}' ]
    apart "$MCPCTL" call --yes odd n=1 -- "$workshop"
    [ "$status" -eq 0 ]
    [ "$output" = 'called with {"n":"1"}' ]
    [[ $stderr == *"warning"*"not checked"* ]]
    for wrong in nothing =x x:=y; do
        run "$MCPCTL" call --yes odd $wrong -- "$workshop"
        [ "$status" -eq 2 ]
    done
    for wrong in '[1]' '{' @/nonexistent; do
        run "$MCPCTL" call --yes odd --args "$wrong" -- "$workshop"
        [ "$status" -eq 2 ]
    done
    run "$MCPCTL" call --yes ad -- "$workshop"
    [ "$status" -eq 2 ]
    [[ $output == *"did you mean 'add'?"* ]]
}

@test "call: is shown and asked about" {
    apart "$MCPCTL" call shape -- "$workshop"
    [ "$status" -eq 6 ]
    [ -z "$output" ]
    [[ $stderr == *"server    workshop"*"tool      shape"*"arguments {}"*"--yes"* ]]
    TYPED='n\n' run on_terminal "$MCPCTL" call shape -- "$workshop"
    [[ $output == *"Call it? [y/N]"* && $output != *'{"x":1}'* ]]
    TYPED='y\n' run on_terminal "$MCPCTL" call add a=1 b=2 -- "$workshop"
    [[ $output == *'arguments {"a":1,"b":2}'*"read-only, stays inside"*"called with"* ]]
    TYPED='' run on_terminal "$MCPCTL" call shape -- "$workshop"
    [[ $output != *'{"x":1}'* ]]
}

@test "call: results" {
    apart "$MCPCTL" call --yes fails -- "$workshop"
    [ "$status" -eq 1 ]
    [ -z "$output" ]
    [[ $stderr == *"says that it failed"*"it broke"* ]]
    run "$MCPCTL" call --yes --json fails -- "$workshop"
    [ "$status" -eq 1 ]
    [[ $output == '{"isError":true,'* ]]
    run "$MCPCTL" call --yes shape -- "$workshop"
    [ "$output" = '{"x":1}' ]
}

@test "call: progress on a terminal, cancelled by a signal" {
    apart "$MCPCTL" call --yes slow -- "$workshop"
    [ "$status" -eq 0 ]
    [ "$output" = done ]
    [ -z "$stderr" ]
    run on_terminal "$MCPCTL" call --yes slow -- "$workshop"
    [[ $output == *'#] 100%'* || $output == *'% step 1'* ]]
    [[ $output == *'\x1b[1m'* && $output != *"$esc[1m"* ]]
    run on_terminal "$MCPCTL" call --quiet --yes slow -- "$workshop"
    [ "$output" = done ]
    export WORKSHOP_LOG=$PWD/log
    run timeout --preserve-status -s INT 0.7 "$MCPCTL" call --yes slow -- "$workshop"
    [ "$status" -eq 130 ]
    [ -z "$output" ]
    [[ $(cat log) == *notifications/cancelled*requestId* ]]
}

@test "what takes longer than half a second shows a wheel, and what does not, nothing" {
    run on_terminal "$MCPCTL" ls --timeout 1.5 -- "$stranger" silent-later
    [[ $output == *$'\r'"$esc[K"*" 0s ls"* ]]
    run on_terminal "$MCPCTL" ls -- "$workshop"
    [[ $output != *"$esc"* ]]
}

@test "questions of the server: a form" {
    # name is too short the first time; age has a default; the last one is a no that is edited first
    TYPED='y\nA\n\ng\nyes\ny\nAda\n\n\n\ny\n' run on_terminal "$MCPCTL" call ask -- "$workshop"
    [[ $output == *'Who are you?\x1b[2J'*"[30]"*"g  Green"*"does not fit"* ]]
    [[ $output == *'got {"form":{"action":"accept","content":{"name":"Ada","age":30}}}'* ]]
    [[ $output != *"$esc"* ]]
    TYPED='Ada\n31\nr\nno\nn\n' run on_terminal "$MCPCTL" call --yes ask -- "$workshop"
    [[ $output == *'"colour":"r","sure":false'*'got {"form":{"action":"decline"}}'* ]]
    TYPED='Ada\n' run on_terminal "$MCPCTL" call --yes ask -- "$workshop"
    [[ $output == *'got {"form":{"action":"cancel"}}'* ]]
    run "$MCPCTL" call --yes ask -- "$workshop"
    [ "$status" -eq 6 ]
    [[ $output == *"on a terminal"* ]]
}

@test "questions of the server: an address is shown as a whole and not opened" {
    TYPED='y\n' run on_terminal "$MCPCTL" call --yes visit -- "$workshop"
    [[ $output == *"https://example.com/sign-in?for=workshop&with=everything"*'got {"url":{"action":"accept"}}'* ]]
    TYPED='n\n' run on_terminal "$MCPCTL" call --yes visit -- "$workshop"
    [[ $output == *'got {"url":{"action":"decline"}}'* ]]
}

@test "questions of the server: sampling only with a command" {
    run "$MCPCTL" call --yes think -- "$workshop"
    [ "$status" -eq 6 ]
    [[ $output == *"--sampler"* ]]
    run "$MCPCTL" call --yes think --sampler 'cat >request; printf %s thought' -- "$workshop"
    [ "$status" -eq 0 ]
    [[ $output == *'"content":{"type":"text","text":"thought"}'* ]]
    [[ $(cat request) == '{"messages":[{"role":"user"'* ]]
    run "$MCPCTL" call --yes think --sampler 'cat >/dev/null; echo "{\"role\":\"assistant\",\"model\":\"m\",\"content\":{\"type\":\"text\",\"text\":\"t\"}}"' -- "$workshop"
    [[ $output == *'"model":"m"'* ]]
    run "$MCPCTL" call --yes think --sampler false -- "$workshop"
    [ "$status" -ne 0 ]
    TYPED='n\n' run on_terminal "$MCPCTL" call think --sampler 'touch ran' -- "$workshop"
    [ ! -e ran ]
}

@test "watch: changes, contents, a server that dies" {
    run "$MCPCTL" watch --count 1 mem:docs/readme.md -- "$workshop"
    [ "$status" -eq 0 ]
    [[ $output =~ ^20[0-9T:-]+Z$'\t'updated$'\t'mem:docs/readme.md$ ]]
    run "$MCPCTL" watch --count 1 -- "$workshop"
    [[ $output == *$'Z\ttools\t' ]]
    run "$MCPCTL" watch --count 1 --read mem:docs/readme.md -- "$workshop"
    [[ ${lines[1]} == one ]]
    run "$MCPCTL" watch --count 1 --json mem:docs/readme.md -- "$workshop"
    [[ $output == '{"time":"20'*'","changed":"updated","uri":"mem:docs/readme.md"}' ]]
    apart "$MCPCTL" watch --count 2 mem:docs/readme.md -- "$workshop" once "$PWD/died"
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 2 ]
    [[ $stderr == *"exit status 9"*"starting it again"*"listening again"* ]]
    run timeout --preserve-status -s TERM 0.5 "$MCPCTL" watch mem:docs/readme.md -- "$workshop"
    [ "$status" -eq 143 ]
}

@test "watch a file that mcpd serves, in both eras" {
    mkdir folder
    for revision in 2026-07-28 2025-11-25; do
        echo old >folder/a
        "$MCPCTL" watch --revision $revision --count 1 --read "file://$PWD/folder/a" -- "$MCPD" folder >out 3>&- &
        local pid=$!
        for _ in 1 2 3 4 5 6 7 8 9 10; do
            sleep 0.2
            echo new >>folder/a
            kill -0 $pid 2>/dev/null || break
        done
        wait $pid
        [[ $(cat out) == *$'updated\t'"file://$PWD/folder/a"*new* ]]
    done
}

@test "--trace: every message, with time and direction" {
    run "$MCPCTL" ls --trace messages -- "$workshop"
    [ "$status" -eq 0 ]
    [ "$(wc -l <messages)" -eq 4 ]
    [[ $(head -n 1 messages) == '{"time":"20'*'Z","from":"client","message":{"jsonrpc":"2.0"'*'}}' ]]
    [[ $(tail -n 1 messages) == *'"from":"server"'*'logo.png'* ]]
    apart "$MCPCTL" ls --trace - -- "$workshop"
    [[ $stderr == '{"time":'* && $output == mem:* ]]
    run "$MCPCTL" ls --trace /nonexistent/file -- "$workshop"
    [ "$status" -eq 5 ]
}

@test "trace: between a host and a server" {
    run "$MCPCTL" trace messages
    [ "$status" -eq 2 ]
    run "$MCPCTL" info -- "$MCPCTL" trace messages -- "$workshop"
    [ "$status" -eq 0 ]
    [[ $output == *workshop* ]]
    [[ $(head -n 1 messages) == *'"from":"client","message":{'*server/discover* ]]
    [[ $(tail -n 1 messages) == *'"from":"server","message":{'* ]]
    printf 'hello\n' | "$MCPCTL" trace m2 -- sh -c 'cat; printf "\033oops" >&2' 2>err
    grep -q '"from":"client","text":"hello"' m2
    grep -q '"from":"server","stderr":"\\u001boops"' m2
    run "$MCPCTL" trace m3 -- /nonexistent/server
    [ "$status" -eq 3 ]
}

@test "an address: Streamable HTTP" {
    mkdir folder
    echo hello >folder/a
    serve folder
    for revision in 2026-07-28 2025-11-25 2025-06-18 2025-03-26; do
        run "$MCPCTL" info --revision $revision -s "$url"
        [ "$status" -eq 0 ]
        [[ $output == *"$revision"* ]]
    done
    run "$MCPCTL" read "file://$PWD/folder/a" -s "$url"
    [ "$output" = hello ]
    kill "$server"
    wait "$server" || :
    run "$MCPCTL" info -s "$url"
    [ "$status" -eq 3 ]
    [[ $output == *"does a server listen"* ]]
    run "$MCPCTL" info -s http://
    [ "$status" -eq 2 ]
    run "$MCPCTL" info -s "$url" -H nonsense
    [ "$status" -eq 2 ]
    run "$MCPCTL" info -s "$url" -- "$workshop"
    [ "$status" -eq 2 ]
}

@test "an address that wants a token" {
    mkdir folder
    echo secret >tokens
    serve --token-file tokens folder
    run "$MCPCTL" info -s "$url"
    echo "$output"
    [ "$status" -eq 3 ]
    [[ $output == *Authorization* ]]
    run "$MCPCTL" info -s "$url" -H 'Authorization: Bearer secret'
    [ "$status" -eq 0 ]
}

@test "servers by name: the formats of Claude, VS Code and Cursor" {
    mkdir -p .vscode .cursor "$HOME/.config/Claude"
    printf '{ // comment\n "servers": {"vs": {"type":"stdio","command":"%s","args":["a b",],},},}\n' "$workshop" >.vscode/mcp.json
    printf '{"mcpServers":{"cur":{"command":"%s","env":{"A":"1"}},"vs":{"command":"/nonexistent"}}}' "$workshop" >.cursor/mcp.json
    printf '{"mcpServers":{"desk":{"command":"%s"}}}' "$workshop" >"$HOME"/.config/Claude/claude_desktop_config.json
    run "$MCPCTL" servers
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = "vs"$'\t'"$workshop a b"$'\t'.vscode/mcp.json ]
    [ "${#lines[@]}" -eq 4 ]
    run "$MCPCTL" servers --json
    [[ $output == '{"servers":[{"name":"vs","file":".vscode/mcp.json","entry":{'* ]]
    for name in vs cur desk; do
        run "$MCPCTL" info --trust -s $name
        [ "$status" -eq 0 ]
        [[ $output == *workshop* ]]
    done
    run "$MCPCTL" info -s none
    [ "$status" -eq 2 ]
    [[ $output == *"mcpctl servers"* ]]
    echo '{"mcpServers":{"own":{}}}' >own.json
    run "$MCPCTL" servers --config own.json
    [[ $output == own* ]]
    run "$MCPCTL" info --config own.json -s own
    [ "$status" -eq 2 ]
    [[ $output == *'neither "command" nor "url"'* ]]
    printf '{\n"a"}' >own.json
    run "$MCPCTL" info --config own.json -s own
    [ "$status" -eq 2 ]
    [[ $output == *"own.json, line 2"* ]]
}

@test "servers by name: what is run is shown and confirmed once" {
    write() { printf '{"mcpServers":{"s":{"command":"%s","args":["a b","%s"],"env":{"A":"%s"}}}}' "$workshop" "$1" "$2" >.mcp.json; }
    write x 1
    apart "$MCPCTL" ls -s s
    [ "$status" -eq 6 ]
    [ -z "$output" ]
    [[ $stderr == *"$workshop 'a b' x"*"with A=1"*"--trust"* ]]
    TYPED='n\n' run on_terminal "$MCPCTL" ls -s s
    [[ $output == *"Is that right?"* && $output != *mem:* ]]
    TYPED='y\n' run on_terminal "$MCPCTL" ls -s s
    [[ $output == *mem:* ]]
    run "$MCPCTL" ls -s s
    [ "$status" -eq 0 ]
    [ "$(stat -c %a "$HOME"/.local/state/mcpctl/confirmed)" = 600 ]
    # Another argument, another variable, another folder: another question.
    write y 1
    run "$MCPCTL" ls -s s
    [ "$status" -eq 6 ]
    write x 2
    run "$MCPCTL" ls -s s
    [ "$status" -eq 6 ]
    write x 1
    mkdir elsewhere
    cp .mcp.json elsewhere
    cd elsewhere
    run "$MCPCTL" ls -s s
    [ "$status" -eq 6 ]
}

@test "servers by name: variables" {
    printf '{"inputs":[{"id":"t","description":"The token","password":true}],"mcpServers":{"s":{"command":"sh","args":["-c","echo \\"$0 $1 $A\\" >seen; exec %s","${input:t}","${workspaceFolderBasename} ${NONE:-fallback}"],"env":{"A":"${env:HOME}"}},"t":{"command":"${NONE}"}}}' "$workshop" >.mcp.json
    TYPED='secret\ny\n' run on_terminal "$MCPCTL" ls -s s
    echo "$output"
    [[ $output == *'The token'*'${input:t}'*mem:* ]]
    [ "$(cat seen)" = "secret ${PWD##*/} fallback $HOME" ]
    [[ ${output#*The token} != *secret* ]]
    run "$MCPCTL" ls -s s
    [ "$status" -eq 6 ]
    [[ $output == *"nobody to ask"* ]]
    run "$MCPCTL" ls -s t
    [ "$status" -eq 6 ]
    [[ $output == *"environment variable NONE"* ]]
}

@test "trusted in the user's own configuration: tools are called without a question" {
    mkdir -p "$HOME/.config/mcpctl"
    printf '{"mcpServers":{"mine":{"command":"%s","trusted":true}}}' "$workshop" >"$HOME"/.config/mcpctl/servers.json
    printf '{"mcpServers":{"theirs":{"command":"%s","trusted":true}}}' "$workshop" >.mcp.json
    run "$MCPCTL" call --trust -s mine shape
    [ "$status" -eq 0 ]
    run "$MCPCTL" call --trust -s theirs shape
    [ "$status" -eq 6 ]
}

@test "an address in a file of the folder is asked about too" {
    printf '{"mcpServers":{"s":{"url":"http://127.0.0.1:1/mcp","headers":{"X":"${env:HOME}"}}}}' >.mcp.json
    run "$MCPCTL" ls -s s
    [ "$status" -eq 6 ]
    [[ $output == *"http://127.0.0.1:1/mcp"*'with X: ${env:HOME}'* ]]
    run "$MCPCTL" ls --trust -s s
    [ "$status" -eq 3 ]
}

@test "colours on a terminal only, and not against the user's will" {
    unset NO_COLOR
    run on_terminal "$MCPCTL" ls -- "$workshop"
    [[ $output == *"$esc[36mreadme.md"* ]]
    run "$MCPCTL" ls -- "$workshop"
    [[ $output != *"$esc"* ]]
    TERM=dumb run on_terminal "$MCPCTL" ls -- "$workshop"
    [[ $output != *"$esc"* ]]
    NO_COLOR=1 run on_terminal "$MCPCTL" ls -- "$workshop"
    [[ $output != *"$esc"* ]]
}

@test "every command has help that says what --json gives" {
    for name in $("$MCPCTL" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
        run "$MCPCTL" "$name" --help
        [ "$status" -eq 0 ]
        [[ $output == "Usage: mcpctl $name"* ]]
        [[ $name == trace || $name == shell || $output == *"With --json:"* ]]
    done
}

@test "context: what is in, and why" {
    run "$MCPCTL" context -- "$workshop"
    [ "$status" -eq 0 ]
    [[ $output == "# Context"*"## api.md"*'`mem:docs/api.md`'*'```'*one*'## main.c'* ]]
    [[ $output != *readme* && $output != *logo* ]]
    run "$MCPCTL" context --audience user --explain -- "$workshop"
    [[ ${lines[0]} == $'in\t'*"priority 0.90"*mem:docs/readme.md ]]
    run "$MCPCTL" context --quiet --explain read interface -- "$workshop"
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == $'in\t'*"match 1.00"*$'included\tmem:docs/api.md' ]]
    [[ ${lines[1]} == $'in\t'*mem:src/readAll.c ]]
    [[ ${lines[2]} == $'out\t0.000\t'*$'matches no word\tmem:src/main.c' ]]
    [[ ${lines[3]} == $'out\t'*$'not text\tmem:img/logo.png' ]]
    run "$MCPCTL" context --json read -- "$workshop"
    [[ $output == '{"query":"read","unit":"bytes","budget":32768,"used":'*'"resources":[{"uri":"mem:src/readAll.c",'*'"part":false,"text":"one\n'* ]]
    run "$MCPCTL" context zebra -- "$workshop"
    [ "$status" -eq 7 ]
    for wrong in 0 x 5x 8tt -1; do
        run "$MCPCTL" context --budget $wrong -- "$workshop"
        [ "$status" -eq 2 ]
    done
}

@test "context: the words of the text count, and the budget is kept" {
    mkdir folder
    seq 1 5000 >folder/numbers
    { seq 1 3000; echo 'a zebra crosses'; seq 1 3000; } >folder/long
    printf '````\nfence\n' >folder/fence.md
    run "$MCPCTL" context zebra --budget 2K -- "$MCPD" folder
    [ "$status" -eq 0 ]
    [ "${#output}" -le 2048 ]
    [[ $output == *"## long"*"(a part)"*"a zebra crosses"* && $output != *"## numbers"* ]]
    run "$MCPCTL" context fence -- "$MCPD" folder
    [[ $output == *$'`````\n````\nfence\n`````' ]]
    "$MCPCTL" context --budget 500t -- "$MCPD" folder >out
    [ "$(wc -c <out)" -le 2000 ]
}

@test "shell: lines of a pipe" {
    run bash -c 'printf "%s\n" "ls -n 1" "# nothing" "" "find read all" "/greet name=\"A b\"" "prompt greet name=x\\ y" "call shape --yes" | "$0" shell -- "$1"' "$MCPCTL" "$workshop"
    [ "$status" -eq 0 ]
    [ "$output" = "mem:docs/readme.md
mem:src/readAll.c
Greet {\"name\":\"A b\"}$esc[5m
Greet {\"name\":\"x y\"}$esc[5m
{\"x\":1}" ]
    run bash -c 'printf "%s\n" "nope" "ls -n 1" "ls --server x" | "$0" shell -- "$1"' "$MCPCTL" "$workshop"
    [ "$status" -eq 2 ]
    [[ $output == *"no command 'nope'"*mem:docs/readme.md*"--server is an option of the shell itself"* ]]
    run bash -c 'printf "%s\n" "call shape" "exit" "ls" | "$0" shell --yes -- "$1"' "$MCPCTL" "$workshop"
    [ "$output" = '{"x":1}' ]
    run bash -c 'printf "%s\n" "trace x" "shell" | "$0" shell -- "$1"' "$MCPCTL" "$workshop"
    [[ $output == *"trace is no command of the shell"*"shell is no command of the shell"* ]]
    run bash -c 'echo help | "$0" shell --json -- "$1"' "$MCPCTL" "$workshop"
    [[ $output == *"/NAME"*"watch"* ]]
    # The server dies after its first answer: it is started again.
    run bash -c '(echo ls; sleep 0.5; echo ls) | "$0" shell -- "$1" dies-later' "$MCPCTL" "$stranger"
    [[ $output == *"I give up"*"starting it again"*"I give up"* ]]
}

@test "shell: completion and history on a terminal" {
    compgen -G '/usr/lib*/*/libedit.so.2' >/dev/null || compgen -G '/usr/lib*/libedit.so.2' >/dev/null ||
        skip "libedit is not installed"
    typed() { sleep 0.7; for keys in "$@"; do printf "$keys"; sleep 0.5; done; }
    show() { typed "$@" 'exit\n' | script -qec "$(printf '%q ' "$MCPCTL" shell -- "$workshop")" /dev/null; }
    run show 'pi\t\n' 'read mem:d\t' 'r\t\n' 'call a\t' '\t\025'
    [[ $output == *" ms"*one*$'  add\r\n  ask'* ]]
    run show '/g\tna\tA\t\t\025' 'template pa\tna\tAd\t\n' '\n' '\n' 'ls --so\tpr\t-n 1\n'
    [[ $output == *name=Ada*name=Alan*mem:page/Ada*readme.md* ]]
    # Ctrl-C ends a call and a line, and not the shell.
    run show 'call slow --yes\n' '\003' 'nonsense' '\003' 'ping\n'
    [[ $output == *" ms"* && $output != *"no command"* ]]
    grep -q ping "$HOME/.local/state/mcpctl/history"
    [ "$(stat -c %a "$HOME/.local/state/mcpctl/history")" = 600 ]
}

@test "completion scripts are made of the tables" {
    mkdir -p bin
    ln -s "$MCPCTL" bin/mcpctl
    PATH=$PWD/bin:$PATH
    printf '{"mcpServers":{"alpha":{"command":"x"},"beta":{"command":"y"}}}' >.mcp.json
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
    [ "$(after --server alpha ls --lo)" = --long ]
    [ "$(after trace --)" != "$(after call --)" ]
    [[ $(after ls -- bas) == *bash* ]]
    if command -v zsh >/dev/null; then "$MCPCTL" --completion zsh | zsh -n; fi
    if command -v fish >/dev/null; then "$MCPCTL" --completion fish | fish -n; fi
    [[ $("$MCPCTL" --completion zsh) == "#compdef mcpctl"*"(name uri size"* ]]
    [[ $("$MCPCTL" --completion fish) == *"-l sort -n '__fish_seen_subcommand_from ls find' -x -a 'name uri"* ]]
    run "$MCPCTL" --completion csh
    [ "$status" -eq 2 ]
}

@test "nothing that any command shows controls a terminal" {
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

@test "a server that never ends or never answers: every command that lists ends" {
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
