/* Parsing prompt files: the results, and the errors of invalid files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/failalloc.h"
#include "document.h"

static void put(char *to, size_t room, const char *format, ...) MCP_PRINTF(3, 4);

static void put(char *to, size_t room, const char *format, ...)
{
    size_t len = strlen(to);
    va_list args;
    va_start(args, format);
    vsnprintf(to + len, room - len, format, args);
    va_end(args);
}

/* Writes the messages as one line: "u:" or "a:" (user, assistant) before each, arguments as <name>,
 * resources as [URI], and "|" between messages. */
static void show_pieces(const prompts_document *d, char *to, size_t room)
{
    *to = 0;
    for (size_t i = 0; i < d->n_pieces; i++) {
        const prompts_piece *p = &d->pieces[i];
        if (p->begins)
            put(to, room, "%s%s", i ? "|" : "", p->role == MCP_ROLE_USER ? "u:" : "a:");
        if (p->kind == PROMPTS_VALUE)
            put(to, room, "<%s>", d->arguments[p->argument].name);
        else if (p->kind == PROMPTS_RESOURCE)
            put(to, room, "[%s]", p->text.ptr);
        else
            put(to, room, "%.*s", (int)p->text.len, p->text.ptr);
    }
}

#define ARGS "---\narguments:\n  - name: x\n  - name: long-name.2\n---\n"

static const struct {
    const char *text, *pieces;
} bodies[] = {
    {"Hello", "u:Hello"},
    {"\n\n  Hello  \n\n", "u:  Hello"},
    {"a\nb\n", "u:a\nb"},
    {"a\r\nb\r\n", "u:a\nb"},
    {"\xef\xbb\xbf"
     "Hello",
     "u:Hello"},
    {"a\rb", "u:a\rb"},
    {ARGS "{{x}}", "u:<x>"},
    {ARGS "{{ x }}{{x}} and {{long-name.2}}.", "u:<x><x> and <long-name.2>."},
    {ARGS "a\\{{x}}", "u:a{{x}}"},
    {ARGS "a\\\\{{x}}", "u:a\\<x>"},
    {ARGS "a\\\\\\{{x}}", "u:a\\{{x}}"},
    {ARGS "\\{{{x}}", "u:{{{x}}"},
    {ARGS "{x} }} {", "u:{x} }} {"},
    {"a\n<!-- assistant -->\nb\n<!-- user -->\nc", "u:a|a:b|u:c"},
    {"<!--assistant-->\nb", "a:b"},
    {"  <!--  assistant -->  \nb", "a:b"},
    {"<!-- assistant -->\n\n<!-- user -->\nx\n<!-- assistant -->\n", "u:x"},
    {"<!-- Assistant -->", "u:<!-- Assistant -->"},
    {"<!-- a comment -->\nx", "u:<!-- a comment -->\nx"},
    {"x <!-- user -->", "u:x <!-- user -->"},
    {"a\n\\<!-- user -->\nb", "u:a\n<!-- user -->\nb"},
    {"  \\<!-- user -->", "u:  <!-- user -->"},
    {"\\<!-- other -->", "u:\\<!-- other -->"},
    {"a\n{{resource: file:///b}}\nc", "u:a|u:[file:///b]|u:c"},
    {"{{resource:file:///b}}\n{{ resource: mem:c }}", "u:[file:///b]|u:[mem:c]"},
    {"<!-- assistant -->\nx\n{{resource: mem:c}}\ny", "a:x|a:[mem:c]|a:y"},
    {"\\{{resource: mem:c}}", "u:{{resource: mem:c}}"},
    {"--- \nname: n\n---\t\nText", "u:Text"},
    {"----\nText", "u:----\nText"},
};

static void bodies_are_taken_apart(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
        char shown[1024];
        prompts_document *d = NULL;
        prompts_fault fault = {0};
        int rc = prompts_parse(mcp_str_from(bodies[i].text), "f.md", NULL, &d, &fault);
        if (rc != MCP_OK)
            fail_msg("%s: %zu: %s", bodies[i].text, fault.line, fault.text);
        show_pieces(d, shown, sizeof(shown));
        assert_string_equal(shown, bodies[i].pieces);
        prompts_document_unref(d);
    }
}

static void show_front(const prompts_document *d, char *to, size_t room)
{
    *to = 0;
    put(to, room, "%s|%s|%s", d->name, d->title ? d->title : "-",
        d->description ? d->description : "-");
    for (size_t i = 0; i < d->n_icons; i++)
        put(to, room, "|icon %s", d->icons[i]);
    for (size_t i = 0; i < d->n_arguments; i++) {
        const prompts_argument *a = &d->arguments[i];
        put(to, room, "|%s%s(%s,%s)", a->name, a->required ? "!" : "", a->title ? a->title : "-",
            a->description ? a->description : "-");
        for (size_t j = 0; j < a->n_choices; j++)
            put(to, room, "%s%.*s", j ? "," : "=", (int)a->choices[j].len, a->choices[j].ptr);
    }
}

static const struct {
    const char *front, *shown;
} fronts[] = {
    {"", "file|-|-"},
    {"# nothing\n\n", "file|-|-"},
    {"name: other\ntitle: A title # not this\n", "other|A title|-"},
    {"title: a#b\n", "file|a#b|-"},
    {"title: 'it''s: #1' # c\n", "file|it's: #1|-"},
    {"title: \"a\\\"b\\\\c\\n\\u00e9\\u20ac\"\n", "file|a\"b\\c\n\xc3\xa9\xe2\x82\xac|-"},
    {"title: \"\"\n", "file||-"},
    {"title: http://x/y\ndescription: -5 is true\n", "file|http://x/y|-5 is true"},
    {"name: two words\n", "two words|-|-"},
    {"arguments: []\n", "file|-|-"},
    {"arguments:\n- name: a\n- name: b\n", "file|-|-|a(-,-)|b(-,-)"},
    {"arguments: # some\n    # of them\n    - name: a\n      required: true\n\n    -   title: T\n  "
     "      "
     "name: b\n        required: false\ntitle: t\n",
     "file|t|-|a!(-,-)|b(T,-)"},
    {"arguments:\n  - name: a\n    complete: [x, \"y, z\", 'w'] # c\n    description: d\n",
     "file|-|-|a(-,d)=x,y, z,w"},
    {"arguments:\n  - name: a\n    complete:\n      - x\n      - \"y\"\n  - name: b\n",
     "file|-|-|a(-,-)=x,y|b(-,-)"},
    {"arguments:\n  - name: a\n    complete:\n    - x\n    description: d\n", "file|-|-|a(-,d)=x"},
    {"arguments:\n  - complete: []\n    name: a\n", "file|-|-|a(-,-)"},
    {"icons: [https://a/b.png]\n", "file|-|-|icon https://a/b.png"},
    {"icons:\n- https://a/b.png\n- data:image/png;base64,AA==\n",
     "file|-|-|icon https://a/b.png|icon data:image/png;base64,AA=="},
};

static void front_matter_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(fronts) / sizeof(*fronts); i++) {
        char text[2048], shown[2048];
        prompts_document *d = NULL;
        prompts_fault fault = {0};
        snprintf(text, sizeof(text), "---\n%s---\nText\n", fronts[i].front);
        int rc = prompts_parse(mcp_str_from(text), "file.md", NULL, &d, &fault);
        if (rc != MCP_OK)
            fail_msg("%s: %zu: %s", fronts[i].front, fault.line, fault.text);
        show_front(d, shown, sizeof(shown));
        assert_string_equal(shown, fronts[i].shown);
        prompts_document_unref(d);
    }
}

#define NINE "123456789"
#define LONG NINE NINE NINE NINE NINE NINE NINE NINE NINE NINE NINE NINE NINE NINE NINE

static const struct {
    const char *text;
    size_t line;
    const char *why; /* a part of the error message */
} faults[] = {
    {"", 1, "no text"},
    {"---\nname: a\n---\n\n \n", 6, "no text"},
    {"---\nname: a\n", 1, "no line ---"},
    {"---\nname: a\n--\nText", 3, "key: value"},
    {"---\nnaem: a\n---\nText", 2, "unknown key \"naem\"; there are name, title"},
    {"---\nname: a\nname: b\n---\nText", 3, "appears twice"},
    {"---\nname\n---\nText", 2, "key: value"},
    {"---\nname:a\n---\nText", 2, "key: value"},
    {"---\nname:\n---\nText", 2, "value is missing"},
    {"---\nname: # none\n---\nText", 2, "begins with \"#\""},
    {"---\nname: \"a\n---\nText", 2, "does not end"},
    {"---\nname: 'a''\n---\nText", 2, "does not end"},
    {"---\nname: \"a\" b\n---\nText", 2, "after the value"},
    {"---\nname: \"a\"#b\n---\nText", 2, "after the value"},
    {"---\nname: \"\\x41\"\n---\nText", 2, "not an escape"},
    {"---\nname: \"\\u12\"\n---\nText", 2, "not an escape"},
    {"---\nname: \"\\u0000\"\n---\nText", 2, "not an escape"},
    {"---\nname: \"\\ud800\"\n---\nText", 2, "not an escape"},
    {"---\nname: \"a\\", 2, "not an escape"},
    {"---\nname: \"\"\n---\nText", 2, "a name must be"},
    {"---\nname: \"a\\nb\"\n---\nText", 2, "a name must be"},
    {"---\nname: " LONG "\n---\nText", 2, "a name must be"},
    {"---\nname: \" a\"\n---\nText", 2, "a name must be"},
    {"---\ntitle: a: b\n---\nText", 2, "must be quoted"},
    {"---\ntitle: a:\n---\nText", 2, "must be quoted"},
    {"---\ntitle: |\n  a\n---\nText", 2, "begins with \"|\""},
    {"---\ntitle: &a b\n---\nText", 2, "begins with \"&\""},
    {"---\ntitle: [a]\n---\nText", 2, "begins with \"[\""},
    {"---\ntitle: - a\n---\nText", 2, "begins with \"-\""},
    {"---\n name: a\n---\nText", 2, "indentation"},
    {"---\n\tname: a\n---\nText", 2, "tabs"},
    {"---\ntitle: a\n  more\n---\nText", 3, "indentation"},
    {"---\narguments: x\n---\nText", 2, "on the lines below"},
    {"---\narguments:\n---\nText", 2, "arguments are missing"},
    {"---\narguments:\n  - a\n---\nText", 3, "key: value"},
    {"---\narguments:\n  -\n    name: a\n---\nText", 3, "the line of its dash"},
    {"---\narguments:\n  - title: a\n---\nText", 3, "has no name"},
    {"---\narguments:\n  - name: a b\n---\nText", 3, "an argument's name"},
    {"---\narguments:\n  - name: \xc3\xa9\n---\nText", 3, "an argument's name"},
    {"---\narguments:\n  - name: a\n  - name: a\n---\nText", 4, "already"},
    {"---\narguments:\n  - name: a\n - name: b\n---\nText", 4, "indentation"},
    {"---\narguments:\n  - name: a\n   title: b\n---\nText", 4, "indentation"},
    {"---\narguments:\n  - name: a\n     title: b\n---\nText", 4, "indentation"},
    {"---\narguments:\n  - name: a\n    required: yes\n---\nText", 4, "true or false"},
    {"---\narguments:\n  - name: a\n    complete: x\n---\nText", 4, "a list is missing"},
    {"---\narguments:\n  - name: a\n    complete:\n---\nText", 4, "a list is missing"},
    {"---\narguments:\n  - name: a\n    complete: [x\n---\nText", 4, "commas"},
    {"---\narguments:\n  - name: a\n    complete: [x y, [z]]\n---\nText", 4, "begins with \"[\""},
    {"---\narguments:\n  - name: a\n    complete: [x,]\n---\nText", 4, "begins with \"]\""},
    {"---\narguments:\n  - name: a\n    complete: [x] y\n---\nText", 4, "after the list"},
    {"---\narguments:\n  - name: a\n    complete:\n      - x\n       - y\n---\nText", 6,
     "indentation"},
    {"---\nicons: [http://a]\n---\nText", 2, "an icon"},
    {"---\nicons: [\"https://a b\"]\n---\nText", 2, "an icon"},
    {"a\n{{x}}", 2, "no argument of that name"},
    {ARGS "a\n{{x", 7, "without }}"},
    {ARGS "\n\na {{x\n}}", 8, "without }}"},
    {ARGS "{{}}", 6, "no argument of that name"},
    {ARGS "{{{x}}}", 6, "no argument of that name"},
    {"a {{resource: mem:a}}", 1, "a line of its own"},
    {"x\n\n{{resource: not a uri}}", 3, "is not a URI"},
    {"{{resource: relative/path}}", 1, "is not a URI"},
    {"{{resource:}}", 1, "is not a URI"},
    {"a\nb\xff\n", 2, "UTF-8"},
    {"---\nname: \xc3\n---\nText", 2, "UTF-8"},
};

static void faults_have_their_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
        prompts_document *d = NULL;
        prompts_fault fault = {0};
        int rc = prompts_parse(mcp_str_from(faults[i].text), "f.md", NULL, &d, &fault);
        if (rc != MCP_EINVAL || fault.line != faults[i].line || !strstr(fault.text, faults[i].why))
            fail_msg("%s: %d, line %zu: %s", faults[i].text, rc, fault.line, fault.text);
    }
}

static void expect_fault(mcp_str text, const char *file, size_t line, const char *why)
{
    prompts_document *d = NULL;
    prompts_fault fault = {0};
    assert_int_equal(prompts_parse(text, file, NULL, &d, &fault), MCP_EINVAL);
    assert_int_equal(fault.line, line);
    assert_non_null(strstr(fault.text, why));
}

static void nul_and_size_are_refused(void **state)
{
    (void)state;
    expect_fault((mcp_str){"a\nb\0c", 5}, "f.md", 2, "UTF-8");
    char *big = malloc(PROMPTS_MAX_BYTES + 1);
    memset(big, 'a', PROMPTS_MAX_BYTES + 1);
    expect_fault((mcp_str){big, PROMPTS_MAX_BYTES + 1}, "f.md", 1, "more than");
    prompts_document *d = NULL;
    prompts_fault fault;
    assert_int_equal(prompts_parse((mcp_str){big, PROMPTS_MAX_BYTES}, "f.md", NULL, &d, &fault),
                     MCP_OK);
    prompts_document_unref(d);
    free(big);
    expect_fault(MCP_STR("x"), "\xff.md", 1, "add a front matter");
    expect_fault(MCP_STR("x"), LONG ".md", 1, "add a front matter");
}

/* Checks the error for a file with `count` copies of `line`, each followed by its number. */
static void expect_limit(const char *head, const char *line, size_t count, const char *tail,
                         size_t fault_line, const char *why)
{
    size_t room = 1 << 17, len = 0;
    char *text = malloc(room);
    len += (size_t)snprintf(text + len, room - len, "%s", head);
    for (size_t i = 0; i < count; i++) {
        len += (size_t)snprintf(text + len, room - len, "%s%zu\n", line, i);
        assert_true(len < room);
    }
    snprintf(text + len, room - len, "%s", tail);
    expect_fault(mcp_str_from(text), "f.md", fault_line, why);
    free(text);
}

static void everything_has_a_limit(void **state)
{
    (void)state;
    expect_limit("---\narguments:\n", "- name: a", PROMPTS_MAX_ARGUMENTS + 1, "---\nText",
                 3 + PROMPTS_MAX_ARGUMENTS, "more than 64 arguments");
    expect_limit("---\narguments:\n- name: a\n  complete:\n", "  - a", PROMPTS_MAX_CHOICES + 1,
                 "---\nText", 5 + PROMPTS_MAX_CHOICES, "more than 1000 entries");
    expect_limit("---\nicons:\n", "- https://a/", PROMPTS_MAX_ICONS + 1, "---\nText",
                 3 + PROMPTS_MAX_ICONS, "more than 8 entries");
    char text[PROMPTS_MAX_TEXT + 64] = "---\ntitle: ";
    memset(text + strlen(text), 'a', PROMPTS_MAX_TEXT + 1);
    strcat(text, "\n---\nx");
    expect_fault(mcp_str_from(text), "f.md", 2, "longer than");
    text[strlen("---\ntitle: ")] = '"';
    expect_fault(mcp_str_from(text), "f.md", 2, "does not end");
    char *resources = calloc(1, 4096);
    for (int i = 0; i <= PROMPTS_MAX_RESOURCES; i++)
        strcat(resources, "{{resource: mem:a}}\n");
    expect_fault(mcp_str_from(resources), "f.md", PROMPTS_MAX_RESOURCES + 1, "more than 32");
    free(resources);
}

static const char everything[] =
    "---\nname: n\ntitle: \"t\"\ndescription: d\nicons: [https://a/b]\narguments:\n  - name: x\n"
    "    title: T\n    required: true\n    complete: [a, b, c]\n  - name: y\n    complete:\n"
    "      - 1\n      - 2\n---\na {{x}} b {{y}}\n<!-- assistant -->\n{{resource: mem:a}}\nlast\n";

static void what_looks_the_same(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool same;
    } others[] = {
        {everything, true},
        {"---\nname: n\ntitle: t\ndescription: d\nicons: [https://a/b]\narguments:\n  - name: x\n"
         "    title: T\n    required: true\n  - name: y\n---\nother text",
         true},
        {"---\nname: n\ntitle: t\ndescription: d\nicons: [https://a/b]\narguments:\n  - name: x\n"
         "    title: T\n    required: false\n  - name: y\n---\nx",
         false},
        {"---\nname: n\ntitle: t\ndescription: d\narguments:\n  - name: x\n"
         "    title: T\n    required: true\n  - name: y\n---\nx",
         false},
        {"---\nname: n\n---\nx", false},
    };
    prompts_document *a, *b;
    prompts_fault fault;
    assert_int_equal(prompts_parse(mcp_str_from(everything), "f.md", NULL, &a, &fault), MCP_OK);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        assert_int_equal(prompts_parse(mcp_str_from(others[i].text), "f.md", NULL, &b, &fault), 0);
        assert_int_equal(prompts_document_same_entry(a, b), others[i].same);
        prompts_document_unref(b);
    }
    prompts_document_unref(a);
}

/* Every prefix of a complete file gives a document or an error, and no byte beyond its end is read.
 * */
static void every_prefix(void **state)
{
    (void)state;
    for (size_t len = 0; len < sizeof(everything); len++) {
        char *exact = malloc(len ? len : 1);
        memcpy(exact, everything, len);
        prompts_document *d = NULL;
        prompts_fault fault = {0};
        int rc = prompts_parse((mcp_str){exact, len}, "f.md", NULL, &d, &fault);
        assert_true(rc == MCP_OK || (rc == MCP_EINVAL && fault.line && *fault.text));
        prompts_document_unref(d);
        free(exact);
    }
}

static void without_memory(void **state)
{
    (void)state;
    size_t n = 1;
    for (;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        prompts_document *d = NULL;
        prompts_fault fault = {0};
        int rc = prompts_parse(mcp_str_from(everything), "f.md", &a, &d, &fault);
        assert_int_equal(rc, f.calls < n ? MCP_OK : MCP_ENOMEM);
        prompts_document_unref(d);
        assert_int_equal(f.live, 0);
        if (f.calls < n)
            break;
    }
    assert_true(n > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_are_taken_apart), cmocka_unit_test(front_matter_is_read),
        cmocka_unit_test(faults_have_their_line), cmocka_unit_test(nul_and_size_are_refused),
        cmocka_unit_test(everything_has_a_limit), cmocka_unit_test(what_looks_the_same),
        cmocka_unit_test(every_prefix),           cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
