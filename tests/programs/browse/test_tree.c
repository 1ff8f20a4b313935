/* The tree of a list's paths, which is made while the list is read. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tree.h"

static const pages_kind resources = {"resources/list", "resources", "uri", false};

static bool never(void *user)
{
    (void)user;
    return false;
}

/* Reads a page with these URIs, separated by spaces. One that ends with "/" is a folder. */
static void take(pages *p, const char *uris, bool more)
{
    char *text = NULL;
    size_t len;
    mcp_json_doc *doc = NULL;
    FILE *f = open_memstream(&text, &len);
    fputs("{\"resources\":[", f);
    for (const char *before = ""; *uris; before = ",") {
        size_t n = strcspn(uris, " ");
        bool is_folder = uris[n - 1] == '/';
        fprintf(f, "%s{\"uri\":\"%.*s\"%s}", before, (int)(n - is_folder), uris,
                is_folder ? ",\"mimeType\":\"inode/directory\"" : "");
        uris += n + (uris[n] == ' ');
    }
    fprintf(f, more ? "],\"nextCursor\":\"%zu\"}" : "]}", p->count);
    fclose(f);
    assert_int_equal(mcp_json_parse(mcp_str_from(text), NULL, NULL, &doc, NULL), MCP_OK);
    assert_true(pages_take(p, pages_wanted(p, 0, SIZE_MAX), mcp_json_root(doc)));
    mcp_json_free(doc);
    free(text);
}

static void check(tree *t, pages *p, const char *want)
{
    char *text = NULL;
    size_t len;
    tree_row r;
    item i;
    FILE *f = open_memstream(&text, &len);
    for (size_t row = 0; tree_row_at(t, row, &r); row++) {
        mcp_str name = {0};
        if (r.entry == TREE_NONE) {
            assert_int_equal(tree_row_of(t, r.node), row);
            name = tree_name(t, r.node);
        } else {
            assert_true(pages_item(p, r.entry, &i));
            name = tree_leaf(i.key);
        }
        fprintf(f, "%*s%.*s%s\n", (int)r.depth - 1, "", (int)name.len, name.ptr,
                r.entry != TREE_NONE       ? ""
                : t->nodes[r.node].is_open ? "/"
                                           : "/...");
    }
    fclose(f);
    assert_string_equal(text, want);
    free(text);
}

/* Opens or closes the folder in a row. */
static void toggle(tree *t, size_t row)
{
    tree_row r;
    assert_true(tree_row_at(t, row, &r));
    assert_true(r.entry == TREE_NONE);
    tree_toggle(t, r.node);
}

static void grows_with_the_list(void **state)
{
    (void)state;
    pages p;
    tree t = {.is_on = true};
    pages_init(&p, &resources);
    take(&p, "mem:a/x mem:a/b/ mem:a/b/y mem:a/b/z", true);
    tree_step(&t, &p, never, NULL);
    check(&t, &p, "mem:/\n a/\n  x\n  b/...\n");
    toggle(&t, 3);
    check(&t, &p, "mem:/\n a/\n  x\n  b/\n   y\n   z\n");
    toggle(&t, 1);
    check(&t, &p, "mem:/\n a/...\n");
    take(&p, "mem:a/b/zz mem:a/c mem:d/e/f mem:g", false);
    tree_step(&t, &p, never, NULL);
    check(&t, &p, "mem:/\n a/...\n d/...\n g\n");
    toggle(&t, 1);
    check(&t, &p, "mem:/\n a/\n  x\n  b/\n   y\n   z\n   zz\n  c\n d/...\n g\n");
    toggle(&t, 3);
    toggle(&t, 5);
    check(&t, &p, "mem:/\n a/\n  x\n  b/...\n  c\n d/\n  e/...\n g\n");
    toggle(&t, 0);
    check(&t, &p, "mem:/...\n");
    toggle(&t, 0);
    check(&t, &p, "mem:/\n a/\n  x\n  b/...\n  c\n d/\n  e/...\n g\n");
    assert_int_equal(tree_rows(&t), 8);
    pages_reset(&p); /* the list has changed */
    take(&p, "mem:new", false);
    tree_step(&t, &p, never, NULL);
    check(&t, &p, "mem:/\n new\n");
    tree_clear(&t);
    pages_reset(&p);
}

static void any_order_and_any_uri(void **state)
{
    (void)state;
    pages p;
    tree t = {.is_on = true};
    pages_init(&p, &resources);
    take(&p, "file:///a/x mem:y file:///a/z plain https://h/p/q a//b /c", false);
    tree_step(&t, &p, never, NULL);
    check(&t, &p,
          "file:///\n a/\n  x\nmem:/\n y\nfile:///\n a/...\nplain\nhttps://h/\n p/...\na/\n b\n"
          "c\n");
    tree_clear(&t);
    pages_reset(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_with_the_list),
        cmocka_unit_test(any_order_and_any_uri),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
