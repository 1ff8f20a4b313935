#!/usr/bin/env bats
# Each read-only command of mcpctl, piped and on a terminal, with the workshop, a small server that
# uses every feature.

load support/mcpctl

@test "ping" {
    run "$MCPCTL" ping -- "$workshop"
    [ "$status" -eq 0 ]
    [[ $output =~ ^[0-9]+\.[0-9]{3}\ ms$ ]]
    run "$MCPCTL" ping --json -- "$workshop" legacy
    [ "$status" -eq 0 ]
    [[ $output =~ ^'{"ms":'[0-9]+(\.[0-9]{1,3})?'}'$ ]]
}

@test "ls: globs and filters" {
    local options wanted
    while IFS='|' read -r options wanted; do
        eval "run --separate-stderr \"\$MCPCTL\" ls $options -- \"\$workshop\""
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

@test "ls: sorted lists as JSON and as tables, also of a server whose list does not end" {
    run "$MCPCTL" ls --sort size --json -n 1 -- "$workshop"
    [ "${lines[1]:0:24}" = '{"uri":"mem:img/logo.png' ]
    [ "${lines[2]}" = ']}' ]
    run on_terminal "$MCPCTL" ls --sort size -- "$workshop"
    [ "${lines[0]}" = 'NAME        SIZE  TYPE           URI' ]
    [ "${lines[1]}" = 'logo.png     68K  image/png      mem:img/logo.png' ]
    run "$MCPCTL" ls --sort name -- "$stranger" endless
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
    run "$MCPCTL" find read me -- "$workshop"
    [ "${lines[0]}" = mem:docs/readme.md ]
    run "$MCPCTL" find --type 'text/markdown' --sort name read -- "$workshop"
    [ "$(tr '\n' ' ' <<<"$output")" = 'mem:docs/api.md mem:docs/readme.md ' ]
    run "$MCPCTL" find --json interface -- "$workshop"
    [[ ${lines[1]} == '{"score":'*'"uri":"mem:docs/api.md"'* ]]
    apart "$MCPCTL" find zebra -- "$workshop"
    [ "$status" -eq 7 ]
    [[ -z $output && $stderr == *"nothing found"* ]]
}

@test "read: parts, which the server selects if it can, and mcpctl otherwise" {
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

# Serves the files of the current folder as https://web.example/.
web() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem \
        -days 2 -subj /CN=web.example -addext subjectAltName=DNS:web.example 2>/dev/null
    openssl s_server -accept 127.0.0.1:0 -cert cert.pem -key key.pem -WWW >tls 2>&1 3>&- &
    others=$!
    for _ in {1..600}; do grep -q ^ACCEPT tls && break; sleep 0.1; done
    "$BATS_TEST_DIRNAME/support/web" port "$(sed -n 's/^ACCEPT .*://p' tls)" 3>&- &
    server=$!
    for _ in {1..600}; do [ -s port ] && break; sleep 0.1; done
    export https_proxy SSL_CERT_FILE=$PWD/cert.pem
    https_proxy=http://127.0.0.1:$(cat port)
}

@test "read: an https:// resource, from the web with --fetch" {
    run "$MCPCTL" read https://127.0.0.1:9/a --fetch -- "$workshop"
    [ "$status" -eq 3 ]
    [[ $output == *"private network"* ]]
    web
    printf 'one\ntwo\n' >a.txt
    printf '\0\1\377' >b.bin
    apart "$MCPCTL" read https://web.example/a.txt -- "$workshop"
    [ "$status" -eq 1 ]
    [[ -z $output && $stderr == *"no such resource"*--fetch* ]]
    apart "$MCPCTL" read --fetch https://web.example/a.txt -- "$workshop"
    [ "$status" -eq 0 ]
    [ "$output" = $'one\ntwo' ]
    [ "$("$MCPCTL" read --fetch --lines 2 https://web.example/a.txt mem:a -- "$workshop")" = $'two\ntwo' ]
    "$MCPCTL" read --fetch https://web.example/b.bin -- "$workshop" | cmp - b.bin
    run "$MCPCTL" read --json --fetch https://web.example/b.bin -- "$workshop"
    [[ $output == *'"uri":"https://web.example/b.bin"'*'"blob":"AAH/"'* ]]
    TYPED='y\n' run on_terminal "$MCPCTL" read https://web.example/a.txt -- "$workshop"
    [[ $output == *"Get https://web.example/a.txt from the web"*one* ]]
    TYPED='n\n' run on_terminal "$MCPCTL" read https://web.example/a.txt -- "$workshop"
    [[ $output != *$'\none'* ]]
    # The certificate is for another host.
    run "$MCPCTL" read --fetch https://other.example/a.txt -- "$workshop"
    [ "$status" -eq 3 ]
    kill "$others"
}

@test "parts of a file that mcpd serves" {
    mkdir folder
    seq 1 100 >folder/numbers
    local uri=file://$PWD/folder/numbers
    [ "$("$MCPCTL" read --lines 10-11 "$uri" -- "$MCPD" folder | tr '\n' ' ')" = '10 11 ' ]
    [ "$("$MCPCTL" read --tail 2 "$uri" -- "$MCPD" folder | tr '\n' ' ')" = '99 100 ' ]
    [ "$("$MCPCTL" read --range 0-3 "$uri" -- "$MCPD" folder | tr '\n' ' ')" = '1 2 ' ]
    # mcpd selected the part: the message contains nothing else.
    "$MCPCTL" read --trace messages --tail 1 "$uri" -- "$MCPD" folder
    [[ $(tail -n 1 messages) == *'"text":"100\n"'* ]]
}

@test "an empty list prints the reason, except with --quiet" {
    local nothing='this server offers no resources' command
    for command in ls tree "ls --sort name"; do
        # shellcheck disable=SC2086
        apart "$MCPCTL" $command -- "$(type -P tool)"
        [[ $status == 0 && -z $output && $stderr == *"$nothing. It offers:"*"tools "*convert* ]]
        # shellcheck disable=SC2086
        apart "$MCPCTL" $command nothing -- "$workshop"
        [[ $status == 0 && -z $output && $stderr == *"none of 5 resources matches"* ]]
        # shellcheck disable=SC2086
        apart "$MCPCTL" $command --quiet nothing -- "$workshop"
        [[ $status == 0 && -z $output && -z $stderr ]]
    done
    apart "$MCPCTL" tree --json -- "$(type -P tool)"
    [[ $output == '{"tree":[]}' && $stderr == *"$nothing"* ]]
    mkdir empty
    apart "$MCPCTL" tree --glob nothing -- "$MCPD" empty
    [[ $status == 0 && $stderr == *"none of 1 resource matches"* ]]
    apart "$MCPCTL" template -- "$(type -P tool)"
    [[ $status == 0 && -z $output && $stderr == *"has no templates"*"mcpctl ls"* ]]
}

@test "--pages: the first pages of a list, and how to read more than usual" {
    local hostile=$BATS_TEST_DIRNAME/support/hostile
    apart "$MCPCTL" ls --pages 3 -- "$hostile" endless
    [[ $status == 0 && $output == $'mem:a\nmem:a\nmem:a' && $stderr == *"more pages after these 3"* ]]
    apart "$MCPCTL" ls --json --quiet --pages 2 -- "$hostile" endless
    [[ $status == 0 && $(jq '.resources | length' <<<"$output") == 2 && -z $stderr ]]
    apart "$MCPCTL" tree --pages 2 -- "$hostile" endless
    [[ $status == 0 && $output == mem:a ]]
    apart "$MCPCTL" ls --pages 10002 -- "$hostile" endless
    [[ $status == 0 && ${#lines[@]} == 10002 ]]
    apart "$MCPCTL" ls -- "$hostile" endless
    [[ $status == 4 && ${#lines[@]} == 10000 && $stderr == *"resources/list has more than 10000 pages"*"--pages N"* ]]
    apart "$MCPCTL" ls --pages 1 -- "$workshop"
    [[ $status == 0 && ${#lines[@]} == 5 && -z $stderr ]]
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
    run "$MCPCTL" complete page name A -- "$workshop"
    [[ $output == $'Ada\nAlan\n'* ]]
    apart "$MCPCTL" complete --trace trace page name -- "$workshop"
    [[ $(jq -c 'select(.message.method == "completion/complete").message.params.ref' trace) == \
        '{"type":"ref/resource","uri":"mem:page/{name}{?line,lines}"}' ]]
    apart "$MCPCTL" complete nothing name -- "$MCPD" .
    [[ $status == 1 && $stderr == *"unknown prompt: nothing"*"mcpctl template"* ]]
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
    [ "$output" = "Greet {\"name\":\"Bob\",\"tone\":\"a b\"}${esc}[5m" ]
    run "$MCPCTL" prompt talk -- "$workshop"
    [ "$output" = $'user:\nHello?\n\nassistant:\n[image image/png, 4 bytes]' ]
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

@test "watch: changes, contents, a server that dies" {
    run "$MCPCTL" watch --count 1 mem:docs/readme.md -- "$workshop"
    [ "$status" -eq 0 ]
    # shellcheck disable=SC1011 # $'…' in a pattern
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
    [[ $stderr == *"exit status 9"*"starting it again"*"connected again"* ]]
    run timeout --preserve-status -s TERM 0.5 "$MCPCTL" watch mem:docs/readme.md -- "$workshop"
    [ "$status" -eq 143 ]
}

@test "watch: what is no URI, and what the server does not have" {
    mkdir folder
    echo >folder/a
    run "$MCPCTL" watch folder/a -- "$MCPD" folder
    [ "$status" -eq 1 ]
    [[ $output == *"does not announce changes to folder/a:"*"that is not a URI: 'mcpctl find a'"* ]]
    run "$MCPCTL" watch file:///etc/passwd file:///etc/group -- "$MCPD" folder
    [ "$status" -eq 1 ]
    [[ $output == *"changes to file:///etc/passwd:"*"changes to file:///etc/group:"*"'mcpctl ls' lists"* ]]
}

@test "watch: a resource that cannot be read yet is reported and awaited; missing notifications are reported" {
    mkdir folder
    local revision pid
    for revision in 2026-07-28 2025-11-25; do
        echo old >folder/a
        "$MCPCTL" watch --revision $revision --count 1 "file://$PWD/folder/a" mem:b -- "$MCPD" folder >out 2>err 3>&- &
        pid=$!
        for _ in {1..600}; do
            grep -q mem:b err && echo new >>folder/a
            kill -0 $pid 2>/dev/null || break
            sleep 0.1
        done
        kill $pid 2>/dev/null || :
        wait $pid || :
        [[ $(cat err) == "mcpctl: the server does not announce changes to mem:b" ]]
    done
    git init -q -b main repository
    git -C repository -c user.name=a -c user.email=a@b commit -q --allow-empty -m first
    run timeout --preserve-status -s TERM 5 "$MCPCTL" watch git://repository/HEAD/none -- "$MCPD" git:repository
    [[ $output == *"git://repository/HEAD/none cannot be read now; waiting for it"* ]]
    run timeout --preserve-status -s TERM 3 "$MCPCTL" watch --quiet git://repository/HEAD/none -- "$MCPD" git:repository
    [ -z "$output" ]
}

@test "watch a file that mcpd serves, in both eras" {
    mkdir folder
    for revision in 2026-07-28 2025-11-25; do
        echo old >folder/a
        "$MCPCTL" watch --revision $revision --count 1 --read "file://$PWD/folder/a" -- "$MCPD" folder >out 3>&- &
        local pid=$!
        for _ in {1..300}; do
            sleep 0.2
            echo new >>folder/a
            kill -0 $pid 2>/dev/null || break
        done
        wait $pid
        [[ $(cat out) == *$'updated\t'"file://$PWD/folder/a"*new* ]]
    done
}

@test "context: the selected resources, and the reasons" {
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

@test "context: words in the text raise the rank, and the budget is not exceeded" {
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

@test "read: contents without text count as empty" {
    apart "$MCPCTL" read mem:empty -- "$workshop"
    [[ $status == 0 && -z $output && -z $stderr ]]
    run "$MCPCTL" read --json mem:empty -- "$workshop"
    [[ $status == 0 && $output == *'{"uri":"mem:empty"}'* ]]
}
