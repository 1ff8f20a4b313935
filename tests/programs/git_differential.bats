# Compares every answer of mcpd git:PATH with the git command, for repositories with random
# histories (branches, merges of two and of many, clocks that went backwards, files that became
# links, odd names). A failure prints its seed; SEED=N bats git_differential.bats repeats it.

bats_require_minimum_version 1.5.0

setup_file() {
    export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org \
        GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org
    export SEED=${SEED:-$((EPOCHSECONDS % 30000))}
    RANDOM=$SEED
    cd "$BATS_FILE_TMPDIR"
    git init -q -b main r
    make_history 120 | git -C r fast-import --quiet --force
}

setup() {
    : "${MCPD:=mcpd}"
    RANDOM=$SEED
    cd "$BATS_TEST_TMPDIR"
    cp -r "$BATS_FILE_TMPDIR/r" r
}

# ---- a history ----------------------------------------------------------------------------------------------

# The names are in the syntax of fast-import. The last one is not UTF-8, and git prints such a name
# unchanged.
names=(a.txt 'src/x.c' 'src/deep/y' 'src.d/z' src0 '"with space.md"' '"\303\251 #?%.txt"' '"quote\"back\\"' '"new\nline"'
    '"tab\there"' '[x]{y}' '100%25' 'one/two/three/four/five/six')

authors=(A 'Bee Cee' 'a bee' Ånn)

# The lines are numbered, so that there is only one correct difference between two versions.
contents() { # KIND LINES VARIANT
    local i
    for ((i = 1; i <= $2; i++)); do
        case $1 in
        crlf) printf 'line %d of %d\r\n' $i $((i % 7 ? 0 : $3)) ;;
        *) printf '    line %d of %d é\n' $i $(((i * $3) % 5 == 1 ? $3 : 0)) ;;
        esac
    done
    case $1 in
    open) printf 'without its end' ;;
    binary) printf 'a\0b%d' "$3" ;;
    esac
}

# Writes each content once, as a blob whose mark is higher than those of the commits.
make_blobs() {
    local kind variant lines mark=1000
    for kind in text open crlf binary; do
        for lines in 3 23 43; do
            for variant in 0 1 2 3 4; do
                contents $kind $lines $variant >blob
                printf 'blob\nmark :%d\ndata %d\n' $((mark++)) "$(stat -c %s blob)"
                cat blob
                printf '\n'
            done
        done
    done
    printf 'blob\nmark :%d\ndata 0\n' $mark
}

change() { # one file
    local name=${names[RANDOM % ${#names[@]}]} mode=100644
    case $((RANDOM % 13)) in
    0) printf 'D %s\n' "$name"; return ;;
    1) printf 'M 160000 %040d %s\n' $((RANDOM % 3 + 1)) "$name"; return ;;
    2) mode=120000 ;;
    3 | 4) mode=100755 ;;
    esac
    printf 'M %s :%d %s\n' $mode $((1000 + RANDOM % 61)) "$name"
}

make_history() { # N
    local i j n time parents
    make_blobs
    for ((i = 1; i <= $1; i++)); do
        time=$((1700000000 + i / 3 * 100))
        ((RANDOM % 8)) || time=$((time - RANDOM % 3000))
        printf 'commit refs/heads/main\nmark :%d\nauthor %s <%s@example.org> %d +0200\n' $i \
            "${authors[RANDOM % ${#authors[@]}]}" $((RANDOM % 3)) $((time - RANDOM % 500))
        printf 'committer A <a@example.org> %d +0130\ndata <<.\nc%d\n\nof é\n.\n' $time $i
        parents=()
        n=$((RANDOM % 4 ? 1 : RANDOM % 4 + 1))
        for ((j = 0; j < n && i > 1; j++)); do
            ((parents[i - 1 - RANDOM % (i < 9 ? i - 1 : 8)] = 1))
        done
        ((i < $1)) || parents=([i - 4]=1 [i - 3]=1 [i - 2]=1 [i - 1]=1)
        n=from
        for j in "${!parents[@]}"; do
            printf '%s :%d\n' $n "$j"
            n=merge
        done
        ((i > 1)) || printf 'M 100644 inline "bad\\377"\ndata 1\nx\n'
        for ((j = RANDOM % 3; j >= 0; j--)); do change; done
        ((i % 20)) || printf 'reset refs/heads/topic/%d\nfrom :%d\n\nreset refs/tags/v%d\nfrom :%d\n\n' $i $i $i $((i - 3))
    done
}

# ---- one server for successive requests ----------------------------------------------------------

serve() { # MCPD'S ARGUMENTS
    mkfifo in out
    "$MCPD" "$@" <in >out 2>err 3>&- &
    pid=$!
    exec 8>in 9<out
    n=0
}

finish() {
    exec 8>&-
    wait "$pid"
    exec 9<&-
}

meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'

ask() { # METHOD PARAMS: sets $reply
    n=$((n + 1))
    printf '{"jsonrpc":"2.0","id":%d,"method":"%s","params":{%s%s}}\n' $n "$1" "${2:+$2,}" "$meta" >&8
    read -r -t 60 -u 9 reply
}

get() { # URI: sets $reply, and writes its text to the file `text`
    ask resources/read "\"uri\":\"$1\""
    case $reply in
    *'"contents":[{'*'"blob":"'*) jq -r '.result.contents[0].blob' <<<"$reply" | base64 -d >text ;;
    *'"contents":[{'*) jq -j '.result.contents[0].text' <<<"$reply" >text ;;
    *) echo "SEED=$SEED $1: $reply" && return 1 ;;
    esac
}

pages() { # URI FILTER: prints the output of the filter for each page
    local uri=$1
    while [ "$uri" ]; do
        ask resources/read "\"uri\":\"$uri\""
        jq -er ".result.contents[0].text | fromjson | (.next // \"\"), ($2)" <<<"$reply" >page ||
            [[ "$reply" == *'"result"'* ]] || { echo "SEED=$SEED $uri: $reply" >&2; return 1; }
        { read -r uri; cat; } <page
    done
}

same() { # WHAT: compares the files `got` and `want`
    cmp -s got want && return
    echo "SEED=$SEED $1"
    diff got want | head -20
    return 1
}

# Encodes a path for a URI. The only byte that is not UTF-8 is 0xFF.
encoded() { # PATH
    printf %s "$1" | jq -sRr '@uri | gsub("%EF%BF%BD"; "%FF") | gsub("%2F"; "/")'
}

some() { # N: selects N random lines
    shuf -n "$1" --random-source=<(yes "$SEED")
}

changed() { # COMMIT GIT'S ARGUMENTS: prints what the commit changed from its first parent
    git -C r --literal-pathspecs diff -z --no-renames "$(git -C r rev-parse -q --verify "$1^" || git -C r hash-object -t tree /dev/null)" "$@" |
        tr '\0' '\n' | LC_ALL=C sed 's/\xff/ÿ/'
}

differs() { # GIT'S ARGUMENTS: prints the difference as mcpd does, with git's summary before it
    local diff=(git -C r -c core.quotePath=false diff --no-renames --abbrev=7)
    "${diff[@]}" --shortstat "$@" | cut -c2- | grep . || { echo '0 files changed' && return; }
    "${diff[@]}" --numstat "$@"
    echo
    "${diff[@]}" "$@"
}

@test "files, folders and the list are what git has" {
    serve git:r
    # compare names in URIs, because JSON cannot hold their bytes
    list() {
        local cursor=
        while ask resources/list "$cursor"; do
            jq -r '.result.resources[].uri | ltrimstr("git://r/") | ltrimstr("HEAD/")' <<<"$reply"
            cursor=$(jq -r '.result.nextCursor // empty | "\"cursor\":\"\(.)\""' <<<"$reply")
            [ "$cursor" ] || break
        done
    }
    list | tail -n +6 | while IFS= read -r uri; do printf "${uri//%/\\x}\\0"; done >got
    git -C r ls-tree -r -t -z --name-only HEAD >want
    same list
    for commit in $(git -C r rev-list --all | some 2); do
        while IFS= read -r -d '' line; do
            read -r mode type id <<<"${line%%$'\t'*}"
            uri=git://r/$commit/$(encoded "${line#*$'\t'}")
            case $type in
            blob) get "$uri" && cmp text <(git -C r cat-file blob "$id") || { echo "SEED=$SEED $uri"; return 1; } ;;
            commit) get "$uri" && [ "$(jq -r .commit text)" = "$id" ] ;;
            tree)
                pages "$uri?limit=3" '.entries[] | "\(.mode) \(.id)"' >got
                git -C r ls-tree "$id" | awk '{ print $1, $3 }' >want
                same "$uri"
                ;;
            esac
        done < <(git -C r ls-tree -r -t -z "$commit")
    done
    finish
}

@test "logs have git's commits in git's order, each once, whatever the size of the pages" {
    serve git:r
    for limit in 3 1000; do
        pages "git://r/-/log/main?limit=$limit" '.commits[].id' >got
        git -C r log --format=%H main >want
        same "log of main, pages of $limit"
    done
    git -C r log --format= --name-only -z --no-renames main | tr '\n' '\1' | tr '\0' '\n' | sort -u | grep . >paths
    printf '%s\n' src one moved none >>paths
    while IFS= read -r path; do
        path=$(tr '\1' '\n' <<<"$path")
        pages "git://r/-/log/main/$(encoded "$path")?limit=$((RANDOM % 9 + 1))" \
            '.commits[].id' >got
        git -C r --literal-pathspecs log --format=%H main -- "$path" >want
        same "log of $path"
        pages "git://r/-/log/main/$(encoded "$path")?files=1000" '.commits[] | .id, .files[]' >got
        for commit in $(<want); do
            echo "$commit"
            changed "$commit" --name-only -- "$path"
        done >named
        mv named want
        same "files in the log of $path"
    done <paths
    finish
}

@test "logs of an author, of a text and of a time have the commits that git finds" {
    serve git:r
    git -C r log --format=%ct main >times.txt
    at() { date -u -d "@$1" +%FT%TZ; }
    for i in {1..30}; do
        query= options=() path=
        ((RANDOM % 2)) || { author=$(printf '%s\n' bee 'A <' '1@EXAMPLE' Ånn none | shuf -n 1); query+="&author=$(jq -rn --arg a "$author" '$a | @uri')" options+=(--author="$author"); }
        ((RANDOM % 2)) || { text=$(printf '%s\n' C1 'of é' 9 | shuf -n 1); query+="&text=$(jq -rn --arg a "$text" '$a | @uri')" options+=(--grep="$text"); }
        ((RANDOM % 3)) || { time=$(at "$(shuf -n 1 times.txt)"); query+="&since=$time" options+=(--since="$time"); }
        ((RANDOM % 3)) || { time=$(at "$(shuf -n 1 times.txt)"); query+="&until=$time" options+=(--until="$time"); }
        ((RANDOM % 3)) || path=src
        pages "git://r/-/log/main${path:+/$path}?limit=$((RANDOM % 9 + 1))$query" '.commits[].id' >got
        git -C r log -i -F --format=%H "${options[@]}" main ${path:+-- "$path"} >want
        same "log of $path with $query"
    done
    finish
}

@test "commits, and the differences between any two, equal git's byte for byte" {
    serve git:r
    for commit in $(git -C r rev-list --all | some 12); do
        get "git://r/-/commit/$commit"
        jq -r '.id, .author.name, .author.email, .author.time, .committer.time, ([.parents[].id] | join(" ")), .message' text >got
        git -C r show -s --format='%H%n%an%n%ae%n%aI%n%cI%n%P%n%B' "$commit" >want
        same "commit $commit"
        jq -r '.files[] | "\(.added // "-")\t\(.removed // "-")\t\(.path)"' text >got
        changed "$commit" --numstat >want
        same "files of $commit"
    done
    while read -r from to; do
        get "git://r/-/diff/$from/$to?path="
        mv text got
        differs "$from" "$to" >want
        same "diff $from $to"
    done < <(git -C r rev-list --all | some 50 | paste - -)
    finish
}

@test "ranges, and commits before others, are those that git names" {
    serve git:r
    while read -r from to; do
        for dots in .. ...; do
            pages "git://r/-/log/$from$dots$to?limit=$((RANDOM % 9 + 1))" '.commits[].id' >got
            # computed from reachable commits, because git's own ranges are wrong where clocks went
            # backwards
            git -C r rev-list "$from" | sort >has
            [ $dots = .. ] || git -C r rev-list "$to" | sort | comm -12 - has >both
            [ $dots = .. ] || mv both has
            [ $dots = .. ] && sides=("$to") || sides=("$from" "$to")
            git -C r log --format=%H "${sides[@]}" | grep -vxFf has >want || true
            same "log $from$dots$to"
            bases=$(git -C r merge-base --all "$from" "$to" | wc -l)
            [ $dots = .. ] || [ "$bases" = 1 ] || continue
            get "git://r/-/diff/$from$dots$to?path="
            mv text got
            differs "$from$dots$to" >want
            same "diff $from$dots$to"
        done
    done < <(git -C r rev-list --all | some 24 | paste - -)
    for steps in '~' '^' '~1' '^0' '~3' '^2' '~2^2' '^2~1' '^^' '~~' '~0' '^^2' '~5^1~2' '^3'; do
        for name in main HEAD "$(git -C r rev-list --merges main | some 1)"; do
            ask resources/read "\"uri\":\"git://r/-/commit/$name${steps//^/%5E}\""
            jq -r '.result.contents[0].text // "{}" | fromjson | .id // "none"' <<<"$reply" >got
            git -C r rev-parse -q --verify "$name$steps^{commit}" >want || echo none >want
            same "$name$steps"
        done
    done
    finish
}

@test "blame has git's commit, author, subject and text of each line" {
    serve git:r
    while IFS= read -r -d '' line; do
        read -r mode type id <<<"${line%%$'\t'*}"
        [ "$type" = blob ] || continue
        path=${line#*$'\t'}
        pages "git://r/-/blame/main/$(encoded "$path")?lines=$((RANDOM % 40 + 1))" \
            '.ranges[] | range(0; .lines) as $i | "\(.commit) \((.lineThere // .line) + $i) \(.line + $i)"' >got
        git -C r blame --no-follow --porcelain main -- "$path" | grep -aE '^[0-9a-f]{40} ' | cut -d' ' -f1-3 >want
        same "blame of $path"
        # a NUL ends a line of awk; in JSON it is an escape
        pages "git://r/-/blame/main/$(encoded "$path")?lines=$((RANDOM % 40 + 1))" \
            '.ranges[] | . as $r | .text[] | "\($r.author.name)\t\($r.subject)\t\(gsub("\u0000"; "␀"))"' >got
        git -C r blame --no-follow --line-porcelain main -- "$path" | tr '\0' '\1' |
            awk '/^author / { a = substr($0, 8) } /^summary / { s = substr($0, 9) } /^\t/ { print a "\t" s $0 }' |
            sed 's/\x01/␀/g; s/\r$//' >want
        same "lines of $path"
    done < <(git -C r ls-tree -r -z main)
    finish
}

@test "references: every name, its target and its URI, loose and packed" {
    mapfile -t ids < <(git -C r rev-list main | some 3)
    git -C r tag -a -m x annotated "${ids[0]}"
    git -C r -c advice.nestedTag=false tag -a -m x twice annotated
    git -C r tag tree "${ids[0]}^{tree}"
    git -C r tag blob "$(printf x | git -C r hash-object -w --stdin)"
    git -C r branch annotated "${ids[1]}"
    for name in heads/-dash "heads/${ids[2]}" heads/é 'heads/a#b%c' 'heads/x{y}' remotes/o/main; do
        git -C r update-ref "refs/$name" "${ids[1]}"
    done
    git -C r symbolic-ref refs/remotes/o/HEAD refs/remotes/o/main
    serve git:r
    check() {
        local kind=$1 uri
        shift
        pages "git://r/-/$kind?limit=3" ".${kind}[] | \"\(.name) \(.id)\"" >got
        git -C r for-each-ref --format='%(refname:lstrip=2) %(objectname)' "$@" >want
        same "$kind"
        [ "$how" = packed ] || return 0
        pages "git://r/-/$kind" ".${kind}[] | \"\(.id) \(.uri)\"" >listed
        while read -r id uri; do
            get "$uri"
            [[ "$(<text)" != '{'* ]] || jq -r .id text
        done <listed >got
        cut -d' ' -f1 listed | sed 's/$/^{tree}/' | git -C r cat-file --batch-check='%(objectname)' | grep -v missing >want
        same "what $kind are"
    }
    for how in loose packed; do
        check branches refs/heads refs/remotes
        check tags refs/tags
        git -C r pack-refs --all
    done
    # every completed value can be read
    local template='{rev}/{+path}{?offset,length,format}'
    ask completion/complete "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"git://r/$template\"},\"argument\":{\"name\":\"rev\",\"value\":\"\"}"
    jq -r '.result.completion.values[] | @uri' <<<"$reply" >values
    [ "$(wc -l <values)" -gt 15 ]
    while IFS= read -r value; do get "git://r/$value/"; done <values
    ask completion/complete "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"git://r/$template\"},\"argument\":{\"name\":\"path\",\"value\":\"\"}"
    # expands {+path}: reserved characters and percent-encodings are kept
    jq -r '.result.completion.values[] | @uri |
        gsub("%2F"; "/") | gsub("%23"; "#") | gsub("%3F"; "?") | gsub("%5B"; "[") | gsub("%5D"; "]") |
        gsub("%25(?<x>[0-9A-F]{2})"; "%\(.x)")' <<<"$reply" >values
    [ "$(wc -l <values)" = "$(git -C r ls-tree -z HEAD | tr -cd '\0' | wc -c)" ]
    while IFS= read -r value; do get "git://r/HEAD/$value"; done <values
    finish
}

@test "objects that move while they are served: packed, repacked, in a multi-pack index, and new ones" {
    serve git:r
    look() {
        for commit in $(git -C r rev-list --all | some 2); do
            get "git://r/$commit/" && [ "$(jq -r .id text)" = "$(git -C r rev-parse "$commit^{tree}")" ]
        done
        pages 'git://r/-/log/main?limit=50' '.commits[].id' >got
        git -C r log --format=%H main >want
        same 'log of main'
    }
    look
    git -C r unpack-objects -q < <(cat r/.git/objects/pack/*.pack)
    for command in 'repack -d -q' 'commit --allow-empty -q -m more' 'repack -q' 'multi-pack-index write' \
        'commit-graph write --reachable' 'repack -a -d -q -b' 'gc -q --prune=now'; do
        git -C r $command
        look || { echo "after $command"; return 1; }
    done
    finish
}
