# mcpd --workers: one worker watches for all; when it ends, another one takes over, and nothing stays stale. Each
# worker is addressed by its own socket.

bats_require_minimum_version 1.5.0
load support/serving

setup() {
    serving_setup
    mkdir -p project/{a,b}/{1..4}
    printf 'one\n' > project/a/note.txt
}
teardown() { serving_teardown; }

metric() { get /metrics | sed -n "s/^$1 //p"; }

serve_workers() { # N OPTION...: sets $folder
    serve --http 127.0.0.1:0 --workers "$@"
    wait_for eval "[ \"\$(metric mcp_workers)\" = $1 ]"
    children "$server" | tr ' ' '\n' >> pids
    folder=$(echo "$PWD"/mcpd-*)
}

worker() { # NUMBER: prints its process
    local pid
    for pid in $(children "$server"); do
        if tr '\0' ' ' < "/proc/$pid/cmdline" | grep -q -- " --@worker $1:"; then echo "$pid"; fi
    done
}

listen() { # WORKER FILE: subscribes to the list and to some files
    local uris=() name params
    for name in hello.txt a/note.txt; do uris+=("\"file://$PWD/project/$name\""); done
    params="\"notifications\":{\"resourcesListChanged\":true,\"resourceSubscriptions\":[$(IFS=,; echo "${uris[*]}")]},"
    curl -sS -N -m 600 --unix-socket "$folder/$1" -H 'Content-Type: application/json' \
        -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' \
        -H 'Mcp-Method: subscriptions/listen' \
        -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{$params$meta}}" \
        http://localhost/mcp > "$2" 2> "$2.log" 3>&- &
    listener=$!
    ours+=("$listener")
    wait_for grep -q acknowledged "$2"
}

watches() { cat "/proc/$(worker "$1")/fdinfo/"* 2>/dev/null | grep -c ^inotify || :; } # WORKER: those of the system
watches_none() { [ "$(watches "$1")" = 0 ]; }
watches_some() { [ "$(watches "$1")" -gt 0 ]; }
updates() { grep -c "updated.*$1" "$2" || :; } # NAME FILE
lists() { grep -c 'resources/list_changed' "$1" || :; } # FILE
more() { [ "$("${@:2}")" -gt "$1" ]; } # THAN COMMAND...

# A change of a file and of the list reaches each listener.
all_hear() { # FILE...
    local f before=() at=0
    for f in "$@"; do before+=("$(updates hello.txt "$f")" "$(lists "$f")"); done
    echo more >> project/hello.txt
    touch "project/b/new-$((n++))"
    for f in "$@"; do
        wait_for more "${before[at]}" updates hello.txt "$f"
        wait_for more "${before[at + 1]}" lists "$f"
        at=$((at + 2))
    done
}

@test "one worker watches; when it is killed another one does, and everything is announced" {
    n=1
    serve_workers 3 project
    for at in 1 2 3; do listen $at events-$at; done
    all_hear events-1 events-2 events-3 # at once
    wait_for watches_none 2
    wait_for watches_none 3
    watches_some 1
    all_hear events-1 events-2 events-3

    updates_before=$(updates note.txt events-2) before_list=$(lists events-3)
    one=$(worker 1)
    kill -KILL "$one"
    echo missed >> project/a/note.txt
    for at in 2 3; do wait_for more "$updates_before" updates note.txt events-$at; done
    wait_for more "$before_list" lists events-3
    wait_for eval '[ "$(metric mcp_workers)" = 3 ]'
    children "$server" | tr ' ' '\n' >> pids
    listen 1 events-4
    all_hear events-2 events-3 events-4
    wait_for watches_none 1
    wait_for watches_none 3
    watches_some 2
    all_hear events-2 events-3 events-4

    # A reload does not end it.
    kill -HUP "$server"
    all_hear events-2 events-3 events-4
    finish
}

@test "what nobody is subscribed to is not watched" {
    n=1
    serve_workers 2 project
    listen 2 events
    wait_for watches_none 2
    watches_some 1
    kill "$listener"
    wait_for watches_none 1
    listen 2 events-2
    all_hear events-2
    wait_for watches_none 2
    watches_some 1
    kill -KILL "$(worker 2)" # what a worker that ended asked for ends too
    wait_for watches_none 1
    wait_for eval '[ "$(metric mcp_workers)" = 2 ]'
    finish
}
