/* tools.c: the resources once more, as two tools, for hosts that know only tools.
 *
 * They answer in text that a model reads easily: a line per entry as a folder's listing has it,
 * and the contents of a file as they are. What goes wrong is told in words that say what to do
 * next.
 */
#define _GNU_SOURCE
#include "provider.h"

#include <stdatomic.h>
#include <stdio.h>

#include "glob.h"

enum {
    DEFAULT_LIMIT = 200,
    MAX_LIMIT = 1000,
    MAX_PATTERN = 256,    /* characters */
    MATCHED_PAGE = 10000, /* entries that a pattern is tried on before their folder is read again */
    MOST_EXAMINED = 100000, /* for one call, with a pattern */
};

static const char list_schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"pattern\":{\"type\":\"string\",\"maxLength\":256,\"description\":\"Only paths that match "
    "this glob, relative "
    "to "
    "the source: *.md (any folder), src/**/*.c\"},"
    "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000,\"description\":\"Entries at "
    "the "
    "most; default 200\"},"
    "\"cursor\":{\"type\":\"string\",\"description\":\"Where to go on, from the last line of the "
    "answer before\"}},\"additionalProperties\":false}";

static const char read_schema[] =
    "{\"type\":\"object\",\"required\":[\"uri\"],\"properties\":{"
    "\"uri\":{\"type\":\"string\",\"description\":\"A file:// URI, as list_resources gives it\"},"
    "\"offset\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"First byte (from 0)\"},"
    "\"length\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"Number of bytes\"},"
    "\"line\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"First line (from 1)\"},"
    "\"lines\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"Number of lines\"},"
    "\"tail\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"Only the last lines, this "
    "many\"},"
    "\"depth\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":64,\"description\":\"Of a folder: "
    "levels to list\"},"
    "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":10000,\"description\":\"Of a "
    "folder: "
    "entries at the most\"}},\"additionalProperties\":false}";

/* ---- list_resources -------------------------------------------------------------------------- */

typedef struct listing {
    files *f;
    mcp_str pattern; /* of the request */
    size_t limit, count;
    files_cursor cursor;
    files_walk_result result;
    files_buffer out;
    bool enough;      /* one more than the limit was found; `cursor` is before it */
    atomic_bool stop; /* read by the worker */
    int rc;
} listing;

/* What emit answers when it has enough; no code of the walk's. */
enum { ENOUGH = 1 };

/* As a line of a .gitignore: without a slash the name counts, else the path. */
static bool wanted(const listing *l, const files_entry *e)
{
    mcp_str pattern = l->pattern;
    if (!pattern.len)
        return true;
    if (!memchr(pattern.ptr, '/', pattern.len))
        return files_glob_match(pattern, e->name);
    if (*pattern.ptr == '/')
        pattern.ptr++, pattern.len--;
    return files_glob_match(pattern, e->rel);
}

/* With a pattern the position is kept by each entry that was taken: the page goes on beyond it. */
static void keep_place(listing *l, const files_entry *e)
{
    l->cursor.root = e->root;
    l->cursor.place = FILES_AFTER_ENTRY;
    l->cursor.len = e->rel.len;
    memcpy(l->cursor.path, e->rel.ptr, e->rel.len);
}

static int emit(const files_entry *e, void *user)
{
    listing *l = user;
    if (!wanted(l, e))
        return MCP_OK;
    if (l->count == l->limit) {
        l->enough = true;
        return ENOUGH;
    }
    l->count++;
    if (l->pattern.len && l->count == l->limit)
        keep_place(l, e);
    return files_put_line(l->f, e, &l->out);
}

static bool stopped(void *user)
{
    return atomic_load_explicit(&((listing *)user)->stop, memory_order_relaxed);
}

/* Pages until there is enough; with a pattern as many as one call may look at. A page of those has
 * nothing to do with the limit: each one reads its folder anew. */
static void list_work(void *user)
{
    listing *l = user;
    files_cursor at = l->cursor;
    size_t examined = 0;
    files_walk_options options = {.max = l->pattern.len ? MATCHED_PAGE : l->limit,
                                  .stop = stopped,
                                  .user = l,
                                  .alloc = &l->f->alloc};
    do {
        l->rc = files_walk_page(&l->f->roots, &at, &options, emit, l, &at, &l->result);
        examined += l->result.examined;
    } while (l->rc == MCP_OK && l->result.more && l->count < l->limit && examined < MOST_EXAMINED);
    if (l->rc == MCP_OK && !l->enough)
        l->cursor = at;
    if (l->enough)
        l->rc = MCP_OK, l->result.more = true;
}

/* The cursor as a word that a model can repeat. */
static int put_cursor(const files_cursor *cursor, files_buffer *out)
{
    char head[48];
    int n = snprintf(head, sizeof head, "%zu.%d.", cursor->root, (int)cursor->place);
    int rc = files_buffer_append(out, head, (size_t)n);
    if (rc == MCP_OK)
        rc = files_buffer_reserve(out, MCP_URI_ENCODED_SIZE(cursor->len));
    if (rc == MCP_OK && cursor->len)
        out->len += mcp_uri_encode_path((mcp_str){cursor->path, cursor->len}, out->ptr + out->len);
    return rc;
}

static bool take_number(mcp_str *text, uint64_t max, uint64_t *ret)
{
    const char *dot = text->len ? memchr(text->ptr, '.', text->len) : NULL;
    size_t len = dot ? (size_t)(dot - text->ptr) : 0;
    if (!files_number((mcp_str){text->ptr, len}, 0, max, ret))
        return false;
    text->ptr += len + 1;
    text->len -= len + 1;
    return true;
}

static bool take_cursor(const files *f, mcp_str text, files_cursor *ret)
{
    uint64_t root, place;
    *ret = (files_cursor){0};
    if (!take_number(&text, f->roots.count, &root) || !take_number(&text, FILES_AFTER_TREE, &place))
        return false;
    ret->root = (size_t)root;
    ret->place = (files_place)place;
    return mcp_uri_decode(text, ret->path, sizeof ret->path - 1, &ret->len) == MCP_OK;
}

static int append(files_buffer *out, const char *text)
{
    return files_buffer_append(out, text, strlen(text));
}

static int end_listing(listing *l)
{
    int rc = MCP_OK;
    if (!l->count)
        rc = append(&l->out, l->result.more ? "Nothing so far.\n" : "Nothing was found.\n");
    if (rc == MCP_OK && l->result.more) {
        rc = append(&l->out, "There is more. Call list_resources again with cursor: ");
        if (rc == MCP_OK)
            rc = put_cursor(&l->cursor, &l->out);
        if (rc == MCP_OK)
            rc = append(&l->out, "\n");
    }
    return rc;
}

static void list_done(mcp_request *req, void *user)
{
    listing *l = user;
    mcp_request_on_cancel(req, NULL, NULL);
    int rc = l->rc == MCP_OK ? end_listing(l) : l->rc;
    if (rc == MCP_OK)
        rc = mcp_reply_str(req, (mcp_str){l->out.ptr, l->out.len}, NULL);
    else if (rc == MCP_EINVAL)
        rc = mcp_reply_tool_error(req, "The cursor is not one of list_resources: leave it out to "
                                       "begin at the start.");
    files_buffer_free(&l->out);
    mcp_reply_finish(req, rc);
}

static void on_cancel(mcp_request *req, void *user)
{
    (void)req;
    atomic_store_explicit(&((listing *)user)->stop, true, memory_order_relaxed);
}

static size_t characters(mcp_str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++)
        n += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
    return n;
}

static int list_later(mcp_request *req, listing *l)
{
    l->rc = MCP_ECANCELLED; /* should it never be begun */
    mcp_request_on_cancel(req, on_cancel, l);
    int rc = mcp_request_work(req, list_work, list_done, l);
    if (rc < 0)
        mcp_request_on_cancel(req, NULL, NULL);
    return rc;
}

static int call_list(mcp_request *req, const mcp_json *arguments, void *user)
{
    listing *l = mcp_request_alloc(req, sizeof *l);
    if (!l)
        return MCP_ENOMEM;
    *l = (listing){.f = user};
    int64_t limit = mcp_json_int(mcp_json_get(arguments, "limit"), DEFAULT_LIMIT);
    if (limit < 1 || limit > MAX_LIMIT)
        return mcp_reply_tool_error(req, "limit must be a whole number from 1 to %d", MAX_LIMIT);
    l->limit = (size_t)limit;
    l->pattern = mcp_json_string(mcp_json_get(arguments, "pattern"));
    if (characters(l->pattern) > MAX_PATTERN)
        return mcp_reply_tool_error(req, "pattern is longer than %d characters", MAX_PATTERN);
    mcp_str cursor = mcp_json_string(mcp_json_get(arguments, "cursor"));
    if (cursor.len && !take_cursor(l->f, cursor, &l->cursor))
        return mcp_reply_tool_error(req, "The cursor is not one of list_resources: leave it out to "
                                         "begin at the start.");
    files_buffer_init(&l->out, &l->f->alloc);
    return list_later(req, l);
}

/* ---- read_resource --------------------------------------------------------------------------- */

typedef struct numbers {
    const mcp_json *arguments;
    char text[32];
} numbers;

/* A number of the arguments as a query would spell it; what is none becomes a text that is
 * refused. */
static bool get_argument(const char *name, mcp_str *text, void *user)
{
    numbers *n = user;
    const mcp_json *value = mcp_json_get(n->arguments, name);
    if (!value || mcp_json_is(value, MCP_JSON_NULL))
        return false;
    if (mcp_json_is(value, MCP_JSON_STRING)) {
        *text = mcp_json_string(value);
        return true;
    }
    int64_t number = mcp_json_int(value, -1);
    text->len = (size_t)snprintf(n->text, sizeof n->text, "%lld", (long long)number);
    text->ptr = n->text;
    return true;
}

static int call_read(mcp_request *req, const mcp_json *arguments, void *user)
{
    files_part part;
    char why[256];
    numbers n = {.arguments = arguments};
    mcp_str uri = mcp_json_string(mcp_json_get(arguments, "uri"));
    if (!uri.len)
        return mcp_reply_tool_error(req, "uri is missing: give a file:// URI, as list_resources "
                                         "shows them.");
    if (memchr(uri.ptr, '?', uri.len))
        return mcp_reply_tool_error(req, "Leave the query out of uri: offset, length, line, lines, "
                                         "tail, depth and limit are arguments.");
    if (files_part_make(user, get_argument, &n, &part, why) != MCP_OK)
        return mcp_reply_tool_error(req, "%s", why);
    return files_read(req, user, uri, part, true);
}

/* ---- registration ---------------------------------------------------------------------------- */

static const mcp_tool tools[] = {
    {.size = sizeof(mcp_tool),
     .name = "list_resources",
     .title = "List files and folders",
     .description = "Lists the files and folders that can be read, one line each: kind, size in "
                    "bytes, file:// URI, separated by tabs. Read them with read_resource.",
     .input_schema = list_schema,
     .read_only = MCP_HINT_YES,
     .destructive = MCP_HINT_NO,
     .idempotent = MCP_HINT_YES,
     .open_world = MCP_HINT_NO,
     .call = call_list},
    {.size = sizeof(mcp_tool),
     .name = "read_resource",
     .title = "Read a file or folder",
     .description = "Reads a file, or lists a folder, by its file:// URI. Of a large file read a "
                    "part: offset and length (bytes), line and lines, or tail (last lines).",
     .input_schema = read_schema,
     .read_only = MCP_HINT_YES,
     .destructive = MCP_HINT_NO,
     .idempotent = MCP_HINT_YES,
     .open_world = MCP_HINT_NO,
     .call = call_read},
};

int files_add_tools(mcp_server *server, files *f, mcp_error *error)
{
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < sizeof tools / sizeof *tools; i++)
        rc = mcp_server_add_tool(server, &tools[i], f, error);
    return rc;
}
