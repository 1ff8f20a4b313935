/* test_guarded.c: each row of the table in many spellings, what is not guarded, and that docs/writing.md has the table.
 * `test_editing_guarded --table` prints the table for that page. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "dice.h"
#include "guarded.h"
#include "providers/files/tree.h"
#include "rounds.h"

static editing_guard look(const char *path)
{
    return editing_guarded_look((mcp_str){path, strlen(path)}, NULL);
}

/* ---- spellings of one ASCII text ---- */

typedef struct text {
    char bytes[4096];
    size_t len;
} text;

static void add(text *t, const char *bytes)
{
    size_t len = strlen(bytes);
    assert_true(t->len + len < sizeof(t->bytes));
    memcpy(t->bytes + t->len, bytes, len + 1);
    t->len += len;
}

static void add_code(text *t, unsigned c)
{
    char bytes[5] = {0};
    if (c < 0x80)
        bytes[0] = (char)c;
    else if (c < 0x800) {
        bytes[0] = (char)(0xc0 | c >> 6);
        bytes[1] = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        bytes[0] = (char)(0xe0 | c >> 12);
        bytes[1] = (char)(0x80 | (c >> 6 & 0x3f));
        bytes[2] = (char)(0x80 | (c & 0x3f));
    } else {
        bytes[0] = (char)(0xf0 | c >> 18);
        bytes[1] = (char)(0x80 | (c >> 12 & 0x3f));
        bytes[2] = (char)(0x80 | (c >> 6 & 0x3f));
        bytes[3] = (char)(0x80 | (c & 0x3f));
    }
    add(t, bytes);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static unsigned plain(char c)
{
    return (unsigned char)c;
}
static unsigned upper(char c)
{
    return is_letter(c) ? plain(c) & ~0x20u : plain(c);
}
static unsigned lower(char c)
{
    return is_letter(c) ? plain(c) | 0x20u : plain(c);
}
static unsigned wide(char c)
{
    return c > ' ' && c < 0x7f ? plain(c) - 0x21 + 0xff01 : plain(c);
}
static unsigned bold(char c)
{
    return is_letter(c) ? 0x1d400 + (plain(c) | 0x20u) - 'a' : plain(c);
}
static unsigned circled(char c)
{
    return is_letter(c) ? 0x24d0 + (plain(c) | 0x20u) - 'a' : plain(c);
}
static unsigned odd(char c)
{
    return lower(c) == 'k'   ? 0x212a
           : lower(c) == 's' ? 0x17f
                             : plain(c); /* the sign of Kelvin, a long s */
}

static unsigned (*const letters[])(char) = {plain, upper, lower, wide, bold, circled, odd};

static const unsigned invisible[] = {0x200b, 0x200c,  0x200d,  0x2060, 0xfeff, 0xad,   0x34f,
                                     0x180e, 0x200e,  0x202e,  0x2066, 0x206a, 0xfe0f, 0x115f,
                                     0x3164, 0xe0041, 0x1d173, 0x2800, 0x7f,   0x1};

static const char *const ends[] = {
    "", ".", " ", "...", " . .", ":stream", "::$INDEX_ALLOCATION", "\xe3\x80\x80", "\xe2\x80\xa8"};

enum {
    LETTERS = sizeof(letters) / sizeof(letters[0]),
    INVISIBLE = sizeof(invisible) / sizeof(invisible[0]),
    ENDS = sizeof(ends) / sizeof(ends[0])
};

/* A path of the row: its wildcards stand for `any`. A dot at the end would be no part of the name. */
static void path_of(const editing_guarded *row, const char *any, text *ret)
{
    ret->len = 0;
    ret->bytes[0] = '\0';
    for (const char *c = row->pattern; *c; c++) {
        if (*c == '*')
            add(ret, any);
        else
            add_code(ret, plain(*c));
    }
    if (ret->bytes[ret->len - 1] == '.')
        add(ret, "x");
}

static void assert_guarded(const editing_guarded *row, const char *path)
{
    editing_guard guard = look(path);
    bool right =
        row->never ? guard == EDITING_NEVER : guard == EDITING_LIFTED || guard == EDITING_NEVER;
    if (!right)
        print_error("row %s: %s is %d\n", row->pattern, path, (int)guard);
    assert_true(right);
}

static void try_spelling(const editing_guarded *row, const text *name)
{
    text path = {.len = 0};
    add(&path, "some/folder/");
    add(&path, name->bytes);
    assert_guarded(row, name->bytes);
    assert_guarded(row, path.bytes);
    add(&path, "/in/it");
    if (row->folder)
        assert_guarded(row, path.bytes);
}

static void spell(const text *name, unsigned (*letter)(char), text *ret)
{
    ret->len = 0;
    for (size_t i = 0; i < name->len; i++)
        add_code(ret, letter(name->bytes[i]));
}

/* An invisible character at `at`; the last one is after the end. */
static void insert(const text *name, size_t at, unsigned c, text *ret)
{
    ret->len = 0;
    for (size_t i = 0; i <= name->len; i++) {
        if (i == at)
            add_code(ret, c);
        if (i < name->len)
            add_code(ret, plain(name->bytes[i]));
    }
}

static void test_each_row(void **state)
{
    static const char *const any[] = {"", "x", ".more.txt"};
    const editing_guarded *row;
    size_t tried = 0;
    text name;
    text spelled;
    (void)state;
    for (size_t i = 0; (row = editing_guarded_row(i)); i++)
        for (size_t a = 0; a < (strchr(row->pattern, '*') ? 3 : 1); a++) {
            path_of(row, any[a], &name);
            for (size_t s = 0; s < LETTERS; s++, tried++) {
                spell(&name, letters[s], &spelled);
                try_spelling(row, &spelled);
            }
            for (size_t s = 0; s < ENDS; s++, tried++) {
                spelled = name;
                add(&spelled, ends[s]);
                try_spelling(row, &spelled);
            }
            for (size_t s = dice(4); s < INVISIBLE; s += 4)
                for (size_t at = 0; at <= name.len; at++, tried++) {
                    insert(&name, at, invisible[s], &spelled);
                    try_spelling(row, &spelled);
                }
        }
    print_message("# %zu spellings\n", tried);
}

/* Everything at once, by chance. */
static void test_generated(void **state)
{
    size_t rows = 0;
    (void)state;
    while (editing_guarded_row(rows))
        rows++;
    for (unsigned n = rounds(20000); n > 0; n--) {
        const editing_guarded *row = editing_guarded_row(dice((unsigned)rows));
        text name;
        text spelled = {.len = 0};
        path_of(row, dice(2) ? "x" : "", &name);
        for (size_t i = 0; i < name.len; i++) {
            while (dice(4) == 0)
                add_code(&spelled, invisible[dice(INVISIBLE)]);
            add_code(&spelled, letters[dice(LETTERS)](name.bytes[i]));
        }
        add(&spelled, ends[dice(ENDS)]);
        try_spelling(row, &spelled);
    }
}

/* ---- what is free, and what is no name ---- */

static void test_unguarded(void **state)
{
    static const char *const paths[] = {
        "README.md",
        "src/main.c",
        "Makefile",
        "package.json",
        "pyproject.toml",
        "git",
        "github/x",
        "agit/config",
        "x.git/config",
        "src.git.c",
        "claude/x",
        "docs/claude.markdown",
        "environment.md",
        "env/x",
        "vscode/x",
        "notes/.hidden",
        "a~1.txt",
        "backup~1",
        "file~",
        "~1",
        "GITHUB.md",
        "mcp.jsonl",
        "a/jenkins/x",
        "config/x",
        "local/bin/x",
        "src/systemd.c",
        "packaging/systemd/mcpd.service",
        "test/conftest.py",
        "Cargo.toml",
        "build.gradle",
        "pom.xml",
        "\xc3\xa9t\xc3\xa9.txt",
        "\xe6\x97\xa5\xe6\x9c\xac",
        "src/agents.c",
        "skill.txt",
        "crontab.md",
        "CLAUDE.md/x",
        "Dockerfile",
        ".dockerignore",
        ".editorconfig",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        if (look(paths[i]) != EDITING_FREE)
            print_error("%s is guarded\n", paths[i]);
        assert_int_equal(look(paths[i]), EDITING_FREE);
    }
}

static void test_no_text(void **state)
{
    static const char *const paths[] = {"a\xff", "\xc0\xaegit", "\xed\xa0\x80", "x/\xe2\x80", ""};
    char *large = malloc(5000);
    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        assert_int_equal(look(paths[i]), EDITING_NOT_TEXT);
    assert_int_equal(editing_guarded_look((mcp_str){"a\0b", 3}, NULL), EDITING_NOT_TEXT);
    memset(large, 'a', 5000);
    assert_int_equal(editing_guarded_look((mcp_str){large, 5000}, NULL), EDITING_NOT_TEXT);
    assert_int_equal(editing_guarded_look((mcp_str){large, 4096}, NULL), EDITING_FREE);
    for (size_t i = 1; i < 4096; i += 2)
        large[i] = '/';
    assert_int_equal(editing_guarded_look((mcp_str){large, 4096}, NULL), EDITING_FREE);
    free(large);
}

static void test_short_names(void **state)
{
    static const struct {
        const char *path;
        editing_guard guard;
    } cases[] = {
        {"GIT~1", EDITING_NEVER},
        {"git~1/config", EDITING_NEVER},
        {"GIT~12", EDITING_NEVER},
        {"GI7EBA~1", EDITING_NEVER},
        {"GI7D29~1/x", EDITING_NEVER},
        {"x/HG~1/hgrc", EDITING_NEVER},
        {"CLAUDE~1/x", EDITING_LIFTED},
        {"ENVRC~1", EDITING_LIFTED},
        {"VSCODE~1/tasks.json", EDITING_LIFTED},
        {"MCP~1.JSO", EDITING_LIFTED},
        {"GITHUB~1/x", EDITING_LIFTED},
        {"ssh~1/config", EDITING_LIFTED},
        {"BASHRC~1", EDITING_LIFTED},
        {"GITXYZ~1.LONG", EDITING_FREE},
        {"PROGRA~1", EDITING_FREE},
        {"GIT~", EDITING_FREE},
        {"GIT~x", EDITING_FREE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (look(cases[i].path) != cases[i].guard)
            print_error("%s\n", cases[i].path);
        assert_int_equal(look(cases[i].path), cases[i].guard);
    }
}

/* A file of git within .github is not less guarded than .github itself, and the other way round. */
static void test_strictest(void **state)
{
    (void)state;
    assert_int_equal(look(".github/.git/config"), EDITING_NEVER);
    assert_int_equal(look(".git/.github/x"), EDITING_NEVER);
    assert_int_equal(look("a\\.git\\config"), EDITING_NEVER);
    assert_int_equal(look("\xef\xbc\x8egit\xef\xbc\x8f"
                          "config"),
                     EDITING_NEVER); /* a wide slash */
    assert_int_equal(look(".github/x"), EDITING_LIFTED);
}

static void test_within(void **state)
{
    static const struct {
        const char *path, *folder;
        bool within;
    } cases[] = {
        {"hooks/pre-commit", "hooks", true},
        {"HOOKS/x", "hooks", true},
        {"hooks", "hooks", true},
        {"hooks2/x", "hooks", false},
        {"a/hooks/x", "hooks", false},
        {"a/hooks/x", "a/hooks/", true},
        {"ha\xcc\x88kel/x", "h\xc3\xa4kel", true},
        {"ha\xe2\x80\x8b\xcc\x88kel/x", "h\xc3\xa4kel", true},
        {"ha\xd8\x80\xcc\x88kel/x", "h\xc3\xa4kel",
         true}, /* U+0600 is a format that is not to be ignored */
        {"hakel/x", "h\xc3\xa4kel", false},
        {"\xff/x", "hooks", true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mcp_str path = {cases[i].path, strlen(cases[i].path)};
        mcp_str folder = {cases[i].folder, strlen(cases[i].folder)};
        assert_int_equal(editing_guarded_within(path, folder), cases[i].within);
    }
}

static void test_bare(void **state)
{
    tree t;
    (void)state;
    tree_make(&t);
    tree_file(&t, "repo/HEAD", "ref: refs/heads/main\n");
    tree_dir(&t, "repo/objects");
    int fd = open(tree_at(&t, "repo"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_false(editing_guarded_bare(fd));
    tree_dir(&t, "repo/refs");
    assert_true(editing_guarded_bare(fd));
    close(fd);
    assert_true(editing_guarded_bare(fd)); /* what cannot be looked at */
    tree_remove(&t);
}

static void test_says(void **state)
{
    const editing_guarded *row = NULL;
    mcp_error err;
    (void)state;
    editing_guard guard = editing_guarded_look((mcp_str){"a/.ENVRC", 8}, &row);
    editing_guarded_say(guard, row, &err);
    assert_int_equal(err.code, MCP_EACCESS);
    assert_string_equal(err.text, ".envrc* is obeyed by direnv; only an access rule with the exact "
                                  "path of this file allows it");
    guard = editing_guarded_look((mcp_str){".git/x", 6}, &row);
    editing_guarded_say(guard, row, &err);
    assert_non_null(strstr(err.text, "never written"));
    guard = editing_guarded_look((mcp_str){"\xff", 1}, &row);
    assert_null(row);
    editing_guarded_say(guard, row, &err);
    assert_non_null(strstr(err.text, "UTF-8"));
    for (size_t i = 0; (row = editing_guarded_row(i)); i++) {
        editing_guarded_say(row->never ? EDITING_NEVER : EDITING_LIFTED, row, &err);
        assert_true(strlen(err.text) < sizeof(err.text) - 1);
    }
}

/* ---- the page ---- */

/* One line of the page: the rows of one program. Returns the index of the next one. */
static size_t line_of(size_t i, char *line, size_t cap)
{
    const editing_guarded *first = editing_guarded_row(i);
    const editing_guarded *row = first;
    int len = snprintf(line, cap, "| %s%s |", first->program, first->never ? ", never" : "");
    for (; row && strcmp(row->program, first->program) == 0; row = editing_guarded_row(++i))
        len += snprintf(line + len, cap - (size_t)len, "%s `%s%s`", row == first ? "" : ",",
                        row->pattern, row->folder ? "/" : "");
    snprintf(line + len, cap - (size_t)len, " |\n");
    return i;
}

static void test_page(void **state)
{
    static char page[1 << 18];
    char line[2048];
    (void)state;
    FILE *file = fopen(MCP_TEST_SOURCE_DIR "/../docs/writing.md", "r");
    assert_non_null(file);
    page[fread(page, 1, sizeof(page) - 1, file)] = '\0';
    fclose(file);
    for (size_t i = 0; editing_guarded_row(i);) {
        i = line_of(i, line, sizeof(line));
        if (!strstr(page, line))
            print_error("docs/writing.md lacks: %s", line);
        assert_non_null(strstr(page, line));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_row),    cmocka_unit_test(test_generated),
        cmocka_unit_test(test_unguarded),   cmocka_unit_test(test_no_text),
        cmocka_unit_test(test_short_names), cmocka_unit_test(test_strictest),
        cmocka_unit_test(test_within),      cmocka_unit_test(test_bare),
        cmocka_unit_test(test_says),        cmocka_unit_test(test_page),
    };
    char line[2048];
    if (argc < 2 || strcmp(argv[1], "--table") != 0)
        return cmocka_run_group_tests(tests, NULL, NULL);
    for (size_t i = 0; editing_guarded_row(i);) {
        i = line_of(i, line, sizeof(line));
        fputs(line, stdout);
    }
    return 0;
}
