/* Random commits in every encoding that iconv knows and that contains ASCII: names, subjects and
 * messages are those that git prints with i18n.logOutputEncoding = UTF-8. */
#define _GNU_SOURCE
#include "dice.h"
#include "repository.h"
#include "rounds.h"

#include <iconv.h>

enum { COMMITS = 300, MAX_ENCODINGS = 2000, PAGE = 100 };

static peer p;
static char names[MAX_ENCODINGS][24];
static size_t n_names, n_compared;

/* ---- encodings ------------------------------------------------------------------------------- */

/* Returns the number of bytes, or 0 if the text cannot be converted. */
static size_t recode(const char *into, const char *out_of, const char *text, size_t len, char *to,
                     size_t room)
{
    char *from = (char *)(uintptr_t)text, *at = to;
    iconv_t with = iconv_open(into, out_of);
    if (with == (iconv_t)-1)
        return 0;
    size_t left = len, all = room;
    bool ok = iconv(with, &from, &left, &at, &room) == 0 &&
              iconv(with, NULL, NULL, &at, &room) != (size_t)-1;
    iconv_close(with);
    return ok ? all - room : 0;
}

/* Some encoders of iconv write what their decoders do not read. */
static size_t encode(const char *encoding, const char *text, size_t len, char *to, size_t room)
{
    char back[2000];
    size_t n = recode(encoding, "UTF-8", text, len, to, room);
    return n && recode("UTF-8", encoding, to, n, back, sizeof(back)) ? n : 0;
}

/* Finds the encodings in which ASCII is as it is in UTF-8: git reads the headers of a commit before
 * it converts it. */
static void find_encodings(void)
{
    static const char ascii[] = "tree author <a@b> 0123456789 +\n";
    char name[200], bytes[200];
    FILE *f = popen("iconv -l | tr -s ' ,\\n' '\\n' | sed 's,//.*,,' | sort -u", "r");
    assert_non_null(f);
    while (n_names < MAX_ENCODINGS && fgets(name, sizeof(name), f)) {
        name[strcspn(name, "\n")] = 0;
        size_t len = encode(name, ascii, strlen(ascii), bytes, sizeof(bytes));
        if (len == strlen(ascii) && memcmp(bytes, ascii, len) == 0 && strlen(name) < 24)
            strcpy(names[n_names++], name);
    }
    pclose(f);
    assert_true(n_names > 5);
}

static size_t put_utf8(unsigned c, char *to)
{
    if (c < 0x80)
        return to[0] = (char)c, 1;
    if (c < 0x800)
        return to[0] = (char)(0xc0 | c >> 6), to[1] = (char)(0x80 | (c & 63)), 2;
    to[0] = (char)(0xe0 | c >> 12), to[1] = (char)(0x80 | (c >> 6 & 63));
    return to[2] = (char)(0x80 | (c & 63)), 3;
}

/* Writes random characters that the encoding has. */
static size_t put_text(const char *encoding, bool line, char *to, size_t room)
{
    static const unsigned begins[] = {0x41,   0xa1,   0x100,  0x391,  0x410,  0x5d0,
                                      0x627,  0xe01,  0x3041, 0x30a1, 0x4e00, 0x4e8c,
                                      0x6587, 0xac00, 0x2013, 0x20ac};
    char text[400], one[8], bytes[40];
    size_t len = 0, n = 1 + dice(12);
    unsigned begin = begins[dice(16)];
    for (size_t i = 0; i < n; i++) {
        size_t used = put_utf8(begin + dice(begin > 0x4000 ? 500 : 26), one);
        size_t coded = encode(encoding, one, used, bytes, sizeof(bytes));
        if (line && (!coded || memchr(bytes, '<', coded) || memchr(bytes, '>', coded)))
            used = coded = 1, one[0] = 'x';
        if (coded)
            memcpy(text + len, one, used), len += used;
        if (!line && dice(5) == 0)
            text[len++] = dice(3) ? ' ' : '\n';
    }
    text[len++] = 'z';
    return encode(encoding, text, len, to, room);
}

/* ---- commits --------------------------------------------------------------------------------- */

static void make_commits(void)
{
    char path[100], name[300], message[2000];
    snprintf(path, sizeof(path), "%s/stream", top);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    for (int i = 0; i < COMMITS; i++) {
        const char *encoding = names[dice((unsigned)n_names)];
        size_t n = put_text(encoding, true, name, sizeof(name)), len = 0;
        for (unsigned parts = 1 + dice(3); parts; parts--) {
            len += put_text(encoding, false, message + len, 600);
            for (unsigned lines = 1 + dice(2); lines; lines--) /* git may lose the last byte */
                message[len++] = '\n';
        }
        fprintf(f,
                "commit refs/heads/main\nauthor %.*s <a@b> %d +0000\ncommitter c <c@d> %d +0000\n",
                (int)n, name, 1700000000 + i, 1700000000 + i);
        fprintf(f, "encoding %s\ndata %zu\n", encoding, len);
        fwrite(message, 1, len, f);
        fputc('\n', f);
    }
    fclose(f);
    sh("rm -rf r; git init -q -b main r; cd r; git fast-import --quiet <../stream; "
       "git log -z --encoding=UTF-8 --format='%H%x01%an%x01%s%x01%B' >../wanted");
}

/* ---- comparing ------------------------------------------------------------------------------- */

static mcp_json_doc *read_json(const char *rest, mcp_json_doc **outer)
{
    mcp_json_doc *doc;
    read_uri(&p, rest);
    assert_int_equal(mcp_json_parse((mcp_str){p.reply, p.len}, NULL, NULL, outer, NULL), MCP_OK);
    const mcp_json *all = mcp_json_get(mcp_json_get(mcp_json_root(*outer), "result"), "contents");
    mcp_str text = mcp_json_string(mcp_json_get(mcp_json_at(all, 0), "text"));
    if (mcp_json_parse(text, NULL, NULL, &doc, NULL) != MCP_OK)
        fail_msg("%s: %.300s", rest, p.reply);
    return doc;
}

static mcp_str take(char **at, char end)
{
    char *begin = *at, *stop = strchr(begin, end);
    stop = stop ? stop : begin + strlen(begin);
    *at = *stop ? stop + 1 : stop;
    return (mcp_str){begin, (size_t)(stop - begin)};
}

static void check(const char *what, mcp_str id, mcp_str got, mcp_str want)
{
    if (!mcp_str_eq(got, want))
        fail_msg("%s of %.*s is [%.*s], not [%.*s]", what, (int)id.len, id.ptr, (int)got.len,
                 got.ptr, (int)want.len, want.ptr);
    n_compared++;
}

/* git ends %B with a newline; a message may have none or several. */
static mcp_str trimmed(mcp_str text)
{
    while (text.len && text.ptr[text.len - 1] == '\n')
        text.len--;
    return text;
}

static void check_commit(const mcp_json *entry, char *wanted)
{
    char rest[100];
    mcp_json_doc *outer, *doc;
    mcp_str id = take(&wanted, 1), author = take(&wanted, 1), subject = take(&wanted, 1);
    check("id", id, mcp_json_string(mcp_json_get(entry, "id")), id);
    check("subject", id, mcp_json_string(mcp_json_get(entry, "subject")), subject);
    check("author", id, mcp_json_string(mcp_json_get(mcp_json_get(entry, "author"), "name")),
          author);
    check("encoding", id, mcp_json_string(mcp_json_get(entry, "encoding")), (mcp_str){NULL, 0});
    snprintf(rest, sizeof(rest), "r/-/commit/%.*s", (int)id.len, id.ptr);
    doc = read_json(rest, &outer);
    check("message", id, trimmed(mcp_json_string(mcp_json_get(mcp_json_root(doc), "message"))),
          trimmed(mcp_str_from(wanted)));
    mcp_json_free(doc);
    mcp_json_free(outer);
}

static void check_repository(void)
{
    static char wanted[4 << 20];
    char path[100], rest[4000] = "r/-/log/HEAD?limit=100";
    snprintf(path, sizeof(path), "%s/wanted", top);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t len = fread(wanted, 1, sizeof(wanted) - 1, f);
    wanted[len] = 0;
    fclose(f);
    char *at = wanted;
    for (size_t n = 0; n < COMMITS;) {
        mcp_json_doc *outer, *doc = read_json(rest, &outer);
        const mcp_json *list = mcp_json_get(mcp_json_root(doc), "commits");
        assert_true(mcp_json_count(list) > 0);
        for (size_t i = 0; i < mcp_json_count(list); i++, n++) {
            check_commit(mcp_json_at(list, i), at);
            at += strlen(at) + 1;
        }
        mcp_str next = mcp_json_string(mcp_json_get(mcp_json_root(doc), "next"));
        snprintf(rest, sizeof(rest), "%.*s", next.len ? (int)next.len - 6 : 0,
                 next.len ? next.ptr + 6 : "");
        mcp_json_free(doc);
        mcp_json_free(outer);
    }
}

static void test_encodings(void **state)
{
    (void)state;
    find_encodings();
    for (unsigned i = 0; i < rounds(1); i++) {
        make_commits();
        if (peer_open(&p, "r", &(mcp_git_options){0}, NULL, NULL) != MCP_OK)
            fail_msg("%s", p.error.text);
        check_repository();
        peer_close(&p);
    }
    print_message("# %zu texts in %zu encodings\n", n_compared, n_names);
}

/* An encoding that is not known, or not that of the text, is named, and the bytes stay. */
static void test_unknown(void **state)
{
    static const struct {
        const char *encoding, *named;
    } cases[] = {{"x-unknown", "x-unknown"},
                 {"UTF-8//IGNORE", "UTF-8//IGNORE"},
                 {"US-ASCII", "US-ASCII"},
                 {"latin-1", NULL},
                 {"utf8", NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char script[600], named[100];
        snprintf(script, sizeof(script),
                 "rm -rf r; git init -q -b main r; cd r; printf 'commit refs/heads/main\\nauthor "
                 "J\\366rg <a@b> 1700000000 +0000\\ncommitter c <c@d> 1700000000 +0000\\nencoding "
                 "%s\\ndata 5\\nGr\\374n\\n\\n' | git fast-import --quiet",
                 cases[i].encoding);
        sh(script);
        if (peer_open(&p, "r", &(mcp_git_options){0}, NULL, NULL) != MCP_OK)
            fail_msg("%s", p.error.text);
        snprintf(named, sizeof(named), "%s\\\"encoding\\\":\\\"%s", cases[i].named ? "" : "!",
                 cases[i].named ? cases[i].named : "");
        const char *uris[] = {"r/-/log/HEAD", "r/-/commit/main"};
        for (size_t k = 0; k < 2; k++)
            check_reply(cases[i].encoding, read_uri(&p, uris[k]),
                        (const char *const[5]){named, "Jörg", "Grün"});
        peer_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_encodings),
                                       cmocka_unit_test(test_unknown)};
    return cmocka_run_group_tests(tests, setup_top, teardown_top);
}
