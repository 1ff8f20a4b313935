/* tools_search.c: search_resources: lines in files, by what stands in them.
 *
 * Files are read one after the other on a worker, whole, up to the largest size that a read returns;
 * what is larger, or no text, is passed over and counted. Of each file some lines, so that one that is
 * full of matches does not hide the others.
 */
#define _GNU_SOURCE
#include <unistd.h>

#include <stdio.h>

#include "content.h"
#include "needle.h"
#include "sweep.h"
#include "text.h"
#include "tools.h"

enum {
    DEFAULT_LIMIT = 100,
    MAX_LIMIT = 1000,
    DEFAULT_PER_FILE = 20,
    PAGE = 10000,            /* entries before their folder is read again */
    LINE_SHOWN = 240,        /* bytes of a line */
    LINE_BEFORE = 80,        /* of them before the match */
    KEPT_BUFFER = 256 << 10, /* of a file's bytes, from one file to the next */
};

static const int64_t file_ns = 5 * 1000000000LL; /* at the most for one file */

const char files_search_input[] =
    "{\"type\":\"object\",\"required\":[\"query\"],\"properties\":{"
    "\"query\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":1000,\"description\":\"What to "
    "look "
    "for on each line: this text, or with regex a regular expression (PCRE2)\"},"
    "\"regex\":{\"type\":\"boolean\",\"description\":\"query is a regular expression; default "
    "false\"},"
    "\"ignore_case\":{\"type\":\"boolean\",\"description\":\"Default false\"},"
    "\"pattern\":{\"type\":\"string\",\"maxLength\":256,\"description\":\"Only files whose path, "
    "relative to the source, matches this glob: *.md (any folder), src/**/*.c\"},"
    "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000,\"description\":\"Lines at the "
    "most; default 100\"},"
    "\"per_file\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000,\"description\":\"Lines of "
    "one "
    "file at the most; default 20\"},"
    "\"cursor\":{\"type\":\"string\",\"description\":\"Where to go on, from the end of the answer "
    "before\"}},\"additionalProperties\":false}";

const char files_search_output[] =
    "{\"type\":\"object\",\"required\":[\"files\",\"searched\",\"skipped\"],\"properties\":{"
    "\"files\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"uri\","
    "\"matches\"],"
    "\"properties\":{\"uri\":{\"type\":\"string\"},"
    "\"matches\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"line\","
    "\"text\"],"
    "\"properties\":{\"line\":{\"type\":\"integer\",\"description\":\"From 1 on\"},"
    "\"text\":{\"type\":\"string\",\"description\":\"The line, or what is around the match\"}}}},"
    "\"more\":{\"type\":\"boolean\",\"description\":\"The file has more matches\"}}}},"
    "\"searched\":{\"type\":\"integer\",\"description\":\"Files that were searched\"},"
    "\"skipped\":{\"type\":\"object\",\"description\":\"Files that were not\",\"properties\":{"
    "\"binary\":{\"type\":\"integer\"},\"large\":{\"type\":\"integer\"},"
    "\"slow\":{\"type\":\"integer\"},\"unreadable\":{\"type\":\"integer\"}}},"
    "\"cursor\":{\"type\":\"string\",\"description\":\"There is more: call again with it\"}}}";

/* Why files were passed over. */
typedef enum skip { BINARY = 0, LARGE, SLOW, UNREADABLE, SKIPS } skip;

static const char *const skip_names[SKIPS] = {"binary", "large", "slow", "unreadable"};

typedef struct search {
    files_sweep sweep; /* first */
    files_needle *needle;
    mcp_str glob; /* of the request */
    size_t limit, per_file;
    size_t count; /* lines found */
    size_t searched, skipped[SKIPS];
    int64_t file_began;
    common_buffer bytes, uri, out; /* a file's, its URI, the answer as text */
    common_buffer links;           /* URI and name of each file, each with a NUL behind it */
    mcp_json_writer *json;
} search;

/* ---- a line ---------------------------------------------------------------------------------- */

/* The next, or the last, place where a character begins. */
static size_t character_from(mcp_str s, size_t at)
{
    while (at < s.len && ((unsigned char)s.ptr[at] & 0xc0) == 0x80)
        at++;
    return at;
}

/* What is shown of a line: all of it, or what is around the match. `shown` has room for it. */
static mcp_str show_line(mcp_str line, size_t match, char shown[LINE_SHOWN + 16])
{
    if (line.len <= LINE_SHOWN)
        return line;
    size_t from = match > LINE_BEFORE ? character_from(line, match - LINE_BEFORE) : 0;
    size_t to =
        from + LINE_SHOWN < line.len ? character_from(line, from + LINE_SHOWN - 3) : line.len;
    int n = snprintf(shown, LINE_SHOWN + 16, "%s%.*s%s", from ? "…" : "", (int)(to - from),
                     line.ptr + from, to < line.len ? "…" : "");
    return (mcp_str){shown, (size_t)n};
}

static int put_match(search *s, size_t number, mcp_str line, size_t match)
{
    char shown[LINE_SHOWN + 16], head[32];
    mcp_str text = show_line(line, match, shown);
    int n = snprintf(head, sizeof head, "%zu: ", number);
    mcp_json_begin_object(s->json);
    mcp_json_key(s->json, "line"), mcp_json_add_uint(s->json, number);
    mcp_json_key(s->json, "text"), mcp_json_add_str(s->json, text);
    mcp_json_end(s->json);
    int rc = common_buffer_append(&s->out, head, (size_t)n);
    if (rc == MCP_OK)
        rc = common_buffer_append(&s->out, text.ptr, text.len);
    return rc == MCP_OK ? common_buffer_append(&s->out, "\n", 1) : rc;
}

/* ---- a file ---------------------------------------------------------------------------------- */

/* Its URI, before the first line of it. */
static int begin_file(search *s, const files_entry *e)
{
    s->uri.len = 0;
    int rc = files_put_uri(s->sweep.f, e->root, e->rel, &s->uri);
    if (rc == MCP_OK)
        rc = common_buffer_append(&s->links, s->uri.ptr, s->uri.len + 1);
    if (rc == MCP_OK)
        rc = files_put_text(&s->links, e->name);
    if (rc == MCP_OK)
        rc = common_buffer_append(&s->links, "", 1);
    if (rc == MCP_OK)
        rc = common_buffer_append(&s->out, s->uri.ptr, s->uri.len);
    if (rc != MCP_OK)
        return rc;
    mcp_json_begin_object(s->json);
    mcp_json_key(s->json, "uri"), mcp_json_add_string(s->json, s->uri.ptr);
    mcp_json_key(s->json, "matches"), mcp_json_begin_array(s->json);
    return common_buffer_append(&s->out, "\n", 1);
}

static int end_file(search *s, size_t found, bool more)
{
    static const char text[] = "(and more in this file)\n";
    if (!found)
        return MCP_OK;
    mcp_json_end(s->json);
    if (more)
        mcp_json_key(s->json, "more"), mcp_json_add_bool(s->json, true);
    mcp_json_end(s->json);
    return more ? common_buffer_append(&s->out, text, sizeof text - 1) : MCP_OK;
}

/* A file that takes too long, or nobody waits any more. */
static bool stopped(void *user)
{
    const search *s = user;
    return files_sweep_stopped(&s->sweep) || files_sweep_now() - s->file_began > file_ns;
}

typedef struct place {
    size_t at, line; /* where a line begins, and its number */
} place;

/* On to the line that holds `match`. */
static mcp_str line_of(mcp_str text, place *p, size_t match)
{
    const char *lf;
    while ((lf = memchr(text.ptr + p->at, '\n', match - p->at)) != NULL) {
        p->at = (size_t)(lf - text.ptr) + 1;
        p->line++;
    }
    lf = memchr(text.ptr + match, '\n', text.len - match);
    mcp_str line = {text.ptr + p->at, (lf ? (size_t)(lf - text.ptr) : text.len) - p->at};
    line.len -= line.len && line.ptr[line.len - 1] == '\r';
    return line;
}

/* One match per line. MCP_ENOTFOUND: there are no more. */
static int search_text(search *s, const files_entry *e, mcp_str text, size_t *found, bool *more)
{
    place p = {0, 1};
    size_t begin, end, most = s->limit - s->count;
    if (most > s->per_file)
        most = s->per_file;
    for (size_t from = 0;;) {
        int rc = files_needle_find(s->needle, text, from, stopped, s, &begin, &end);
        if (rc != MCP_OK)
            return rc;
        if (*found == most) {
            *more = true;
            return MCP_ENOTFOUND;
        }
        mcp_str line = line_of(text, &p, begin);
        if (!*found)
            rc = begin_file(s, e);
        if (rc == MCP_OK)
            rc = put_match(s, p.line, line, begin - p.at);
        if (rc != MCP_OK)
            return rc;
        ++*found;
        const char *lf = memchr(text.ptr + begin, '\n', text.len - begin);
        if (!lf)
            return MCP_ENOTFOUND;
        from = (size_t)(lf - text.ptr) + 1;
    }
}

static int skip_file(search *s, skip why)
{
    s->skipped[why]++;
    return MCP_OK;
}

static int read_text(search *s, int fd, const struct stat *st)
{
    files_reader r = {.fd = fd, .limit = s->sweep.f->max_read, .stop = stopped, .user = s};
    if (s->bytes.cap > KEPT_BUFFER)
        common_buffer_free(&s->bytes);
    s->bytes.len = 0;
    return files_read_whole(&r, (uint64_t)st->st_size, &s->bytes);
}

/* What was found in a file until it took too long counts. */
static int search_bytes(search *s, const files_entry *e)
{
    mcp_str text = {s->bytes.ptr ? s->bytes.ptr : "", s->bytes.len};
    size_t found = 0;
    bool more = false;
    if (!common_text_check(text))
        return skip_file(s, BINARY);
    int rc = search_text(s, e, text, &found, &more);
    int ended = end_file(s, found, more);
    s->count += found;
    if (rc == MCP_ENOTFOUND) {
        s->searched++;
        return ended;
    }
    if ((rc == MCP_ELIMIT || rc == MCP_ECANCELLED) && !files_sweep_stopped(&s->sweep))
        return ended == MCP_OK ? skip_file(s, SLOW) : ended;
    return rc;
}

static int search_file(search *s, const files_entry *e)
{
    struct stat st;
    int fd = -1;
    int rc = files_root_open(&s->sweep.f->roots.items[e->root], e->rel.ptr, &fd, &st);
    if (rc == MCP_ENOMEM || rc == MCP_EFILES)
        return rc;
    if (rc != MCP_OK || !S_ISREG(st.st_mode)) {
        if (fd >= 0)
            close(fd);
        return skip_file(s, UNREADABLE);
    }
    s->file_began = files_sweep_now();
    rc = (uint64_t)st.st_size > s->sweep.f->max_read ? MCP_ELIMIT : read_text(s, fd, &st);
    close(fd);
    switch (rc) {
    case MCP_OK: return search_bytes(s, e);
    case MCP_ELIMIT: return skip_file(s, LARGE);
    case MCP_EIO: return skip_file(s, UNREADABLE);
    case MCP_ECANCELLED: return files_sweep_stopped(&s->sweep) ? rc : skip_file(s, SLOW);
    default: return rc;
    }
}

static bool wants(const files_sweep *sweep, const files_entry *e)
{
    return !e->is_dir && files_sweep_wants(((const search *)sweep)->glob, e);
}

static int take(files_sweep *sweep, const files_entry *e)
{
    search *s = (search *)sweep;
    return s->count >= s->limit ? FILES_SWEEP_ENOUGH : search_file(s, e);
}

/* ---- the reply ------------------------------------------------------------------------------- */

static int put_summary(search *s)
{
    char text[200];
    int n = snprintf(text, sizeof text, "%s%zu %s searched", s->count ? "" : "Nothing was found. ",
                     s->searched, s->searched == 1 ? "file" : "files");
    for (skip i = 0; i < SKIPS; i++)
        if (s->skipped[i])
            n += snprintf(text + n, sizeof text - (size_t)n, ", %zu %s", s->skipped[i],
                          skip_names[i]);
    int rc = common_buffer_append(&s->out, text, (size_t)n);
    if (rc == MCP_OK)
        rc = common_buffer_append(&s->out, ".\n", 2);
    return rc == MCP_OK ? files_sweep_put_more(&s->sweep, "search_resources", &s->out) : rc;
}

static int end_json(search *s, mcp_str *ret)
{
    mcp_json_writer *w = s->json;
    mcp_json_end(w);
    mcp_json_key(w, "searched"), mcp_json_add_uint(w, s->searched);
    mcp_json_key(w, "skipped"), mcp_json_begin_object(w);
    for (skip i = 0; i < SKIPS; i++)
        if (s->skipped[i])
            mcp_json_key(w, skip_names[i]), mcp_json_add_uint(w, s->skipped[i]);
    mcp_json_end(w);
    int rc = files_sweep_add_cursor(&s->sweep, w);
    mcp_json_end(w);
    return rc == MCP_OK ? mcp_json_writer_finish(w, ret) : rc;
}

/* A link to each file with matches, for hosts that let people open them. */
static int reply_links(search *s)
{
    int rc = MCP_OK;
    for (size_t at = 0; rc == MCP_OK && at < s->links.len;) {
        const char *uri = s->links.ptr + at, *name = uri + strlen(uri) + 1;
        rc = mcp_reply_content(
            s->sweep.req,
            MCP_OPTIONS(mcp_content, .kind = MCP_CONTENT_LINK, .uri = uri, .name = name,
                        .mime_type = files_mime_of_name(s->sweep.f->mime, mcp_str_from(name))));
        at += (size_t)(name - uri) + strlen(name) + 1;
    }
    return rc;
}

static int reply(search *s)
{
    mcp_str json;
    int rc = put_summary(s);
    if (rc == MCP_OK)
        rc = end_json(s, &json);
    if (rc == MCP_OK)
        rc = mcp_reply_str(s->sweep.req, (mcp_str){s->out.ptr, s->out.len}, NULL);
    if (rc == MCP_OK)
        rc = reply_links(s);
    return rc == MCP_OK ? mcp_reply_structured(s->sweep.req, json) : rc;
}

static int done(files_sweep *sweep)
{
    search *s = (search *)sweep;
    int rc = sweep->rc;
    if (rc == MCP_OK)
        rc = reply(s);
    else if (rc == MCP_EINVAL)
        rc = mcp_reply_tool_error(sweep->req, "The cursor is not one of search_resources: leave it "
                                              "out to begin at the start.");
    else if (rc == MCP_EFILES)
        rc = mcp_reply_tool_error(sweep->req, "Too many files are open; try again");
    common_buffer *buffers[] = {&s->bytes, &s->uri, &s->out, &s->links};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        common_buffer_free(buffers[i]);
    mcp_json_writer_free(s->json);
    files_needle_free(s->needle);
    return rc;
}

/* ---- the call -------------------------------------------------------------------------------- */

static int run(search *s)
{
    common_buffer *buffers[] = {&s->bytes, &s->uri, &s->out, &s->links};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        common_buffer_init(buffers[i], &s->sweep.f->alloc);
    s->json = mcp_json_writer_new(&s->sweep.f->alloc, 0);
    if (!s->json) {
        files_needle_free(s->needle);
        return MCP_ENOMEM;
    }
    mcp_json_begin_object(s->json);
    mcp_json_key(s->json, "files"), mcp_json_begin_array(s->json);
    return files_sweep_run(&s->sweep);
}

static int take_arguments(search *s, const mcp_json *arguments, bool *told)
{
    mcp_request *req = s->sweep.req;
    int rc = files_sweep_number(req, arguments, "limit", DEFAULT_LIMIT, MAX_LIMIT, &s->limit, told);
    if (rc == MCP_OK && !*told)
        rc = files_sweep_number(req, arguments, "per_file", DEFAULT_PER_FILE, MAX_LIMIT,
                                &s->per_file, told);
    if (rc == MCP_OK && !*told)
        rc = files_sweep_arguments(&s->sweep, arguments, "search_resources", "pattern", &s->glob,
                                   told);
    return rc;
}

int files_call_search(mcp_request *req, const mcp_json *arguments, void *user)
{
    files *f = user;
    char why[200];
    bool told;
    search *s = mcp_request_alloc(req, sizeof *s);
    if (!s)
        return MCP_ENOMEM;
    *s = (search){.sweep = {.f = f,
                            .req = req,
                            .page = PAGE,
                            .wants = wants,
                            .take = take,
                            .slow = true,
                            .done = done}};
    int rc = take_arguments(s, arguments, &told);
    if (rc != MCP_OK || told)
        return rc;
    files_needle_options o = {.text = mcp_json_string(mcp_json_get(arguments, "query")),
                              .regex = mcp_json_bool(mcp_json_get(arguments, "regex"), false),
                              .ignore_case =
                                  mcp_json_bool(mcp_json_get(arguments, "ignore_case"), false)};
    rc = files_needle_new(&o, &f->alloc, &s->needle, why);
    if (rc == MCP_EINVAL)
        return mcp_reply_tool_error(req, "query: %s", why);
    return rc == MCP_OK ? run(s) : rc;
}
