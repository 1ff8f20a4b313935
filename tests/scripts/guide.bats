# docs/guide.md: its C fragments equal the examples, and its links are valid.

setup() {
    root=$BATS_TEST_DIRNAME/../..
    guide=$root/docs/guide.md
    cd "$BATS_TEST_TMPDIR"
}

# extract FILE: writes each block of C to a file N.c, and the name of its example, from the
# preceding comment, to N.of
extract() {
    awk '/^<!-- .* -->$/ { of = $2; next }
         /^```c$/ { n++; inside = 1; printf "%s", of > (n ".of"); of = ""; next }
         /^```/ { inside = 0; next }
         inside { print > (n ".c"); next }
         { of = "" }' "$1"
}

# stands PIECE FILE: succeeds if FILE contains the lines of PIECE consecutively
stands() {
    local piece file
    piece=$'\n'$(<"$1")$'\n'
    file=$'\n'$(<"$2")$'\n'
    [[ $file == *"$piece"* ]]
}

@test "the examples contain the C fragments, line by line" {
    local n of
    extract "$guide"
    [ -f 20.c ]
    for ((n = 1; ; n++)); do
        [ -f $n.of ] || break
        of=$(<$n.of)
        stands $n.c "$root/examples/$of" || { echo "not in examples/$of:"; cat $n.c; return 1; }
    done
}

@test "a changed fragment is detected" {
    extract "$guide"
    sed 's/MCP_OK/MCP_PENDING/' 2.c 3.c 4.c >changed.c
    ! stands changed.c "$root/examples/tool.c" || false
    sed '1s/$/ /' 2.c >changed.c
    ! stands changed.c "$root/examples/tool.c" || false
    sed '2d' 2.c >changed.c
    ! stands changed.c "$root/examples/tool.c" || false
    stands 2.c "$root/examples/tool.c"
}

@test "every example is mentioned, and every link is valid" {
    local link file
    for file in "$root"/examples/*.c; do
        grep -q "(../examples/${file##*/})" "$guide" || { echo "nothing of ${file##*/}"; return 1; }
    done
    grep -o '](\(\.\./\)\?[a-z][^)#]*)' "$guide" | tr -d '()]' | while read -r link; do
        [ -e "$root/docs/$link" ] || { echo "no $link"; return 1; }
    done
}
