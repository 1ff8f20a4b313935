/* Reading the folder of prompts: which files count, in what order, and what is reused from the
 * previous reading. */
#define _GNU_SOURCE
#include "../files/tree.h"

#include "../../support/failalloc.h"
#include "../../support/nofiles.h"
#include "folder.h"

static prompts_folder *read_folder(const tree *t, prompts_folder *before)
{
    prompts_folder *f = NULL;
    int why;
    assert_int_equal(prompts_folder_read(t->path, before, NULL, &f, &why), MCP_OK);
    prompts_folder_adopt(f);
    prompts_folder_free(before);
    return f;
}

/* Compares the files: "file" is valid, "file!" is invalid, "(file)" is invalid now and was valid
 * before. */
static void expect(const prompts_folder *f, const char *files)
{
    char shown[1024] = "";
    for (size_t i = 0; i < f->count; i++) {
        const prompts_entry *e = &f->entries[i];
        const char *form = !e->invalid ? "%s " : e->doc ? "(%s) " : "%s! ";
        snprintf(shown + strlen(shown), sizeof(shown) - strlen(shown), form, e->file);
    }
    assert_string_equal(shown, files);
}

static void only_prompt_files_count(void **state)
{
    tree t;
    (void)state;
    tree_make(&t);
    tree_file(&t, "b.md", "x");
    tree_file(&t, "a.md", "x");
    tree_file(&t, "Z.md", "x");
    tree_file(&t, ".hidden.md", "x");
    tree_file(&t, ".md", "x");
    tree_file(&t, "notes.txt", "x");
    tree_file(&t, "a.md~", "x");
    tree_file(&t, "sub/c.md", "x");
    tree_dir(&t, "folder.md");
    assert_int_equal(mkfifo(tree_at(&t, "fifo.md"), 0600), 0);
    prompts_folder *f = read_folder(&t, NULL);
    expect(f, "Z.md a.md b.md fifo.md! ");
    prompts_folder_free(f);
    tree_remove(&t);
}

static void links_stay_within(void **state)
{
    tree t, other;
    (void)state;
    tree_make(&t);
    tree_make(&other);
    tree_file(&other, "secret.md", "x");
    tree_file(&t, "real.md", "x");
    tree_file(&t, "sub/deep", "x");
    tree_file(&t, ".hidden", "x");
    tree_link(&t, "in.md", "real.md");
    tree_file(&t, "..v1/key.md", "x"); /* a volume of Kubernetes */
    tree_link(&t, "..data", "..v1");
    tree_link(&t, "key.md", "..data/key.md");
    tree_link(&t, "loop.md", "loop.md");
    tree_link(&t, "absolute.md", tree_at(&t, "real.md"));
    tree_link(&t, "deep.md", "sub/deep");
    tree_link(&t, "to-hidden.md", ".hidden");
    tree_link(&t, "out.md", tree_at(&other, "secret.md"));
    tree_link(&t, "up.md", "../../etc/passwd");
    tree_link(&t, "dangling.md", "nothing");
    prompts_folder *f = read_folder(&t, NULL);
    expect(f, "absolute.md dangling.md! deep.md in.md key.md loop.md! out.md! real.md "
              "to-hidden.md! up.md! ");
    prompts_folder_free(f);
    tree_remove(&t);
    tree_remove(&other);
}

static void what_is_wrong_keeps_what_it_was(void **state)
{
    tree t;
    (void)state;
    tree_make(&t);
    tree_file(&t, "a.md", "right");
    tree_file(&t, "b.md", "{{x}}");
    prompts_folder *f = read_folder(&t, NULL);
    expect(f, "a.md b.md! ");
    assert_true(f->entries[1].is_new);
    f = read_folder(&t, f);
    assert_false(f->entries[1].is_new); /* the error was reported before */
    tree_file(&t, "a.md", "{{wrong}}");
    f = read_folder(&t, f);
    expect(f, "(a.md) b.md! ");
    assert_true(f->entries[0].is_new);
    assert_int_equal(f->entries[0].fault.line, 1);
    assert_true(mcp_str_eq(f->entries[0].doc->pieces[0].text, MCP_STR("right")));
    tree_file(&t, "a.md", "{{other}}");
    f = read_folder(&t, f);
    assert_true(f->entries[0].is_new); /* a different error */
    tree_file(&t, "a.md", "right again");
    assert_int_equal(unlink(tree_at(&t, "b.md")), 0);
    f = read_folder(&t, f);
    expect(f, "a.md ");
    assert_true(mcp_str_eq(f->entries[0].doc->pieces[0].text, MCP_STR("right again")));
    prompts_folder_free(f);
    tree_remove(&t);
}

/* A file that has not changed for a while is not read again; a recently written one is. */
static void settled_files_are_kept(void **state)
{
    tree t;
    (void)state;
    tree_make(&t);
    tree_file(&t, "a.md", "one");
    prompts_folder *f = read_folder(&t, NULL);
    const prompts_document *first = f->entries[0].doc;
    f = read_folder(&t, f);
    assert_ptr_not_equal(f->entries[0].doc, first);
    usleep(120 * 1000);
    f = read_folder(&t, f); /* files are considered unchanged from now on */
    first = f->entries[0].doc;
    f = read_folder(&t, f);
    assert_ptr_equal(f->entries[0].doc, first);
    tree_file(&t, "a.md", "two");
    f = read_folder(&t, f);
    assert_true(mcp_str_eq(f->entries[0].doc->pieces[0].text, MCP_STR("two")));
    prompts_folder_free(f);
    tree_remove(&t);
}

static void the_first_thousand(void **state)
{
    tree t;
    char name[32];
    (void)state;
    tree_make(&t);
    for (unsigned i = 0; i < PROMPTS_MAX_FILES + 5; i++) {
        snprintf(name, sizeof(name), "p%04u.md", (i * 7919u) % (PROMPTS_MAX_FILES + 5));
        tree_file(&t, name, "x");
    }
    prompts_folder *f = read_folder(&t, NULL);
    assert_int_equal(f->count, PROMPTS_MAX_FILES);
    assert_true(f->truncated);
    assert_string_equal(f->entries[0].file, "p0000.md");
    assert_string_equal(f->entries[PROMPTS_MAX_FILES - 1].file, "p0999.md");
    prompts_folder_free(f);
    tree_remove(&t);
}

static void no_folder(void **state)
{
    tree t;
    prompts_folder *f = NULL;
    int why = 0;
    (void)state;
    tree_make(&t);
    tree_file(&t, "file", "x");
    assert_int_equal(prompts_folder_read(tree_at(&t, "none"), NULL, NULL, &f, &why), MCP_ENOTFOUND);
    assert_int_equal(why, ENOENT);
    assert_int_equal(prompts_folder_read(tree_at(&t, "file"), NULL, NULL, &f, &why), MCP_ENOTFOUND);
    assert_int_equal(why, ENOTDIR);
    tree_remove(&t);
}

static void without_memory(void **state)
{
    tree t;
    (void)state;
    tree_make(&t);
    tree_file(&t, "a.md", "x");
    tree_file(&t, "b.md", "{{x}}");
    prompts_folder *before = read_folder(&t, NULL);
    for (size_t n = 1;; n++) {
        failalloc a = {.fail_at = n};
        mcp_allocator alloc = failalloc_allocator(&a);
        prompts_folder *f = NULL;
        int why;
        int rc = prompts_folder_read(t.path, before, &alloc, &f, &why);
        assert_int_equal(rc, a.calls < n ? MCP_OK : MCP_ENOMEM);
        prompts_folder_free(f);
        assert_int_equal(a.live, 0);
        if (a.calls < n)
            break;
    }
    prompts_folder_free(before);
    tree_remove(&t);
}

/* The files exist and are valid, but cannot be opened. */
static void without_descriptors(void **state)
{
    tree t;
    int why;
    prompts_folder *none = NULL;
    (void)state;
    tree_make(&t);
    tree_file(&t, "a.md", "right");
    tree_file(&t, "b.md", "right");
    prompts_folder *f = read_folder(&t, NULL);
    for (int left = 0; left < 2; left++) {
        nofiles_begin(left);
        int rc = prompts_folder_read(t.path, f, NULL, &none, &why);
        nofiles_end();
        assert_int_equal(rc, MCP_EFILES);
        assert_null(none);
    }
    f = read_folder(&t, f);
    expect(f, "a.md b.md ");
    prompts_folder_free(f);
    tree_remove(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_prompt_files_count),
        cmocka_unit_test(links_stay_within),
        cmocka_unit_test(what_is_wrong_keeps_what_it_was),
        cmocka_unit_test(settled_files_are_kept),
        cmocka_unit_test(the_first_thousand),
        cmocka_unit_test(no_folder),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(without_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
