# mcpd git:PATH from the command line: sources, resources, changes, attacks, and the commands of
# docs/git.md.

bats_require_minimum_version 1.5.0

setup() {
    load support/trace
    load support/late
    load support/legacy
    : "${MCPD:=mcpd}" "${MCPCTL:=mcpctl}"
    cd "$BATS_TEST_TMPDIR"
    export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org \
        GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org
    git init -q -b main r
    mkdir r/src
    echo one >r/a.txt
    echo y >'r/src/é #?%.c'
    ln -s /etc/passwd r/link
    git -C r add .
    git -C r commit -q -m first
    git -C r tag v1
    git -C r branch feature/x
}

initialize='{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}'

request() { # METHOD PARAMS [ID]
    printf '{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}' "${3:-1}" "$1" "$2"
}

reads() { # URI...: prints requests
    local n=0
    messages=()
    for uri; do
        n=$((n + 1))
        messages+=("$(request resources/read "$(jq -nc --arg uri "$uri" '{$uri}')" $n)")
    done
}

@test "every URI of the list can be read back; several repositories and a folder" {
    git clone -q --bare r b.git
    mkdir folder
    run -0 legacy git:r git:b.git folder -- "$(request resources/list '{}')"
    mapfile -t uris < <(jq -r '.[0].result.resources[].uri | select(startswith("git:"))' <<<"$output")
    [ "${#uris[@]}" = 17 ]
    reads "${uris[@]}"
    run -0 legacy git:r git:b.git -- "${messages[@]}"
    [ "$(jq 'map(select(.result.contents[0].text)) | length' <<<"$output")" = 17 ]
}

@test "a source that cannot be served is rejected with its name, the reason and exit status 1" {
    git -C r worktree add -q ../wt feature/x
    git clone -q -s r shared
    git init -q outside
    mkdir linked gitfile chain plain common
    ln -s ../outside/.git linked/.git
    echo 'gitdir: ../outside/.git' >gitfile/.git
    echo 'gitdir: /etc/passwd' >chain/.git
    cp -r r/.git common/.git
    echo ../../r/.git >common/.git/commondir
    cp -r r packs
    ln -s /etc/passwd packs/.git/objects/pack/pack-x.idx
    cp -r r fan
    rm -rf fan/.git/objects
    ln -s ../../r/.git/objects fan/.git/objects
    mkfifo fifo
    git init -q fifos
    rm -rf fifos/.git
    mkfifo fifos/.git
    for case in 'none|none: ' 'plain|not a git repository' 'linked|.git: it is outside' 'fifo|fifo: ' 'fifos|.git: neither' \
        'r?within=none|within: no such folder' 'r?within=plain|it is outside' 'r?max_read=0|max_read' \
        'r?colour=red|unknown property'; do
        run -1 --separate-stderr timeout 10 "$MCPD" "git:${case%%|*}" </dev/null
        [ -z "$output" ]
        [[ "$stderr" == *"${case#*|}"* ]] || { echo "$case: $stderr"; return 1; }
    done
    for case in 'wt|.git: it is outside' 'shared|alternates: it is outside' 'gitfile|.git: it is outside' 'chain|.git: ' \
        'common|commondir: it is outside' 'packs|objects: it is outside' 'fan|objects: it is outside'; do
        refused_late "git://${case%%|*}/HEAD/a.txt" "${case#*|}" "git:${case%%|*}"
        run -1 --separate-stderr "$MCPD" --doctor "git:${case%%|*}"
        [[ "$output" == *"WRONG   "*"${case#*|}"* ]] || { echo "$case: $output"; return 1; }
    done
    run -1 --separate-stderr "$MCPD" git:r git:./r </dev/null
    [[ "$stderr" == *'another '*' has its name'*'?name='* ]]
    # and a folder that contains all of them is allowed
    for name in wt shared; do
        reads "git://$name/HEAD/a.txt"
        run -0 legacy "git:$name?within=$PWD" -- "${messages[@]}"
        [ "$(jq -r '.[0].result.contents[0].text' <<<"$output")" = one ]
    done
}

@test "within: absolute in a host's entry, relative to the file's folder in a configuration file" {
    mkdir -p 'a & %b' elsewhere
    git -C r worktree add -q '../a & %b/wt' feature/x
    mv r 'a & %b'
    git -C 'a & %b/r' worktree repair ../wt
    reads git://wt/HEAD/a.txt
    for within in 'a %26 %25b' './a %26 %25b/wt/..'; do
        run -0 --separate-stderr "$MCPD" --print-config claude 'git:a & %b/wt?within='"$within&max_read=2048"
        mapfile -t args < <(jq -r '.mcpServers.mcpd.args[]' <<<"$output")
        [ "${args[-1]}" = "git:$PWD/a & %b/wt?within=$PWD/a %26 %25b&max_read=2048" ] || { echo "$output"; return 1; }
        cd elsewhere
        run -0 legacy "${args[@]}" -- "${messages[@]}"
        [ "$(jq -r '.[0].result.contents[0].text' <<<"$output")" = one ] || { echo "$output"; return 1; }
        cd ..
    done
    jq -n '{sources: [{module: "git", source: "a & %b/wt", options: {within: "a & %b", max_read: 2048}},
                      "git:a & %b/r?within=a %26 %25b&name=word"]}' >c.json
    cd elsewhere
    run -0 legacy --config ../c.json -- "${messages[@]}"
    [ "$(jq -r '.[0].result.contents[0].text' <<<"$output")" = one ] || { echo "$output"; return 1; }
    run -0 --separate-stderr "$MCPD" --config ../c.json --print-config mcpd
    [ "$(jq -c '.sources[0].options' <<<"$output")" = "$(jq -nc --arg within "$BATS_TEST_TMPDIR/a & %b" '{$within, max_read: 2048}')" ]
    [ "$(jq -r '.sources[1]' <<<"$output")" = "git:$BATS_TEST_TMPDIR/a & %b/r?within=$BATS_TEST_TMPDIR/a %26 %25b&name=word" ] || { echo "$output"; return 1; }
}

attacks=(git://r/--upload-pack=x/a.txt git://r/-x/a.txt git://r/%2D%2Dx/a git://r/-/log/--all git://r/-/diff/--output=x/HEAD
    git://r/-/diff/HEAD/--ext-diff git://r/-/blame/--contents/a.txt git://r/-/commit/-1 'git://r/HEAD~1/a.txt'
    'git://r/HEAD%40%7B1%7D/a' 'git://r/:%2Fx/a' git://r/..%2F..%2Fetc%2Fpasswd/ git://r/refs%2F..%2F..%2FHEAD/
    git://r/HEAD/../.git/config git://r/HEAD/..%2F.git%2Fconfig git://r/HEAD/.git/config git://r/HEAD/link/x
    git://r/config/ git://r/HEAD/%2e%2e/x git://r/HEAD//etc/passwd git://r/HEAD/a.txt%00 git://r/evil/ git://r/loop/
    git://r/up/ git://r/FETCH_HEAD/ git://r/index/ git://other/HEAD/a.txt)

@test "the attack list: no process is started, and no file is created or opened for writing" {
    command -v strace >/dev/null || skip "strace is not installed"
    [ -z "${MCPD_EMULATED:-}" ] || skip "the system calls are those of qemu"
    ln -s /etc/passwd r/.git/refs/heads/evil
    echo 'ref: refs/heads/loop' >r/.git/refs/heads/loop
    echo 'ref: ../../../../etc/passwd' >r/.git/refs/heads/up
    printf '[include]\n\tpath = /etc/passwd\n[core]\n\tfsmonitor = touch made\n\tworktree = /etc\n' >>r/.git/config
    printf '#!/bin/sh\ntouch made\n' >r/.git/hooks/post-checkout
    chmod +x r/.git/hooks/post-checkout
    printf '* diff=evil filter=evil\n' >r/.git/info/attributes
    before=$(find r -type f -exec sha256sum {} + | sort | sha256sum)
    good=(git://r/ git://r/HEAD/a.txt git://r/HEAD/ git://r/-/log/HEAD git://r/-/diff/v1/main git://r/-/blame/HEAD/a.txt
        git://r/-/branches git://r/-/tags git://r/-/commit/v1)
    reads "${attacks[@]}" "${good[@]}"
    TRACE='strace -f -s 200 -o trace -e trace=execve,execveat,fork,vfork,openat,openat2,open,creat,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,link,linkat,symlink,symlinkat,truncate,ftruncate'
    export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" # the leak sanitizer does not work under strace
    run -0 --separate-stderr legacy git:r -- "${messages[@]}"
    n=${#attacks[@]}
    [ "$(jq "length == $((n + ${#good[@]}))" <<<"$output")" = true ]
    [ "$(jq -c ".[:$n] | map(select(.error | not))" <<<"$output")" = '[]' ]
    [ "$(jq -c ".[$n:] | map(select(.result | not))" <<<"$output")" = '[]' ]
    ! grep -q 'root:' <<<"$output" || false
    sed -i '/tsan\.rodata/d' trace     # opened by the thread sanitizer
    without_own_processes trace
    [ "$(grep -c execve trace)" = 1 ] # mcpd itself
    run -1 grep -E 'O_WRONLY|O_RDWR|O_CREAT|creat\(|mkdir|rename|unlink|link\(|linkat\(|truncate|fork\(' trace
    run -1 grep -E '"/etc/passwd"|\.gitconfig|/etc/gitconfig|git/config"' trace
    [ "$(find r -type f -exec sha256sum {} + | sort | sha256sum)" = "$before" ]
    [ ! -e made ]
}

@test "a repository that is changed to point outside its folder is no longer served" {
    git init -q outside
    mkfifo in
    "$MCPD" git:r <in >out 2>err 3>&- &
    exec 4>in
    reads git://r/HEAD/a.txt
    printf '%s\n' "$initialize" "${messages[@]}" >&4
    for _ in {1..600}; do grep -q '"id":1' out && break; sleep 0.1; done
    grep -q '"text":"one' out
    mv r/.git r/old
    ln -s ../outside/.git r/.git
    reads git://r/HEAD/a.txt git://r/HEAD/a.txt
    printf '%s\n' "${messages[1]}" >&4
    for _ in {1..600}; do grep -q '"id":2' out && break; sleep 0.1; done
    exec 4>&-
    wait
    grep '"id":2' out | grep -q 'not found'
    grep -q 'it is outside' err
}

@test "a subscriber is notified of a commit; the list changes with HEAD" {
    mkfifo in
    "$MCPD" git:r <in >out 3>&- &
    exec 4>in
    printf '%s\n' "$initialize" "$(request resources/subscribe '{"uri":"git://r/main/a.txt"}')" \
        "$(request resources/subscribe '{"uri":"git://r/v1/a.txt"}' 2)" >&4
    for _ in {1..600}; do grep -q '"id":2' out && break; sleep 0.1; done
    # Before the process of the source watches, a change concerns all subscriptions. It watches when
    # the first commit is reported.
    for text in two three; do
        before=$(wc -l <out)
        echo $text >r/a.txt
        git -C r commit -q -a -m $text
        for what in main/a.txt list_changed; do
            for _ in {1..600}; do tail -n +$((before + 1)) out | grep -q $what && break; sleep 0.1; done
        done
        sleep 0.5
    done
    exec 4>&-
    wait
    tail -n +$((before + 1)) out >last
    grep -q '"uri":"git://r/main/a.txt"' last
    grep -q '"method":"notifications/resources/list_changed"' last
    ! grep 'resources/updated' last | grep -q v1
}

# ---- the page in docs -------------------------------------------------------------------------------------

@test "docs/git.md: the commands print what the page shows" {
    PATH="$(dirname "$MCPD"):$(dirname "$MCPCTL"):$PATH"
    awk '/^```sh setup/ { on = 1; next } /^```/ { on = 0 } on' "$BATS_TEST_DIRNAME/../../docs/git.md" >setup.sh
    bash -e setup.sh
    awk '/^```sh$/ { n++; on = "command." n; next } /^```expect$/ { on = "expect." n; next } /^```/ { on = "" }
         on { print >on }' "$BATS_TEST_DIRNAME/../../docs/git.md"
    commands=(command.*)
    [ "${#commands[@]}" -ge 2 ]
    for command in "${commands[@]}"; do
        run -0 bash -e "$command"
        [[ "$output" == *"$(cat "expect.${command#*.}")"* ]] || { echo "$command: $output"; return 1; }
    done
}

@test "a commit in another encoding, also in the sandbox of the source's process" {
    [ -n "$(iconv -l 2>/dev/null | grep -i SHIFT)" ] || skip "iconv does not know Shift_JIS"
    printf 'commit refs/heads/sjis\nauthor \216\122\223\143 <a@b> 1700000000 +0000\ncommitter c <c@d> 1700000000 +0000\nencoding Shift_JIS\ndata 5\n\223\372\226\173\n\n' |
        git -C r fast-import --quiet
    for isolation in "" --no-isolate; do
        run -0 "$MCPCTL" read git://r/-/log/sjis -- "$MCPD" $isolation git:r
        [[ "$output" == *'"subject":"日本"'*'"name":"山田"'* ]]
        [[ "$output" != *encoding* ]]
    done
}
