/* targets.h: everything that can be requested, the marks that each answer shows, and for each mark
 * the names that the rules must allow. The tables are written by hand, so that they do not depend
 * on the tested code.
 */
#ifndef MCP_TESTS_ACCESS_TARGETS_H
#define MCP_TESTS_ACCESS_TARGETS_H

#include "world.h"

enum { NAME = 160, SHOWS = 24, TARGETS = 256 };

typedef struct shown {
    char mark[NAME + 16];
    char needs[3][NAME]; /* in addition to the target's own name; "" if none */
} shown;

typedef struct target {
    char uri[NAME]; /* the canonical spelling */
    /* parameters as NAME=VALUE, separated by spaces; each is optional in a request */
    const char *params;
    bool needed;  /* the mark appears only if the parameters are given */
    size_t fixed; /* length of the prefix of uri in which no character may be percent-encoded */
    const char *method; /* for targets without a URI: the method and its params; uri is "" */
    const char *request;
    shown shows[SHOWS];
    size_t n;
} target;

static target targets[TARGETS];
static size_t n_targets;

static const char generated_script[] =
    "mkdir -p docs/sub prompts; for f in plan.txt open.md sub/a.key sub/b.md 'é x#1.txt' p%41.md; "
    "do echo \"MARK(file:$f)\" >docs/$f; done; "
    "git init -q -b main app; cd app; mkdir sub; write() { for f in open.md secret.key "
    "sub/deep.key sub/ok.md; do echo \"MARK(git:$f:$1)\" >$f; done; }; write 1; git add .; git "
    "commit -q -m first-commit; git tag v1; git branch feature/x; write 2; git commit -q -a -m "
    "second-commit; "
    "cd ..; "
    "for t in customer sale 'odd é'; do echo \"CREATE TABLE \\\"$t\\\"(id INTEGER PRIMARY KEY, "
    "word TEXT, \\\"col_$t\\\" TEXT$([ \"$t\" != sale ] || echo ', buyer INTEGER REFERENCES "
    "Customer(id)')); INSERT INTO \\\"$t\\\"(id, word) VALUES (1, 'MARK(sql:$t)');\"; done | "
    "sqlite3 shop.db; sqlite3 shop.db \"CREATE VIEW seen AS SELECT id FROM customer WHERE word <> "
    "'is_seen'; CREATE VIEW seen_odd AS SELECT id FROM [odd é] WHERE word <> 'is_odd'; CREATE "
    "TRIGGER on_sale AFTER INSERT ON sale BEGIN DELETE FROM CUSTOMER WHERE 0; END; "
    "CREATE TABLE gone(id); CREATE VIEW broken AS SELECT * FROM gone; DROP TABLE gone; CREATE "
    "TABLE many(id INTEGER PRIMARY KEY); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
    "FROM n WHERE i < 200) INSERT INTO many SELECT i FROM n;\"";

/* ---- building -------------------------------------------------------------------------------- */

static inline target *add_target(const char *params, size_t fixed, const char *format, ...)
    MCP_PRINTF(3, 4);

static inline target *add_target(const char *params, size_t fixed, const char *format, ...)
{
    assert_true(n_targets < TARGETS);
    target *t = &targets[n_targets++];
    va_list args;
    *t = (target){.params = params, .fixed = fixed};
    va_start(args, format);
    vsnprintf(t->uri, sizeof(t->uri), format, args);
    va_end(args);
    return t;
}

static inline void add_shown(target *t, const char *mark, const char *a, const char *b)
{
    assert_true(t->n < SHOWS);
    shown *s = &t->shows[t->n++];
    snprintf(s->mark, sizeof(s->mark), "%s", mark);
    snprintf(s->needs[0], sizeof(s->needs[0]), "%s", a);
    snprintf(s->needs[1], sizeof(s->needs[1]), "%s", b);
}

/* ---- files ----------------------------------------------------------------------------------- */

static const struct {
    const char *path, *name;
} doc_files[] = {
    {"plan.txt", "plan.txt"},
    {"open.md", "open.md"},
    {"sub/a.key", "sub/a.key"},
    {"sub/b.md", "sub/b.md"},
    {"%C3%A9%20x%231.txt", "é x#1.txt"},
    {"p%2541.md", "p%41.md"},
};

static inline void add_doc_folder(const char *folder, const char *params, bool deep)
{
    char uri[NAME], mark[NAME];
    target *t = add_target(params, 7, "file://%s/docs%s", top, folder);
    t->needed = deep;
    for (size_t i = 0; i < COUNT(doc_files) + 1; i++) {
        const char *path = i < COUNT(doc_files) ? doc_files[i].path : "sub";
        snprintf(uri, sizeof(uri), "file://%s/docs/%s", top, path);
        size_t len = strlen(t->uri);
        if (strncmp(uri, t->uri, len) != 0 || uri[len] != '/' ||
            (!deep && strchr(uri + len + 1, '/')))
            continue;
        snprintf(mark, sizeof(mark), "/docs/%s\\n", path);
        add_shown(t, mark, uri, "");
    }
}

static inline void add_docs(void)
{
    static const char *const params[] = {"offset=0 length=65536", "line=1 lines=9", "tail=9"};
    char mark[NAME];
    for (size_t i = 0; i < COUNT(doc_files); i++) {
        for (size_t k = 0; k < COUNT(params); k++) {
            target *t = add_target(params[k], 7, "file://%s/docs/%s", top, doc_files[i].path);
            snprintf(mark, sizeof(mark), "MARK(file:%s)", doc_files[i].name);
            add_shown(t, mark, "", "");
        }
    }
    add_doc_folder("", "limit=100", false);
    add_doc_folder("/sub", "depth=3 limit=100", false);
    add_doc_folder("", "depth=3", true);
}

/* ---- git ------------------------------------------------------------------------------------- */

static const char *const git_files[] = {"open.md", "secret.key", "sub/deep.key", "sub/ok.md"};
static const struct {
    const char *name;
    int version;
} revisions[] = {{"HEAD", 2}, {"main", 2}, {"v1", 1}, {"feature%2Fx", 1}};
static char commits[2][64]; /* git://app/-/commit/ID */

#define GIT_FIXED (sizeof("git://app/") - 1)

static inline void find_commits(void)
{
    char command[128], id[64];
    for (size_t i = 0; i < 2; i++) {
        snprintf(command, sizeof(command), "git -C %s/app rev-parse %s", top, i ? "main" : "v1");
        FILE *f = popen(command, "r");
        assert_non_null(f);
        assert_non_null(fgets(id, sizeof(id), f));
        pclose(f);
        snprintf(commits[i], sizeof(commits[i]), "git://app/-/commit/%.40s", id);
    }
}

static inline void add_git_folder(const char *rev, const char *folder)
{
    char uri[NAME], mark[NAME];
    target *t = add_target("limit=100", GIT_FIXED, "git://app/%s/%s", rev, folder);
    size_t len = strlen(folder) + (*folder != 0);
    for (size_t i = 0; i < COUNT(git_files) + 1; i++) {
        const char *path = i < COUNT(git_files) ? git_files[i] : "sub";
        if (strncmp(path, folder, strlen(folder)) != 0 || strlen(path) <= len ||
            strchr(path + len, '/'))
            continue;
        snprintf(uri, sizeof(uri), "git://app/%s/%s", rev, path);
        snprintf(mark, sizeof(mark), "\\\"name\\\":\\\"%s\\\"", path + len);
        add_shown(t, mark, uri, "");
    }
}

static inline void add_history(const char *rev, int version, const char *path)
{
    char file[NAME] = "", mark[NAME];
    target *t = add_target("limit=10 format=text", GIT_FIXED, "git://app/-/log/%s%s%s", rev,
                           *path ? "/" : "", path);
    if (*path)
        snprintf(file, sizeof(file), "git://app/%s/%s", rev, path);
    for (int i = 0; i < version; i++)
        add_shown(t, i ? "second-commit" : "first-commit", commits[i], file);
    if (!*path)
        return;
    t = add_target("line=1 lines=9", GIT_FIXED, "git://app/-/blame/%s/%s", rev, path);
    add_shown(t, version > 1 ? "second-commit" : "first-commit", commits[version - 1], file);
    snprintf(mark, sizeof(mark), "MARK(git:%s:%d)", path, version);
    add_shown(t, mark, file, ""); /* the lines are shown without a commit that is hidden */
}

static inline void add_difference(const char *from, const char *to, const char *below)
{
    char mark[NAME], file[NAME], difference[NAME];
    target *t =
        add_target("", GIT_FIXED, "git://app/-/diff/%s/%s%s%s", from, to, *below ? "/" : "", below);
    for (size_t i = 0; i < COUNT(git_files); i++) {
        if (strncmp(git_files[i], below, strlen(below)) != 0)
            continue;
        snprintf(difference, sizeof(difference), "git://app/-/diff/%s/%s/%s", from, to,
                 git_files[i]);
        for (int version = 1; version <= 2; version++) {
            snprintf(mark, sizeof(mark), "MARK(git:%s:%d)", git_files[i], version);
            snprintf(file, sizeof(file), "git://app/%s/%s", version > 1 ? to : from, git_files[i]);
            add_shown(t, mark, file, difference);
        }
    }
}

/* Searches of the files of version 2, with answers as JSON and as text. */
static inline void add_searches(void)
{
    static const char *const requests[] = {
        "\"uri\":\"git://app/-/search/HEAD?text=MARK\"",
        "\"uri\":\"git://app/-/search/HEAD?regex=MA.K&format=text&%70ath=**\"",
        "\"uri\":\"git://app/-/search/%48EAD?text=MARK&path=sub\"",
    };
    char mark[NAME], file[NAME];
    for (size_t i = 0; i < COUNT(requests); i++) {
        target *t = add_target("", 0, "%s", "");
        t->method = "resources/read";
        t->request = requests[i];
        for (size_t k = i == 2 ? 2 : 0; k < COUNT(git_files); k++) {
            snprintf(mark, sizeof(mark), "MARK(git:%s:2)", git_files[k]);
            snprintf(file, sizeof(file), "git://app/HEAD/%s", git_files[k]);
            add_shown(t, mark, file, "git://app/-/search/HEAD");
        }
    }
}

static inline void add_git(void)
{
    char mark[NAME];
    find_commits();
    for (size_t r = 0; r < COUNT(revisions); r++) {
        const char *rev = revisions[r].name;
        for (size_t i = 0; i < COUNT(git_files); i++) {
            target *t = add_target("offset=0 length=65536 after=x.md limit=9 format=text",
                                   GIT_FIXED, "git://app/%s/%s", rev, git_files[i]);
            snprintf(mark, sizeof(mark), "MARK(git:%s:%d)", git_files[i], revisions[r].version);
            add_shown(t, mark, "", "");
            add_history(rev, revisions[r].version, git_files[i]);
        }
        add_git_folder(rev, "");
        add_git_folder(rev, "sub");
        add_history(rev, revisions[r].version, "");
        target *t = add_target("", GIT_FIXED, "git://app/-/commit/%s", rev);
        add_shown(t, revisions[r].version > 1 ? "second-commit" : "first-commit", "", "");
    }
    static const char *const below[] = {"", "sub", "secret.key", "sub/ok.md"};
    for (size_t i = 0; i < COUNT(below); i++) {
        add_difference("v1", "main", below[i]);
        add_difference("feature%2Fx", "HEAD", below[i]);
    }
    target *t = add_target("limit=9", GIT_FIXED, "git://app/-/branches");
    add_shown(t, "\\\"name\\\":\\\"main\\\"", "git://app/main/", "");
    add_shown(t, "\\\"name\\\":\\\"feature/x\\\"", "git://app/feature%2Fx/", "");
    t = add_target("limit=9", GIT_FIXED, "git://app/-/tags");
    add_shown(t, "\\\"name\\\":\\\"v1\\\"", "git://app/v1/", "");
    t = add_target("", GIT_FIXED, "git://app/");
    add_shown(t, "git://app/HEAD/\\\"", "git://app/HEAD/", "");
    add_shown(t, "git://app/-/log/HEAD\\\"", "git://app/-/log/HEAD", "");
    add_shown(t, "\\\"branch\\\":\\\"main\\\"", "git://app/main/", "");
    add_searches();
}

/* ---- databases and what has no provider ------------------------------------------------------ */

/* The marks in the description of a table or view: its own mark, and the names of other tables. */
static const struct {
    /* of: the path after the database; other: the table that must be allowed too, or "" */
    const char *of, *mark, *other;
    /* whether the mark is in the text, in the JSON, and in the description of the database */
    bool text, json, whole;
} shop_names[] = {
    {"sale", "col_sale", "", false, true, true},
    {"sale", "col_sale", "customer", true, false, true},
    {"sale", "REFERENCES Customer", "customer", true, false, true},
    {"sale", "REFERENCES Customer", "customer", false, true, false},
    {"sale", "\\\"table\\\":\\\"Customer\\\"", "customer", false, true, false},
    {"sale", "TRIGGER on_sale", "customer", true, false, true},
    {"customer", "col_customer", "", true, true, true},
    {"odd%20%C3%A9", "col_odd é", "", true, true, true},
    {"seen", "is_seen", "customer", true, false, true},
    {"seen", "is_seen", "customer", false, true, false},
    {"seen_odd", "is_odd", "odd%20%C3%A9", true, false, true},
    {"seen_odd", "is_odd", "odd%20%C3%A9", false, true, false},
};

#define SHOP_FIXED (sizeof("sqlite://shop/") - 1)

static inline void add_shop_description(const char *of, bool text)
{
    char own[NAME], other[NAME];
    target *t = add_target(text ? "format=text" : "", SHOP_FIXED, "sqlite://shop/%s", of);
    t->needed = text;
    for (size_t i = 0; i < COUNT(shop_names); i++) {
        bool here = text ? shop_names[i].text : shop_names[i].json;
        if (!here || (*of ? strcmp(shop_names[i].of, of) != 0 : !shop_names[i].whole))
            continue;
        snprintf(own, sizeof(own), "sqlite://shop/%s", shop_names[i].of);
        snprintf(other, sizeof(other), "sqlite://shop/%s", shop_names[i].other);
        add_shown(t, shop_names[i].mark, own, *shop_names[i].other ? other : "");
    }
}

static inline void add_tables(void)
{
    static const char *const tables[][2] = {
        {"sale", "sale"}, {"customer", "customer"}, {"odd%20%C3%A9", "odd é"}};
    static const char *const described[] = {"",     "sale",    "customer", "odd%20%C3%A9",
                                            "seen", "seen_odd"};
    static const struct {
        const char *rest, *params;
    } aspects[] = {{"/rows", "limit=9 offset=0 id=1 format=json"},
                   {"/row/1", "format=json"},
                   {"/cell/word/1", "offset=0 length=99"}};
    char mark[NAME];
    for (size_t i = 0; i < COUNT(described); i++) {
        add_shop_description(described[i], false);
        add_shop_description(described[i], true);
    }
    for (size_t i = 0; i < COUNT(tables); i++) {
        for (size_t k = 0; k < COUNT(aspects); k++) {
            target *t = add_target(aspects[k].params, SHOP_FIXED, "sqlite://shop/%s%s",
                                   tables[i][0], aspects[k].rest);
            snprintf(mark, sizeof(mark), "MARK(sql:%s)", tables[i][1]);
            add_shown(t, mark, "", "");
        }
    }
}

static inline void add_note_targets(void)
{
    static const char *const names[][2] = {{"note:", "a"},    {"note:", "b:c"}, {"note:", "d,e"},
                                           {"notes:", "a/b"}, {"notes:", "x"},  {"notes:", "y:z"}};
    char mark[NAME];
    for (size_t i = 0; i < COUNT(names); i++) {
        target *t =
            add_target("from=1 to=2", strlen(names[i][0]), "%s%s", names[i][0], names[i][1]);
        snprintf(mark, sizeof(mark), "MARK(note:%s)", names[i][1]);
        add_shown(t, mark, "", "");
    }
}

/* ---- completion ------------------------------------------------------------------------------ */

#define OF(template, name, value, known)                                                          \
    "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"" template "\"},\"argument\":{\"name\":\"" name \
                                                             "\",\"value\":\"" value              \
                                                             "\"},\"context\":{"                  \
                                                             "\"arguments\":{" known "}}"

static inline void add_completions(void)
{
    static const struct {
        const char *params, *mark, *need, *other;
    } rows[] = {
        {OF("git://app/{rev}/{+path}{?offset,length,format}", "path", "", ""), "\"secret.key\"",
         "git://app/HEAD/secret.key", ""},
        {OF("git://app/{rev}/{+path}{?offset,length,format}", "path", "%73", "\"rev\":\"v1\""),
         "\"secret.key\"", "git://app/v1/secret.key", ""},
        {OF("git://app/-/blame/{rev}/{+path}{?line,lines,format}", "path", "sub/",
            "\"rev\":\"v1\""),
         "\"sub/deep.key\"", "git://app/v1/sub/deep.key", "git://app/-/blame/v1/sub/deep.key"},
        {OF("git://app/-/log/{rev}/{+path}{?author,text,since,until,files,limit,format}", "rev",
            "v", ""),
         "\"v1\"", "git://app/-/log/v1", ""},
        {OF("git://app/-/diff/{from}/{to}/{+path}", "from", "v", ""), "\"v1\"", "git://app/v1/",
         ""},
        {OF("git://app/-/diff/{from}/{to}/{+path}", "to", "", "\"from\":\"v1\""), "\"main\"",
         "git://app/-/diff/v1/main", ""},
        {OF("sqlite://shop/{table}{?format}", "table", "", ""), "\"customer\"",
         "sqlite://shop/customer", ""},
        {OF("sqlite://shop/{table}/rows{?contains,icontains,limit,offset,format}", "table", "", ""),
         "\"customer\"", "sqlite://shop/customer/rows", ""},
        {OF("sqlite://shop/{table}/row{/key*}{?format}", "key", "", "\"table\":\"customer\""),
         "[\"1\"]", "sqlite://shop/customer/row/1", ""},
        {OF("sqlite://shop/{table}/row{/key*}{?format}", "table", "", ""), "\"sale\"",
         "sqlite://shop/sale", ""},
        {OF("sqlite://shop/{table}/cell/{column}{/key*}{?offset,length}", "column", "",
            "\"table\":\"customer\""),
         "\"col_customer\"", "sqlite://shop/customer", ""},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        target *t = add_target("", 0, "%s", "");
        t->method = "completion/complete";
        t->request = rows[i].params;
        add_shown(t, rows[i].mark, rows[i].need, rows[i].other);
    }
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* The marks of a list are whole URIs, each of which is also the name that the rules must allow. */
static inline void add_list(const char *method, const char *request)
{
    static const char *const uris[] = {
        "git://app/HEAD/open.md",   "git://app/HEAD/secret.key", "git://app/HEAD/sub/deep.key",
        "sqlite://shop/sale",       "sqlite://shop/customer",    "sqlite://shop/customer/rows",
        "git://app/HEAD/sub/ok.md", "git://app/HEAD/sub",
    };
    char mark[NAME + 16], uri[NAME];
    target *t = add_target("", 0, "%s", "");
    t->method = method;
    t->request = request;
    for (size_t i = 0; i < COUNT(uris) + COUNT(doc_files); i++) {
        if (i < COUNT(uris))
            snprintf(uri, sizeof(uri), "%s", uris[i]);
        else
            snprintf(uri, sizeof(uri), "file://%s/docs/%s", top, doc_files[i - COUNT(uris)].path);
        snprintf(mark, sizeof(mark), "\"uri\":\"%s\"", uri);
        add_shown(t, mark, uri, "");
    }
}

static inline void add_lists(void)
{
    add_list("resources/list", "");
    add_list("tools/call", "\"name\":\"list_resources\",\"arguments\":{\"limit\":1000}");
    add_list("tools/call",
             "\"name\":\"find_resources\",\"arguments\":{\"name\":\"*\",\"limit\":1000}");
    target *t = add_target("", 0, "%s", "");
    char mark[NAME], uri[NAME];
    t->method = "tools/call";
    t->request = "\"name\":\"search_resources\",\"arguments\":{\"query\":\"MARK(\",\"limit\":500}";
    for (size_t i = 0; i < COUNT(doc_files); i++) {
        snprintf(mark, sizeof(mark), "MARK(file:%s)", doc_files[i].name);
        snprintf(uri, sizeof(uri), "file://%s/docs/%s", top, doc_files[i].path);
        add_shown(t, mark, uri, "");
    }
    for (size_t i = 0; i < COUNT(git_files); i++) {
        snprintf(mark, sizeof(mark), "MARK(git:%s:2)", git_files[i]);
        snprintf(uri, sizeof(uri), "git://app/HEAD/%s", git_files[i]);
        add_shown(t, mark, uri, "");
    }
    add_shown(t, "MARK(sql:sale)", "sqlite://shop/sale/rows", "");
    add_shown(t, "MARK(sql:customer)", "sqlite://shop/customer/rows", "");
    add_shown(t, "MARK(sql:odd é)", "sqlite://shop/odd%20%C3%A9/rows", "");
    add_shown(t, "MARK(note:note:own?x=1)", "note:own?x=1", "");
}

/* Adds all targets. Returns the index of the first list, which names the items of all providers. */
static inline size_t add_targets(void)
{
    n_targets = 0;
    add_docs();
    add_git();
    add_tables();
    add_note_targets();
    add_completions();
    size_t lists = n_targets;
    add_lists();
    return lists;
}

#endif
