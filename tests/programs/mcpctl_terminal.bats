#!/usr/bin/env bats
# mcpctl on a terminal: wrapping, columns and tables, which are used only there.

load support/mcpctl

# What stays on the terminal, without the progress bar, which a busy machine shows.
seen() { on_terminal "$@" | sed 's/.*\r\x1b\[K//'; }

@test "ls --long: columns on a terminal, tabs elsewhere" {
    run seen "$MCPCTL" ls --long -- "$workshop"
    [[ ${lines[0]} == NAME*SIZE*TYPE*PRIORITY*MODIFIED*URI ]]
    [[ ${lines[1]} == "readme.md  "*" 120  text/markdown       0.9  2026-07-01T00:00:00Z  mem:docs/readme.md" ]]
    local line=${lines[0]} at
    at=${#line}
    for line in "${lines[@]:1}"; do
        [[ ${line:at-3} == mem:* && $line != *$'\t'* ]]
    done
    run "$MCPCTL" ls --long -- "$workshop"
    [ "${lines[0]}" = $'mem:docs/readme.md\t120\ttext/markdown\treadme.md\t0.9\t2026-07-01T00:00:00Z' ]
}

@test "long texts are wrapped between words at the terminal's width, and nowhere else" {
    local words='one two three four five six seven eight nine ten'
    chatty() { seen "$MCPCTL" "$@" -- sh -c "\"\$0\" | sed -u 's/Adds/$words/; s/Says hello/$words/; s/\"text\":\"/&$words /'" "$workshop"; }
    COLUMNS=30 run chatty tools
    [[ $output == *$'\n    one two three four five\n    six seven eight nine ten\n'* ]]
    COLUMNS=24 run chatty prompts
    [[ $output == *$'\n    one two three four\n    five six seven eight\n    nine ten\n'* ]]
    COLUMNS=30 run chatty prompt talk
    [[ $output == *$'one two three four five six\nseven eight nine ten Hello?\n'* ]]
    COLUMNS=30 run chatty call --yes add a=1 b=2
    [[ $output == *$'one two three four five six\nseven eight nine ten called\nwith '* ]]
    COLUMNS=30 run chatty read mem:a
    [[ $output == *"$words one"* ]]
    COLUMNS=30 run seen "$MCPCTL" nothing at all
    [[ $output == $'mcpctl: there is no command\n        \'nothing\''* ]]
    # the width of the terminal
    run seen sh -c "stty cols 24; '$MCPCTL' prompts -- sh -c '\"\$0\" | sed -u \"s/Says hello/$words/\"' '$workshop'"
    [[ $output == *$'\n    one two three four\n    five six seven eight\n    nine ten\n'* ]]
    # no terminal, or one that does not report its width
    COLUMNS=30 run "$MCPCTL" prompts --long -- sh -c "\"\$0\" | sed -u 's/Says hello/$words/'" "$workshop"
    [[ ${lines[0]} == *$'\t'"$words" ]]
    run chatty prompts
    [[ $output == *"    $words"$'\n'* ]]
}

@test "read: on a terminal rows are shown as a table and a log as lines; --raw and a pipe get the unchanged text" {
    sqlite3 shop.db "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, price REAL, about TEXT);
        INSERT INTO item VALUES (1, 'one', 2.5, 'long words ' || char(27) || '[31m and more of them'), (22, NULL, 10, '')"
    COLUMNS=40 run seen "$MCPCTL" read 'sqlite://shop/item/rows?limit=2' -- "$MCPD" sqlite:shop.db
    [ "${lines[0]}" = 'id  name  price  about' ]
    [ "${lines[1]}" = ' 1  one     2.5  long words \x1b[31m an…' ]
    [ "${lines[2]}" = '22  NULL     10  ' ]
    [ "${#lines[@]}" -eq 3 ]
    run seen "$MCPCTL" read 'sqlite://shop/item/rows?limit=1' -- "$MCPD" sqlite:shop.db
    [ "${lines[2]}" = 'next: sqlite://shop/item/rows?limit=1&offset=1' ]
    "$MCPCTL" read sqlite://shop/item/rows -- "$MCPD" sqlite:shop.db >piped
    jq -e '.rows | length == 2' piped
    "$MCPCTL" read --json sqlite://shop/item/rows -- "$MCPD" sqlite:shop.db | jq -j '.contents[0].text' | cmp - piped
    [ "$(seen "$MCPCTL" read --raw sqlite://shop/item/rows -- "$MCPD" sqlite:shop.db)" = "$(cat piped)" ]
    [ "$(seen "$MCPCTL" read --json sqlite://shop/item/rows -- "$MCPD" sqlite:shop.db)" = \
        "$("$MCPCTL" read --json sqlite://shop/item/rows -- "$MCPD" sqlite:shop.db)" ]
    [[ $(seen "$MCPCTL" read --range 0-9 sqlite://shop/item/rows -- "$MCPD" sqlite:shop.db) == '{"columns"' ]]

    git init -q -b main r
    GIT_AUTHOR_DATE='2026-07-28T10:00:00Z' git -C r -c user.name=Ada -c user.email=a@b commit -q --allow-empty \
        -m 'What was done, in many words'
    COLUMNS=50 run seen "$MCPCTL" read git://r/-/log/HEAD -- "$MCPD" git:r
    [[ ${lines[0]} == "$(git -C r rev-parse HEAD | cut -c 1-8)  2026-07-28  Ada  "*'What was'*… ]]
    [ "${#lines[@]}" -eq 1 ]
    "$MCPCTL" read git://r/-/log/HEAD -- "$MCPD" git:r | jq -e '.commits[0].author.email == "a@b"'
    [[ $(seen "$MCPCTL" read --raw git://r/-/log/HEAD -- "$MCPD" git:r) == '{'*'"email":"a@b"'* ]]

    # files of other forms, and invalid ones, are shown unchanged
    mkdir folder
    echo '[{"a":1,"b":[]}]' >folder/nested.json
    echo '[{"a":1}' >folder/broken.json
    echo '[{"a":1}]' >folder/table.json
    echo '[{"a":1}]' >folder/text.txt
    shown() { seen "$MCPCTL" read "file://$PWD/folder/$1" -- "$MCPD" folder; }
    [ "$(shown nested.json)" = "$(cat folder/nested.json)" ]
    [ "$(shown broken.json)" = "$(cat folder/broken.json)" ]
    [ "$(shown text.txt)" = "$(cat folder/text.txt)" ]
    [ "$(shown table.json)" = $'a\n1' ]
}

@test "tools --long, prompts --long: columns on a terminal, tabs elsewhere" {
    COLUMNS=100 run seen "$MCPCTL" tools --long -- "$workshop"
    [ "${lines[0]}" = 'NAME   PARAMETERS                                       EFFECTS                  DESCRIPTION' ]
    [ "${lines[1]}" = 'add    a= b= [loud=] [tags=] [more=] [note=] [either=]  read-only, closed world  Adds' ]
    COLUMNS=50 run seen "$MCPCTL" tools --long -- "$workshop"
    [[ ${lines[1]} == 'add    a= b= ['*'…  read-only, '*'  Adds' ]]
    COLUMNS=50 run seen "$MCPCTL" prompts --long -- sh -c '"$0" | sed -u "s/Says hello/& to whoever is named, and asks in that tone/"' "$workshop"
    [ "${lines[0]}" = 'NAME   ARGUMENTS      DESCRIPTION' ]
    [ "${lines[1]}" = 'greet  name= [tone=]  Says hello to whoever is' ]
    [ "${lines[2]}" = '                      named, and asks in that tone' ]
    [ "${lines[3]}" = 'talk                  Two messages' ]
    [ "${#lines[@]}" -eq 4 ]
    run "$MCPCTL" prompts --long -- "$workshop"
    [ "$output" = $'greet\tname= [tone=]\tSays hello\ntalk\t\tTwo messages' ]
    # the short form: parameters and effects
    COLUMNS=40 run seen "$MCPCTL" tools -- "$workshop"
    [ "${lines[0]}" = 'add a= b= [loud=] [tags=] [more=]' ]
    [ "${lines[1]}" = '        [note=] [either=]' ]
    [ "${lines[2]}" = '        (the server says: read-only, closed world)' ]
    [ "${lines[3]}" = '    Adds' ]
}

@test "watch: shows what was added to a list and removed, on a terminal and with --read" {
    cat >changing <<'SERVER'
#!/bin/bash
# Runs the server $1, but with a different second list of tools.
"$1" | while IFS= read -r line; do
    [[ $line == *'"tools":['* ]] && n=$((n + 1)) && [ $n = 2 ] && line=${line/'"name":"old"'/'"name":"new\u001b[31m"'}
    printf '%s\n' "$line"
done
SERVER
    chmod +x changing
    local server=(./changing "$workshop")
    run seen "$MCPCTL" watch --count 1 -- "${server[@]}"
    [[ ${lines[0]} == *$'Z\ttools\t' ]]
    [ "${lines[1]}" = '+ new\x1b[31m' ]
    [ "${lines[2]}" = '- old' ]
    [ "${#lines[@]}" -eq 3 ]
    run "$MCPCTL" watch --count 1 --read -- "${server[@]}"
    [ "${lines[1]}" = '+ new\x1b[31m' ]
    [ "${lines[2]}" = '- old' ]
    run "$MCPCTL" watch --count 1 -- "${server[@]}"
    [ "${#lines[@]}" -eq 1 ]
    run "$MCPCTL" watch --count 1 --read --json -- "${server[@]}"
    [ "$(jq -c '[.changed, .added, .removed]' <<<"$output")" = '["tools",["new\u001b[31m"],["old"]]' ]
    run seen "$MCPCTL" watch --count 1 --json -- "${server[@]}"
    [[ $output == *'"changed":"tools"}' ]]
}

@test "watch: files that are added and removed; of very many only the first are shown" {
    mkdir folder more
    touch folder/a more/{1..150}
    "$MCPCTL" watch --read --trace trace -- "$MCPD" folder >out 2>err 3>&- &
    others=$!
    seen() { # WORDS FILE
        for _ in {1..600}; do
            grep -qe "$1" "$2" && return
            sleep 0.1
        done
        cat out err
        return 1
    }
    seen '"from":"server".*"resources":\[' trace
    touch folder/b
    seen "^+ file://$PWD/folder/b$" out
    rm folder/a
    seen "^- file://$PWD/folder/a$" out
    mv more folder
    seen '^and 51 more$' out
    [ "$(grep -c '^+ ' out)" -eq 101 ]
    kill $others
    wait $others || :
    [ ! -s err ]
}
