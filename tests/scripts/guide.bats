# docs/guide.md: its pieces of C are those of the examples, its links lead somewhere.

setup() {
    root=$BATS_TEST_DIRNAME/../..
    guide=$root/docs/guide.md
    cd "$BATS_TEST_TMPDIR"
}

# extract FILE: each block of C as a file N.c, and the example that it is of, which a comment in front of it names, as N.of
extract() {
    awk '/^<!-- .* -->$/ { of = $2; next }
         /^```c$/ { n++; inside = 1; printf "%s", of > (n ".of"); of = ""; next }
         /^```/ { inside = 0; next }
         inside { print > (n ".c"); next }
         { of = "" }' "$1"
}

# stands PIECE FILE: whether its lines stand there, one after the other, just so
stands() {
    local piece file
    piece=$'\n'$(<"$1")$'\n'
    file=$'\n'$(<"$2")$'\n'
    [[ $file == *"$piece"* ]]
}

@test "the pieces of C stand in the examples, line by line" {
    local n of
    extract "$guide"
    [ -f 20.c ]
    for ((n = 1; ; n++)); do
        [ -f $n.of ] || break
        of=$(<$n.of)
        stands $n.c "$root/examples/$of" || { echo "not in examples/$of:"; cat $n.c; return 1; }
    done
}

@test "one that was changed is found" {
    extract "$guide"
    sed 's/MCP_OK/MCP_PENDING/' 2.c 3.c 4.c >changed.c
    ! stands changed.c "$root/examples/tool.c"
    sed '1s/$/ /' 2.c >changed.c
    ! stands changed.c "$root/examples/tool.c"
    sed '2d' 2.c >changed.c
    ! stands changed.c "$root/examples/tool.c"
    stands 2.c "$root/examples/tool.c"
}

@test "every example is spoken of, and what is linked is there" {
    local link file
    for file in "$root"/examples/*.c; do
        grep -q "(../examples/${file##*/})" "$guide" || { echo "nothing of ${file##*/}"; return 1; }
    done
    grep -o '](\(\.\./\)\?[a-z][^)#]*)' "$guide" | tr -d '()]' | while read -r link; do
        [ -e "$root/docs/$link" ] || { echo "no $link"; return 1; }
    done
}
