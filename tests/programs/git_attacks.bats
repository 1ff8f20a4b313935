# mcpd git:PATH with hostile repositories: configuration, attributes, hooks and links have no
# effect. mcpd starts no process, creates no file, opens nothing for writing, and reads nothing
# outside the repository.

bats_require_minimum_version 1.5.0

setup() {
    load support/talk
    load support/trace
    load support/late
    : "${MCPD:=mcpd}"
    cd "$BATS_TEST_TMPDIR"
    export HOME=$PWD/home GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org \
        GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org
    # The ids are the same in each run: a test removes a folder of objects, which must not hold one of `r` too.
    export GIT_AUTHOR_DATE='2026-07-28T10:00:00Z' GIT_COMMITTER_DATE='2026-07-28T10:00:00Z'
    unset GIT_CONFIG_GLOBAL XDG_CONFIG_HOME
    mkdir home
    make_repository r one
}

make_repository() { # NAME TEXT
    git init -q -b main "$1"
    printf '%s\n' "$2" >"$1/a.txt"
    git -C "$1" add .
    git -C "$1" commit -q -m first
    git -C "$1" tag v1
    printf '%s\n' "$2" two >"$1/a.txt"
    git -C "$1" commit -q -a -m second
}

text() { # URI: sets $heard to its text
    result resources/read "{\"uri\":\"$1\"}"
    heard=$(jq -r '.contents[0].text' <<<"$heard")
}

traced() { # mcpd's options: a conversation with a server that runs under strace
    command -v strace >/dev/null || skip "strace is not installed"
    export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" # the leak sanitizer does not work under strace
    talk modern strace -f -s 300 -o trace -e trace=execve,execveat,fork,vfork,openat,openat2,open,creat,mkdir,mkdirat,mknod,mknodat,rename,renameat,renameat2,unlink,unlinkat,link,linkat,symlink,symlinkat,truncate,ftruncate,chmod,fchmod,fchmodat,utimensat,connect \
        "$MCPD" "$@"
}

# Checks that the trace has no exec except of mcpd itself, no creation, no change, no connection,
# and none of these names.
harmless() { # NAME...
    sed -i '/tsan\.rodata/d' trace # opened by the thread sanitizer
    without_own_processes trace
    [ "$(grep -c execve trace)" = 1 ]
    run -1 grep -E 'O_WRONLY|O_RDWR|O_CREAT|creat\(|mkdir|mknod|rename|unlink|link\(|linkat\(|truncate|fork\(|chmod|utimensat|connect\(' trace
    local name
    for name; do
        run -1 grep -F "$name" trace
    done
}

everything() { # NAME: does everything that a peer can do with the repository
    local name=$1
    result resources/list '{}'
    result resources/templates/list '{}'
    for uri in "" HEAD/ HEAD/a.txt v1/a.txt -/log/HEAD -/log/HEAD/a.txt -/diff/v1/HEAD -/blame/HEAD/a.txt -/commit/HEAD \
        -/branches -/tags -/log/v1..HEAD -/diff/v1...HEAD 'HEAD~1/?format=text' '-/search/HEAD?text=o'; do
        result resources/read "{\"uri\":\"git://$name/$uri\"}"
    done
    for argument in '{"name":"rev","value":""}' '{"name":"path","value":"a"}'; do
        result completion/complete "{\"ref\":{\"type\":\"ref/resource\",\"uri\":\"git://$name/{rev}/{+path}{?offset,length,format}\"},\"argument\":$argument}"
    done
    request subscriptions/listen "{\"notifications\":{\"resourcesListChanged\":true,\"resourceSubscriptions\":[\"git://$name/HEAD/a.txt\",\"git://$name/-/branches\"]}}"
    hear '.method == "notifications/subscriptions/acknowledged"'
}

# ---- commands that git would run -----------------------------------------------------------------

@test "configuration, attributes and hooks have no effect" {
    payload="touch $PWD/made"
    printf '[core]\n\tfsmonitor = %s\n' "$payload" >evil.config
    printf '#!/bin/sh\n%s\n' "$payload" >payload
    chmod +x payload
    printf '* diff=evil filter=evil text eol=crlf ident export-subst merge=evil\n' >r/.gitattributes
    printf '$Id$ $Format:%%H$\n' >r/id.txt
    git -C r add .
    git -C r commit -q -m third
    cp r/.gitattributes r/.git/info/attributes
    mkdir -p r/.git/hooks
    for hook in post-checkout pre-commit fsmonitor-watchman post-index-change reference-transaction pre-auto-gc proc-receive; do
        cp payload r/.git/hooks/$hook
    done
    cat >>r/.git/config <<END
[include]
	path = $PWD/evil.config
[includeIf "gitdir:/"]
	path = $PWD/evil.config
[core]
	fsmonitor = $payload
	hooksPath = $PWD
	worktree = /etc
	pager = $payload
	editor = $payload
	sshCommand = $payload
	gitProxy = $payload
	askPass = $payload
	alternateRefsCommand = $payload
	attributesFile = $PWD/evil.attributes
	excludesFile = $PWD/evil.excludes
	autocrlf = true
[diff]
	external = $payload
[diff "evil"]
	command = $payload
	textconv = $payload
[filter "evil"]
	clean = $payload
	smudge = $payload
	process = $payload
	required = true
[merge "evil"]
	driver = $payload
[uploadpack]
	packObjectsHook = $payload
[gpg]
	program = $payload
[log]
	showSignature = true
[extensions]
	worktreeConfig = true
	partialClone = origin
[remote "origin"]
	url = ext::$payload
	promisor = true
[credential]
	helper = !$payload
[alias]
	log = !$payload
END
    cp r/.git/config r/.git/config.worktree
    cp evil.config home/.gitconfig
    before=$(find r home -type f -exec sha256sum {} + | sort | sha256sum)
    traced git:r
    everything r
    text git://r/HEAD/id.txt
    [ "$heard" = '$Id$ $Format:%H$' ]
    text git://r/HEAD/a.txt
    [ "$heard" = $'one\ntwo' ]
    text git://r/-/diff/v1/HEAD/a.txt
    [[ "$heard" == *$'\n one\n+two'* ]]
    # an object that a partial clone would fetch
    failure resources/read '{"uri":"git://r/0123456789abcdef0123456789abcdef01234567/a.txt"}'
    hush
    harmless evil. payload .gitconfig attributes excludes config.worktree '/hooks' /etc/gitconfig /etc/passwd .git/index
    # in the working tree .gitattributes can be read like any tracked file, but has no effect
    printf 'three' >>r/a.txt
    before=$(find r home -type f -exec sha256sum {} + | sort | sha256sum)
    traced git:r
    for uri in status staged unstaged; do
        text git://r/-/$uri
    done
    [[ "$heard" == *$'\n+three'* && "$heard" != *$'\n-one'* ]]
    hush
    harmless evil. payload .gitconfig info/attributes excludes config.worktree '/hooks' /etc/gitconfig /etc/passwd
    [ "$(find r home -type f -exec sha256sum {} + | sort | sha256sum)" = "$before" ]
    [ ! -e made ]
}

# ---- objects that git would replace --------------------------------------------------------------

@test "submodules, links, replacements, grafts, shallow histories: the objects are shown unchanged" {
    first=$(git -C r rev-parse v1) second=$(git -C r rev-parse main)
    ln -s /etc/passwd r/link
    ln -s ../../../../../../etc r/folder
    printf '[submodule "s"]\n\tpath = s\n\turl = -uevil\n\tupdate = !touch made\n' >r/.gitmodules
    git -C r add .
    git -C r update-index --add --cacheinfo 160000,"$first",s
    git -C r commit -q -m third
    mkdir -p r/s
    ln -s /etc r/.git/modules
    # second is replaced by another commit, whose parent is itself
    other=$(git -C r commit-tree -m replaced -p main "main^{tree}")
    git -C r replace "$second" "$other"
    printf '%s %s\n' "$second" "$other" >r/.git/info/grafts
    printf '%s\n' "$second" >r/.git/shallow
    git init -q shallow
    git -C shallow fetch -q --depth 1 "file://$PWD/r" main
    git -C shallow update-ref refs/heads/main FETCH_HEAD
    traced git:r git:shallow
    text git://r/HEAD/link
    [ "$heard" = /etc/passwd ]
    text git://r/HEAD/folder
    [ "$heard" = ../../../../../../etc ]
    failure resources/read '{"uri":"git://r/HEAD/folder/passwd"}'
    failure resources/read '{"uri":"git://r/HEAD/link/x"}'
    text git://r/HEAD/s
    [ "$(jq -r .commit <<<"$heard")" = "$first" ]
    failure resources/read '{"uri":"git://r/HEAD/s/a.txt"}'
    text "git://r/-/commit/$second"
    [ "$(jq -r '.message, .parents[0].id' <<<"$heard")" = second$'\n\n'"$first" ]
    text git://r/-/log/main
    [ "$(jq -c '[.commits[].subject]' <<<"$heard")" = '["third","second","first"]' ]
    text git://shallow/-/log/main
    [ "$(jq -c '[.commits[].subject]' <<<"$heard")" = '["third"]' ]
    text git://shallow/-/blame/main/a.txt
    [ "$(jq -c '[.ranges[].subject]' <<<"$heard")" = '["third"]' ]
    hush
    harmless /etc/passwd grafts modules replace/
}

# ---- links to other places -----------------------------------------------------------------------

@test "links outside the repository, cycles and pipes are rejected before anything is read" {
    make_repository outside secret
    out=$PWD/outside/.git
    git init -q empty
    for name in pack fan info loops self deep pipe pipes socket relative absolute twice common circle nothing refs head packed; do
        cp -r empty $name
    done
    rm -rf pack/.git/objects/pack && ln -s $out/objects/pack pack/.git/objects/pack
    ln -s "$out/objects/$(git -C outside rev-parse HEAD | cut -c1-2)" fan/.git/objects/
    mkdir -p info/.git/objects/info && rm -rf info/.git/objects/info && ln -s $out/objects info/.git/objects/info
    mkfifo pipe/.git/objects/pack/pack-0123456789012345678901234567890123456789.idx
    mkfifo pipes/.git/objects/info/alternates
    echo ../../../outside/.git/objects >relative/.git/objects/info/alternates
    echo $out/objects >absolute/.git/objects/info/alternates
    rm -rf twice/.git && echo 'gitdir: ../pointer' >twice/.git && echo "gitdir: $out" >pointer
    echo ../../outside/.git >common/.git/commondir
    rm -rf circle/.git/objects && echo . >circle/.git/commondir && ln -s objects circle/.git/objects
    rm -rf nothing/.git && printf 'gitdir: \n' >nothing/.git
    rm -rf refs/.git/refs && ln -s $out/refs refs/.git/refs
    ln -sf $out/HEAD head/.git/HEAD
    ln -s $out/packed-refs packed/.git/packed-refs && git -C outside pack-refs --all
    for case in 'pack|objects: it is outside' 'fan|objects: it is outside' 'info|' 'pipe|objects: ' 'pipes|alternates: it cannot be read' \
        'relative|alternates: it is outside' 'absolute|alternates: it is outside' 'twice|.git: ' 'common|commondir: it is outside' \
        'circle|objects: ' 'nothing|.git: neither' 'refs|refs: it is outside' 'head|HEAD: it is outside' \
        'packed|packed-refs: it is outside'; do
        refused_late "git://${case%%|*}/HEAD/a.txt" "${case#*|}" "git:${case%%|*}"
    done
}

@test "links outside a repository that is served are not followed" {
    make_repository outside secret
    out=$PWD/outside/.git
    commit=$(git -C outside rev-parse HEAD)
    blob=$(git -C outside rev-parse HEAD:a.txt)
    for name in heads ref loops tree; do cp -r r $name; done
    rm -rf heads/.git/refs/heads && ln -s $out/refs/heads heads/.git/refs/heads
    ln -sf $out/refs/heads/main ref/.git/refs/heads/main
    printf 'ref: refs/heads/b\n' >loops/.git/refs/heads/a
    printf 'ref: refs/heads/a\n' >loops/.git/refs/heads/b
    printf 'ref: refs/heads/a\n' >loops/.git/HEAD
    printf '.\n../objects\n%s\n%s/loops/.git/objects\n' "../../.git/objects" "$PWD" >loops/.git/objects/info/alternates
    talk modern "$MCPD" git:heads git:ref git:loops git:tree
    for uri in heads/main/a.txt ref/main/a.txt loops/HEAD/a.txt loops/a/a.txt "tree/$commit/a.txt" "tree/$blob" \
        "heads/$commit" "heads/-/log/main" "ref/-/commit/main"; do
        failure resources/read "{\"uri\":\"git://$uri\"}"
    done
    text git://heads/-/branches
    [ "$(jq -c .branches <<<"$heard")" = '[]' ]
    result resources/read '{"uri":"git://tree/HEAD/a.txt"}'
    [[ "$heard" == *one* ]]
    hush
}

@test "links and pipes that are added while it is served are not followed and do not block" {
    make_repository outside secret
    blob=$(git -C outside rev-parse HEAD:a.txt)
    commit=$(git -C outside rev-parse HEAD)
    talk modern "$MCPD" git:r
    text git://r/HEAD/a.txt
    # a loose object that is a link, and one that is a pipe
    mkdir -p "r/.git/objects/${blob:0:2}"
    ln -s "$PWD/outside/.git/objects/${blob:0:2}/${blob:2}" "r/.git/objects/${blob:0:2}/${blob:2}"
    failure resources/read "{\"uri\":\"git://r/$blob\"}"
    pipe=0123456789abcdef0123456789abcdef01234567
    mkdir -p r/.git/objects/01
    mkfifo "r/.git/objects/01/${pipe:2}"
    failure resources/read "{\"uri\":\"git://r/$pipe\"}"
    failure resources/read "{\"uri\":\"git://r/-/commit/$pipe\"}"
    failure resources/read "{\"uri\":\"git://r/-/log/$pipe\"}"
    # a folder of objects
    rm -rf "r/.git/objects/${commit:0:2}"
    ln -s "$PWD/outside/.git/objects/${commit:0:2}" r/.git/objects/
    failure resources/read "{\"uri\":\"git://r/-/commit/$commit\"}"
    rm "r/.git/objects/${commit:0:2}"
    # references
    mkfifo r/.git/refs/heads/pipe
    failure resources/read '{"uri":"git://r/pipe/a.txt"}'
    text git://r/-/branches
    [ "$(jq -c '[.branches[].name]' <<<"$heard")" = '["main"]' ]
    mkfifo r/.git/packed-refs
    failure resources/read '{"uri":"git://r/nothing/a.txt"}'
    rm r/.git/packed-refs
    text git://r/HEAD/a.txt
    [ "$heard" = $'one\ntwo' ]
    hush
}

# ---- ownership -----------------------------------------------------------------------------------

@test "a repository of another owner is served like any other" {
    [ "$(id -u)" != 0 ] || chown -R 12345:12345 r
    run -128 env GIT_TEST_ASSUME_DIFFERENT_OWNER=1 git -C r log # git would obey its configuration, so it refuses
    talk modern "$MCPD" git:r
    text git://r/HEAD/a.txt
    [ "$heard" = $'one\ntwo' ]
    text git://r/-/log/HEAD
    [ "$(jq -c '[.commits[].subject]' <<<"$heard")" = '["second","first"]' ]
    hush
}
