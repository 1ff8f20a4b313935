# packaging/api-pages: the pages of the documentation site and of section 3 have each function of the public headers with
# its comment, and a function without a comment is found.

setup() {
    cd "$BATS_TEST_DIRNAME/../.." || return
    mkdir -p "$BATS_TEST_TMPDIR/include"
}

# Prints the functions that the libraries export, as tests/api/exports.sh finds them.
exported() {
    grep -rhoE '^MCP_API [^(;]*[ *]mcp_[a-z0-9_]*\(' include/mcp | sed -E 's/.*[ *](mcp_[a-z0-9_]*)\($/\1/' | sort
}

@test "each function of the public headers has a comment" {
    run packaging/api-pages check
    echo "$output"
    [ "$status" -eq 0 ]
}
@test "each exported function is on a page for the site, with its contract" {
    packaging/api-pages markdown "$BATS_TEST_TMPDIR/pages"
    [ "$(exported | wc -l)" -gt 300 ]
    diff <(exported) <(comm -12 <(exported) <(sed -n 's/^### //p' "$BATS_TEST_TMPDIR"/pages/*.md | grep -oE '`mcp_[a-z0-9_]*\(\)`' | tr -d '`()' | sort))
    grep -A10 '^### `mcp_uri_parse()`' "$BATS_TEST_TMPDIR/pages/uri.md" >"$BATS_TEST_TMPDIR/parse"
    grep -qF 'int mcp_uri_parse(mcp_str text, mcp_uri *ret, mcp_error *error);' "$BATS_TEST_TMPDIR/parse"
    grep -q '^Splits a URI .*Returns \[`MCP_OK`\](base.md#MCP_OK)' "$BATS_TEST_TMPDIR/parse"
}
@test "each exported function has a manual page or is a link to one" {
    packaging/api-pages man "$BATS_TEST_TMPDIR/man"
    missing=
    for name in $(exported); do
        page=$(sed -n '1s|^\.so man3/||p' "$BATS_TEST_TMPDIR/man/$name.3")
        sed -n '/^\.SH NAME/,/^\.SH SYN/p' "$BATS_TEST_TMPDIR/man/${page:-$name.3}" | grep -qw "$name" || missing+="$name"$'\n'
    done
    echo "$missing"
    [ -z "$missing" ]
}
@test "a function without a comment is named" {
    cat >"$BATS_TEST_TMPDIR/include/bad.h" <<'END'
/* mcp/bad.h: a header. */

/* Both share a comment. */
MCP_API int mcp_first(void);
MCP_API int mcp_second(int (*callback)(int value),
                       int more);

MCP_API void mcp_third(void);
/* A type is not a function. */
typedef struct mcp_type {
    int member; /* of it */
} mcp_type;

static inline int mcp_fourth(void)
{
    return 0;
}
END
    MCP_HEADERS=$BATS_TEST_TMPDIR/include run packaging/api-pages check
    [ "$status" -eq 1 ]
    [ "$output" = "include/mcp/bad.h: mcp_third() has no comment
include/mcp/bad.h: mcp_fourth() has no comment" ]
}
