/* read.c: read_resource: sends resources/read to the server itself (loopback.h) and converts the
 * contents to a tool result.
 *
 * Text becomes text content, whatever its MIME type, because models can read it and hosts refuse
 * unknown types. Images and audio become content of their kind, and everything else an embedded
 * resource, unless the caller names the charset in which it is a text.
 *
 * A text is cut to the size of an answer (cut.h). What is left of it follows in further calls, by
 * the arguments line or offset, which every text has in this tool: if the resource does not know
 * them, it is read whole and cut here. JSON that is too large is read as lines, if its source has
 * such a form (format=text).
 */
#define _GNU_SOURCE
#include "tools.h"

#include <stdarg.h>
#include <stdio.h>

#include "cut.h"
#include "decode.h"
#include "file_parts.h"
#include "names.h"
#include "near.h"
#include "text.h"

enum {
    MOST_BYTES = 4 << 20, /* limit for pictures, which a host has to process in one message */
    USUAL_LINE = 64,      /* bytes, for the number of lines of a huge file that are read */
    LINES_BEFORE = 20,    /* shown before the line of a name like a.c:120, and after it */
    ONE_MORE = 4,         /* bytes beyond the answer, which show that a text goes on */
};

typedef enum step {
    AT_RESOURCE = 0, /* reading the resource, with the arguments as parameters */
    AT_WHOLE,        /* reading it without them: this tool cuts it */
    AT_BYTES,        /* reading as many bytes as fit of a file that is larger than any answer */
    AT_LINES,        /* the same as lines, because the bytes are not UTF-8 */
    AT_FOLDER,       /* reading the folder that a missing resource would be in */
    AT_LIST,         /* nothing similar was found there: reading the first page of the list */
    AT_NAME,         /* reading each URI that a name may mean */
} step;

typedef struct reading {
    bridge_tools *all;
    mcp_request *req;
    const mcp_json *arguments;
    size_t most; /* bytes of the answer */
    step step;
    mcp_str given; /* by the caller */
    bridge_names names;
    size_t name;              /* which of them is read now */
    size_t n_found, found[2]; /* which of them exist */
    uint64_t line;            /* that the name had, or 0 */
    mcp_str uri;              /* of the resource, with its query */
    mcp_str asked;            /* the same with the arguments; what is read now */
    mcp_str folder;           /* the folder that should contain the resource, or empty */
    bool as_text;             /* the URI has format=text now, because its JSON is too large */
    bool only_json;           /* it does not have this form */
    int64_t size;             /* of a huge file */
    uint64_t from, length;    /* the bytes that are read of it */
    bool converted;           /* the text is not the resource's bytes, which an offset counts */
    common_ask ask;
    common_near near;
} reading;

/* Returns an argument of the call, or 0, which none of them has to have. */
static uint64_t number(const reading *r, const char *name)
{
    int64_t n = mcp_json_int(mcp_json_get(r->arguments, name), 0);
    if (r->line && strcmp(name, "line") == 0)
        return r->line > LINES_BEFORE ? r->line - LINES_BEFORE : 1;
    if (r->line && strcmp(name, "lines") == 0)
        return 2 * LINES_BEFORE + 1;
    return n > 0 ? (uint64_t)n : 0;
}

/* Returns whether the call, or the name, has one of these parameters. */
static bool has_number(const reading *r, const char *name)
{
    return number(r, name) || mcp_json_int(mcp_json_get(r->arguments, name), -1) >= 0;
}

static mcp_str charset_of(const reading *r)
{
    return mcp_json_string(mcp_json_get(r->arguments, "charset"));
}

static bool is_file(const reading *r)
{
    return r->uri.len > 5 && memcmp(r->uri.ptr, "file:", 5) == 0;
}

/* ---- contents -------------------------------------------------------------------------------- */

static bool is_kind(mcp_str type, const char *kind)
{
    size_t len = strlen(kind);
    return type.len >= len && memcmp(type.ptr, kind, len) == 0;
}

/* ---- how to go on ---- */

/* Writes what was shown and the call that shows what follows, as a text and as a value. */
static int put_next(reading *r, const char *member, uint64_t at, const char *rest, uint64_t left,
                    const char *format, ...) MCP_PRINTF(6, 7);

static int put_next(reading *r, const char *member, uint64_t at, const char *rest, uint64_t left,
                    const char *format, ...)
{
    char shown[200];
    va_list args;
    va_start(args, format);
    vsnprintf(shown, sizeof(shown), format, args);
    va_end(args);
    mcp_str json = {0};
    char *text = NULL, *meta = NULL;
    mcp_json_writer *w = mcp_json_writer_new(&r->all->alloc, 0);
    mcp_json_begin_object(w);
    mcp_json_put_str(w, "uri", r->uri);
    mcp_json_put_uint(w, member, at);
    if (left)
        mcp_json_put_uint(w, rest, left);
    if (mcp_json_get(r->arguments, "max_tokens"))
        mcp_json_put_uint(w, "max_tokens", number(r, "max_tokens"));
    if (charset_of(r).len)
        mcp_json_put_str(w, "charset", charset_of(r));
    mcp_json_end(w);
    int rc = w ? mcp_json_writer_finish(w, &json) : MCP_ENOMEM;
    size_t room = json.len + sizeof(shown) + 100;
    if (rc == MCP_OK && ((text = mcp_request_alloc(r->req, room)) == NULL ||
                         (meta = mcp_request_alloc(r->req, room)) == NULL))
        rc = MCP_ENOMEM;
    if (rc == MCP_OK) {
        snprintf(text, room, "%s. Go on with read_resource %.*s", shown, (int)json.len, json.ptr);
        snprintf(meta, room, "{\"libmcp/next\":{\"name\":\"read_resource\",\"arguments\":%.*s}}",
                 (int)json.len, json.ptr);
        rc = mcp_reply_content(r->req, MCP_OPTIONS(mcp_content, .kind = MCP_CONTENT_TEXT,
                                                   .text = mcp_str_from(text), .meta = meta));
    }
    mcp_json_writer_free(w);
    return rc;
}

/* Returns whether a part of a huge file is read, after which there is more. */
static bool is_part(const reading *r)
{
    return r->step == AT_BYTES || r->step == AT_LINES;
}

/* The text was cut after a line. */
static int put_next_line(reading *r, const bridge_cut *c)
{
    bool local = r->step == AT_WHOLE;
    uint64_t before = !local && number(r, "line") ? number(r, "line") - 1 : 0;
    uint64_t first = before + c->first, last = before + c->last, lines = number(r, "lines");
    uint64_t left = lines ? lines - (last - first + 1) : 0, total = before + c->total;
    if (is_part(r))
        return put_next(r, "line", last + 1, "lines", left,
                        "Lines %llu to %llu of a file of %lld bytes", (unsigned long long)first,
                        (unsigned long long)last, (long long)r->size);
    if (lines && !local)
        return put_next(r, "line", last + 1, "lines", left, "Lines %llu to %llu",
                        (unsigned long long)first, (unsigned long long)last);
    return put_next(r, "line", last + 1, "lines", left, "Lines %llu to %llu of %llu",
                    (unsigned long long)first, (unsigned long long)last, (unsigned long long)total);
}

/* The text was cut within a line, or begins at an offset. */
static int put_next_byte(reading *r, const bridge_cut *c, mcp_str whole)
{
    uint64_t from = r->step == AT_WHOLE ? 0 : r->step == AT_BYTES ? r->from : number(r, "offset");
    uint64_t begin = from + (size_t)(c->text.ptr - whole.ptr), end = begin + c->text.len;
    uint64_t length = number(r, "length");
    uint64_t wanted = number(r, "offset") + length;
    bool by_line = number(r, "line") && r->step != AT_WHOLE;
    if (!by_line && r->converted)
        return mcp_reply_textf(r->req,
                               "Only its first %zu bytes, in UTF-8. A text in another charset "
                               "cannot be read from within a line: set max_tokens.",
                               c->text.len);
    if (!by_line)
        return put_next(r, "offset", end, "length", length && wanted > end ? wanted - end : 0,
                        "Bytes %llu to %llu", (unsigned long long)begin, (unsigned long long)end);
    if (r->step == AT_BYTES)
        return put_next(r, "offset", end, NULL, 0,
                        "Line %llu has more than an answer: bytes %llu to %llu of the file; the "
                        "next one is line %llu",
                        (unsigned long long)number(r, "line"), (unsigned long long)begin,
                        (unsigned long long)end, (unsigned long long)number(r, "line") + 1);
    return put_next(r, "line", number(r, "line") + c->last, NULL, 0,
                    "Line %llu has more than an answer: only its first %zu bytes",
                    (unsigned long long)(number(r, "line") + c->last - 1), c->text.len);
}

/* The last lines are larger than any answer. */
static int put_tail_hint(reading *r, const bridge_cut *c, mcp_str whole)
{
    uint64_t begin = r->from + (size_t)(c->text.ptr - whole.ptr), lines = c->last - c->first + 1;
    return mcp_reply_textf(r->req,
                           "Only the last %llu of these lines, from byte %llu on%s, of a file of "
                           "%lld bytes. For what is before them, set offset and length.",
                           (unsigned long long)lines, (unsigned long long)begin,
                           c->within ? " (within a line)" : "", (long long)r->size);
}

static int put_hint(reading *r, const bridge_cut *c, mcp_str whole)
{
    uint64_t shown = c->last - c->first + 1;
    if (r->step == AT_BYTES && number(r, "tail"))
        return put_tail_hint(r, c, whole);
    if (is_part(r) && !c->within && !number(r, "offset")) /* there is more than was read */
        return put_next_line(r, c);
    if (r->step == AT_BYTES)
        return put_next_byte(r, c, whole);
    if (r->line && c->text.len && !c->more)
        return mcp_reply_textf(r->req, "Lines %llu to %llu of %.*s.",
                               (unsigned long long)number(r, "line"),
                               (unsigned long long)(number(r, "line") + c->last - c->first),
                               (int)r->uri.len, r->uri.ptr);
    if (!c->text.len && (number(r, "line") || number(r, "offset")))
        return mcp_reply_text(r->req, "There is nothing from there on.");
    if (!c->more)
        return MCP_OK;
    if (number(r, "tail"))
        return mcp_reply_textf(r->req,
                               "Only the last %llu of these %llu lines. For those before them, set "
                               "line and lines, or max_tokens.",
                               (unsigned long long)shown, (unsigned long long)c->total);
    if (c->within || number(r, "offset") || number(r, "length"))
        return put_next_byte(r, c, whole);
    return put_next_line(r, c);
}

/* ---- texts ---- */

/* Returns the part of a text that was asked for and fits. */
static void cut(const reading *r, mcp_str text, bridge_cut *c)
{
    uint64_t offset = number(r, "offset"), length = number(r, "length");
    bool local = r->step == AT_WHOLE;
    size_t from = local && offset < text.len ? (size_t)offset : local && offset ? text.len : 0;
    while (from < text.len && ((unsigned char)text.ptr[from] & 0xc0) == 0x80)
        from++;
    text = (mcp_str){text.ptr + from, text.len - from};
    if (local && length && length < text.len)
        text.len = (size_t)length;
    if (number(r, "tail"))
        bridge_cut_tail(text, r->most, c);
    else
        bridge_cut_lines(text, local ? number(r, "line") : 1, local ? number(r, "lines") : 0,
                         r->most, c);
}

/* Returns the text without the part of a line at its end, or with `tail` at its beginning, unless this is
 * all of it. */
static mcp_str whole_lines(reading *r, mcp_str text, bool tail)
{
    const char *lf = tail ? memchr(text.ptr, '\n', text.len) : memrchr(text.ptr, '\n', text.len);
    if (!lf || (tail && (!r->from || lf + 1 == text.ptr + text.len)))
        return text;
    size_t len = (size_t)(lf + 1 - text.ptr);
    r->from += tail ? len : 0;
    return tail ? (mcp_str){text.ptr + len, text.len - len} : (mcp_str){text.ptr, len};
}

/* With several contents, each is preceded by its URI. */
static int put_text(reading *r, const mcp_json *content, mcp_str text, bool several)
{
    mcp_str uri = mcp_json_string(mcp_json_get(content, "uri"));
    bridge_cut c;
    int rc = MCP_OK;
    if (r->step == AT_BYTES && (number(r, "tail") || !number(r, "offset")))
        text = whole_lines(r, text, number(r, "tail") != 0);
    if (several)
        rc = mcp_reply_textf(r->req, "%.*s:", (int)uri.len, uri.ptr ? uri.ptr : "");
    cut(r, text, &c);
    if (rc == MCP_OK)
        rc = mcp_reply_str(r->req, c.text, NULL);
    if (rc == MCP_OK && several && c.more)
        rc = mcp_reply_textf(r->req, "Only its first %zu of %zu bytes.", c.text.len, text.len);
    else if (rc == MCP_OK && !several)
        rc = put_hint(r, &c, text);
    r->most -= c.text.len < r->most ? c.text.len : r->most;
    return rc;
}

static int put_bytes(reading *r, const mcp_json *content, const void *bytes, size_t len)
{
    mcp_str uri = mcp_json_string(mcp_json_get(content, "uri"));
    mcp_str type = mcp_json_string(mcp_json_get(content, "mimeType"));
    mcp_content c = {.size = sizeof(c),
                     .kind = is_kind(type, "image/")   ? MCP_CONTENT_IMAGE
                             : is_kind(type, "audio/") ? MCP_CONTENT_AUDIO
                                                       : MCP_CONTENT_RESOURCE,
                     .bytes = bytes,
                     .bytes_len = len,
                     .uri = mcp_request_strdup(r->req, uri),
                     .mime_type = type.ptr ? mcp_request_strdup(r->req, type) : NULL};
    if (!c.uri || (type.ptr && !c.mime_type))
        return MCP_ENOMEM;
    return mcp_reply_content(r->req, &c);
}

/* ---- contents that are not UTF-8 ---- */

static bool is_shown(const mcp_json *content)
{
    mcp_str type = mcp_json_string(mcp_json_get(content, "mimeType"));
    return is_kind(type, "image/") || is_kind(type, "audio/");
}

static int too_much(const reading *r, const mcp_json *content, size_t len, size_t most)
{
    mcp_str type = mcp_json_string(mcp_json_get(content, "mimeType"));
    return mcp_reply_tool_error(
        r->req,
        "It has %zu bytes of binary data (%.*s), more than this tool returns at once (%zu).%s", len,
        type.len < 100 ? (int)type.len : 100, type.ptr ? type.ptr : "unknown", most,
        is_shown(content) ? ""
                          : " If it is a text, name its charset. Otherwise read a part of a "
                            "file: offset and length.");
}

/* How it can be read as a text, if it may be one. */
static int put_charset_hint(const reading *r, mcp_str bytes)
{
    const char *charset = bridge_charset_to_try(bytes);
    if (!charset)
        return MCP_OK;
    return mcp_reply_textf(r->req,
                           "These bytes are not UTF-8. If they are a text, read it with its "
                           "charset, such as \"charset\":\"%s\". Tools that change files take "
                           "charset, too.",
                           charset);
}

static int put_binary(reading *r, const mcp_json *content, mcp_str bytes)
{
    int rc = put_bytes(r, content, bytes.ptr, bytes.len);
    return rc == MCP_OK && !is_shown(content) ? put_charset_hint(r, bytes) : rc;
}

static int put_decoded(reading *r, const mcp_json *content, mcp_str bytes, bool several)
{
    editing_text text;
    mcp_error error;
    int rc = bridge_decode(bytes, charset_of(r), &r->all->alloc, &text, &error);
    if (rc == MCP_ENOMEM)
        return rc;
    if (rc != MCP_OK)
        return mcp_reply_tool_error(r->req, "It cannot be read with this charset: %s", error.text);
    r->converted = true;
    rc = put_text(r, content, text.text, several);
    editing_text_close(&text);
    return rc;
}

/* A model sees pictures, and hears sound. Base64 of anything else only fills its memory. */
static int put_blob(reading *r, const mcp_json *content, bool several)
{
    mcp_str blob = mcp_json_string(mcp_json_get(content, "blob"));
    const mcp_allocator *alloc = &r->all->alloc;
    bool decodes = charset_of(r).len && !is_shown(content);
    size_t len = blob.len / 4 * 3, most = is_shown(content) ? MOST_BYTES : r->most / 4 * 3;
    if (len > most && !decodes)
        return too_much(r, content, len, most);
    char *bytes = common_alloc(alloc, len + 1);
    if (!bytes)
        return MCP_ENOMEM;
    int rc = mcp_base64_decode(bytes, blob, &len);
    if (rc == MCP_OK)
        rc = decodes ? put_decoded(r, content, (mcp_str){bytes, len}, several)
                     : put_binary(r, content, (mcp_str){bytes, len});
    common_release(alloc, bytes);
    return rc;
}

/* Passes on the version of a file that the caller may change. It is of another server perhaps, so only what a version
 * consists of is repeated to a model. */
static int put_version(reading *r, const mcp_json *content)
{
    enum { LONGEST = 80 };
    char text[LONGEST + 40], meta[LONGEST + 40];
    mcp_str version =
        mcp_json_string(mcp_json_get(mcp_json_get(content, "_meta"), "libmcp/version"));
    if (!version.len || version.len > LONGEST)
        return MCP_OK;
    for (size_t i = 0; i < version.len; i++)
        if (!strchr("0123456789abcdef-", version.ptr[i]) || !version.ptr[i])
            return MCP_OK;
    snprintf(text, sizeof(text), "Version %.*s (for if_match)", (int)version.len, version.ptr);
    snprintf(meta, sizeof(meta), "{\"libmcp/version\":\"%.*s\"}", (int)version.len, version.ptr);
    return mcp_reply_content(r->req, MCP_OPTIONS(mcp_content, .kind = MCP_CONTENT_TEXT,
                                                 .text = mcp_str_from(text), .meta = meta));
}

/* Puts the bytes of a part of a file, which may begin or end within a character. Returns MCP_EPARSE if they
 * are no text. */
static int put_part(reading *r, const mcp_json *content, bool puts)
{
    mcp_str blob = mcp_json_string(mcp_json_get(content, "blob"));
    size_t len = blob.len / 4 * 3;
    char *bytes = common_alloc(&r->all->alloc, len + 1);
    if (!bytes)
        return MCP_ENOMEM;
    int rc = mcp_base64_decode(bytes, blob, &len);
    mcp_str text = common_text_whole((mcp_str){bytes, rc == MCP_OK ? len : 0});
    if (rc == MCP_OK && !common_text_check(text))
        rc = MCP_EPARSE;
    if (rc == MCP_OK && puts) {
        r->from += (size_t)(text.ptr - bytes);
        rc = put_text(r, content, text, false);
    }
    common_release(&r->all->alloc, bytes);
    return rc;
}

static int put_content(reading *r, const mcp_json *content, bool several)
{
    if (r->step == AT_BYTES && mcp_json_get(content, "blob") && !charset_of(r).len) {
        int rc = put_part(r, content, true);
        if (rc != MCP_EPARSE)
            return rc;
    }
    mcp_str type = mcp_json_string(mcp_json_get(content, "mimeType"));
    r->converted = type.len && memmem(type.ptr, type.len, ";charset=utf-16", 15);
    if (mcp_json_get(content, "blob"))
        return put_blob(r, content, several);
    return put_text(r, content, mcp_json_string(mcp_json_get(content, "text")), several);
}

static int put_contents(reading *r)
{
    const mcp_json *contents = mcp_json_get(r->ask.result, "contents");
    bool several = mcp_json_count(contents) > 1;
    mcp_json_iter it = {0};
    int rc = MCP_OK;
    for (const mcp_json *c; rc == MCP_OK && (c = mcp_json_next(contents, &it, NULL)) != NULL;)
        rc = put_content(r, c, several);
    if (rc == MCP_OK && !several)
        rc = put_version(r, mcp_json_at(contents, 0));
    return rc;
}

/* ---- errors ---------------------------------------------------------------------------------- */

static int put_error(const reading *r)
{
    mcp_str message = mcp_json_string(mcp_json_get(r->ask.error, "message"));
    return mcp_reply_tool_error(r->req, "%.*s", (int)message.len, message.ptr ? message.ptr : "");
}

/* Writes the error for a missing resource, with similar URIs. */
static int reply_not_found(const reading *r)
{
    char near[COMMON_NEAR_WORDS];
    return mcp_reply_tool_error(r->req,
                                "There is no resource %.*s, or it is not served.%s Use "
                                "list_resources or find_resources to see what is available.",
                                r->given.len < 500 ? (int)r->given.len : 500, r->given.ptr,
                                common_near_words(&r->near, near));
}

/* Returns whether this tool has to cut the resource, which does not know the arguments. A missing
 * file is missing without them, too. */
static bool knows_no_lines(const reading *r)
{
    int64_t code = mcp_json_int(mcp_json_get(r->ask.error, "code"), 0);
    mcp_str message = mcp_json_string(mcp_json_get(r->ask.error, "message"));
    return r->ask.error && (number(r, "line") || number(r, "offset")) && !number(r, "tail") &&
           (mcp_str_eq(message, MCP_STR("Resource not found"))
                ? !is_file(r) || memchr(r->uri.ptr, '?', r->uri.len)
                : code == MCP_CODE_INVALID_PARAMS);
}

/* Returns whether a file is too large to be read as it was asked for, and takes its size. */
static bool is_huge(reading *r)
{
    const mcp_json *data = mcp_json_get(r->ask.error, "data");
    r->size = mcp_json_int(mcp_json_get(data, "size"), 0);
    r->from = (uint64_t)mcp_json_int(mcp_json_get(data, "offset"), 0);
    r->length = (uint64_t)mcp_json_int(mcp_json_get(data, "limit"), 0);
    return r->length && is_file(r) && !memchr(r->uri.ptr, '?', r->uri.len) && !number(r, "length");
}

/* Returns whether the bytes of a huge file have to be read as lines, because they are not UTF-8. */
static bool is_no_text(reading *r)
{
    const mcp_json *content = mcp_json_at(mcp_json_get(r->ask.result, "contents"), 0);
    return r->step == AT_BYTES && mcp_json_get(content, "blob") && !number(r, "tail") &&
           !number(r, "offset") && put_part(r, content, false) == MCP_EPARSE;
}

/* Returns whether the answer is JSON that has to be cut. */
static bool is_large_json(const reading *r)
{
    const mcp_json *content = mcp_json_at(mcp_json_get(r->ask.result, "contents"), 0);
    mcp_str type = mcp_json_string(mcp_json_get(content, "mimeType"));
    size_t len = mcp_json_string(mcp_json_get(content, "text")).len;
    return (len > r->most || r->step == AT_WHOLE) && !is_file(r) && !r->only_json &&
           mcp_str_eq(type, MCP_STR("application/json")) &&
           !memmem(r->uri.ptr, r->uri.len, "format=", 7);
}

static bool is_not_found(const reading *r)
{
    mcp_str message = mcp_json_string(mcp_json_get(r->ask.error, "message"));
    return r->ask.rc == MCP_OK && mcp_str_eq(message, MCP_STR("Resource not found"));
}

static void try_uri(reading *r, mcp_str uri)
{
    common_near_try(&r->near, bridge_last_piece(uri), uri);
}

/* Looks for similar URIs in the folder's listing, whose lines end with a URI. */
static void try_folder(reading *r)
{
    const mcp_json *content = mcp_json_at(mcp_json_get(r->ask.result, "contents"), 0);
    mcp_str text = mcp_json_string(mcp_json_get(content, "text"));
    for (size_t at = 0, len; at < text.len; at += len + 1) {
        const char *line = text.ptr + at, *lf = memchr(line, '\n', text.len - at);
        len = lf ? (size_t)(lf - line) : text.len - at;
        const char *tab = memrchr(line, '\t', len);
        if (tab)
            try_uri(r, (mcp_str){tab + 1, len - (size_t)(tab + 1 - line)});
    }
}

/* Returns whether the URI is below a folder of the list, or in the folder of one of its files. */
static bool is_within(mcp_str uri, const mcp_json *list)
{
    mcp_json_iter it = {0};
    for (const mcp_json *one; (one = mcp_json_next(list, &it, NULL)) != NULL;) {
        mcp_str at = mcp_json_string(mcp_json_get(one, "uri"));
        mcp_str type = mcp_json_string(mcp_json_get(one, "mimeType"));
        if (!mcp_str_eq(type, MCP_STR("inode/directory")))
            at.len = (size_t)(bridge_last_piece(at).ptr - at.ptr);
        at.len -= at.len && at.ptr[at.len - 1] == '/';
        if (at.len && uri.len > at.len && uri.ptr[at.len] == '/' &&
            memcmp(uri.ptr, at.ptr, at.len) == 0)
            return true;
    }
    return false;
}

/* A path elsewhere on this machine is not a misspelled one of a served folder. */
static void try_list(reading *r)
{
    mcp_json_iter it = {0};
    const mcp_json *list = mcp_json_get(r->ask.result, "resources");
    bool is_path = r->uri.len > 5 && memcmp(r->uri.ptr, "file:", 5) == 0;
    if (is_path && !is_within(r->uri, list))
        return;
    for (const mcp_json *one; (one = mcp_json_next(list, &it, NULL)) != NULL;)
        try_uri(r, mcp_json_string(mcp_json_get(one, "uri")));
}

/* ---- requests -------------------------------------------------------------------------------- */

static void put_uri(mcp_json_writer *w, const void *user)
{
    const reading *r = user;
    mcp_json_put_str(w, "uri", r->step == AT_FOLDER ? r->folder : r->asked);
}

#define PART(kind, name, title, about, parameters)     parameters
#define NAME(kind, member, name, value, bounds, about) name,
#define ROOM(kind, member, name, value, bounds, about) +sizeof("&" name "=9223372036854775807")

static const char *const parts[] = {COMMON_PARTS(PART, NAME, NAME)};

enum {
    PARTS = sizeof(parts) / sizeof(*parts),
    PARTS_ROOM = COMMON_PARTS(PART, ROOM, ROOM),
};

/* Appends a parameter to the URI in `to`, which has room for it. */
static void add_part(char *to, const char *name, uint64_t value)
{
    char sign = strchr(to, '?') ? '&' : '?';
    sprintf(strchr(to, 0), "%c%s=%llu", sign, name, (unsigned long long)value);
}

/* Sets what is read: the URI and, with `parts`, the arguments as its query. */
static int set_asked(reading *r, bool parts_too)
{
    char *to = mcp_request_alloc(r->req, r->uri.len + PARTS_ROOM);
    if (!to)
        return MCP_ENOMEM;
    memcpy(to, r->uri.ptr, r->uri.len);
    to[r->uri.len] = 0;
    for (size_t i = 0; parts_too && i < PARTS; i++)
        if (has_number(r, parts[i]))
            add_part(to, parts[i], number(r, parts[i]));
    r->asked = mcp_str_from(to);
    return MCP_OK;
}

/* Sets the bytes of a huge file that fit, from its line or offset on, or up to its end. */
static int set_bytes(reading *r)
{
    uint64_t most = r->most + ONE_MORE, size = (uint64_t)r->size;
    char *to = mcp_request_alloc(r->req, r->uri.len + PARTS_ROOM);
    if (!to)
        return MCP_ENOMEM;
    r->length = r->length < most ? r->length : most;
    if (number(r, "offset"))
        r->from = number(r, "offset");
    if (number(r, "tail"))
        r->from = size > r->length ? size - r->length : 0;
    memcpy(to, r->uri.ptr, r->uri.len);
    to[r->uri.len] = 0;
    add_part(to, "offset", r->from);
    add_part(to, "length", r->length);
    r->asked = mcp_str_from(to);
    return MCP_OK;
}

/* Sets the next lines of a huge file, as many as usually fit. */
static int set_lines(reading *r)
{
    uint64_t lines = r->most / USUAL_LINE + 1, wanted = number(r, "lines");
    char *to = mcp_request_alloc(r->req, r->uri.len + PARTS_ROOM);
    if (!to)
        return MCP_ENOMEM;
    memcpy(to, r->uri.ptr, r->uri.len);
    to[r->uri.len] = 0;
    add_part(to, "line", number(r, "line") ? number(r, "line") : 1);
    add_part(to, "lines", wanted && wanted < lines ? wanted : lines);
    r->asked = mcp_str_from(to);
    return MCP_OK;
}

/* Adds or removes format=text. */
static int set_text(reading *r, bool text)
{
    static const char form[] = "format=text";
    if (!text) {
        r->uri.len -= sizeof(form);
    } else {
        char *to = mcp_request_alloc(r->req, r->uri.len + sizeof(form) + 1);
        if (!to)
            return MCP_ENOMEM;
        r->uri.len = (size_t)sprintf(to, "%.*s%c%s", (int)r->uri.len, r->uri.ptr,
                                     memchr(r->uri.ptr, '?', r->uri.len) ? '&' : '?', form);
        r->uri.ptr = to;
    }
    r->as_text = text;
    r->only_json = !text;
    return set_asked(r, r->step == AT_RESOURCE);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void later(void *user);

/* Returns whether the mount's URIs have the same scheme as the missing URI. */
static bool list_mount(const char *prefix, void *user)
{
    const reading *r = user;
    size_t len = strcspn(prefix, ":") + 1;
    return r->uri.len >= len && strncmp(r->uri.ptr, prefix, len) == 0;
}

static int ask(reading *r, step what)
{
    common_ask_clear(&r->ask);
    r->step = what;
    r->ask = (common_ask){.req = r->req,
                          .method = what == AT_LIST ? "resources/list" : "resources/read",
                          .put = what == AT_LIST ? NULL : put_uri,
                          .later = later,
                          .user = r,
                          .list_mount = list_mount,
                          .mounts_user = r,
                          .progress = what < AT_FOLDER};
    return common_loopback_ask(r->all->bridge->loopback, &r->ask);
}

/* Looks for similar URIs. Returns MCP_OK when the next answer is available, MCP_PENDING, or
 * MCP_ENOTFOUND when there are no further places to look. */
static int find_similar(reading *r)
{
    if (r->step < AT_FOLDER) {
        r->near.name = bridge_last_piece(r->uri);
        r->folder = (mcp_str){r->uri.ptr, (size_t)(r->near.name.ptr - r->uri.ptr)};
        r->folder.len -= r->folder.len > 0; /* the slash */
    } else {
        (r->step == AT_FOLDER ? try_folder : try_list)(r);
    }
    if (r->near.n || r->step == AT_LIST)
        return MCP_ENOTFOUND;
    return ask(r, r->step < AT_FOLDER && r->folder.len ? AT_FOLDER : AT_LIST);
}

static int reply(reading *r)
{
    mcp_str type = mcp_json_string(mcp_json_get(r->ask.result, "resultType"));
    if (r->ask.rc != MCP_OK)
        return r->ask.rc;
    if (!r->ask.result)
        return put_error(r);
    if (type.ptr && !mcp_str_eq(type, MCP_STR("complete")))
        return mcp_reply_tool_error(r->req, "It asks for input, which a tool cannot pass on: read "
                                            "it as a resource.");
    return put_contents(r);
}

/* Asks again if the answer is no use for this tool. Returns MCP_ENOTFOUND if it is. */
static int ask_again(reading *r)
{
    int rc;
    if (r->ask.rc == MCP_OK && is_no_text(r))
        return (rc = set_lines(r)) == MCP_OK ? ask(r, AT_LINES) : rc;
    if (r->ask.rc != MCP_OK || r->step > AT_WHOLE)
        return MCP_ENOTFOUND;
    if (r->as_text && r->ask.error)
        return (rc = set_text(r, false)) == MCP_OK ? ask(r, r->step) : rc;
    if (r->step == AT_RESOURCE && knows_no_lines(r))
        return (rc = set_asked(r, false)) == MCP_OK ? ask(r, AT_WHOLE) : rc;
    if (r->step == AT_RESOURCE && is_huge(r))
        return (rc = set_bytes(r)) == MCP_OK ? ask(r, AT_BYTES) : rc;
    if (!r->as_text && is_large_json(r))
        return (rc = set_text(r, true)) == MCP_OK ? ask(r, r->step) : rc;
    return MCP_ENOTFOUND;
}

/* Replies that a path is in several sources. */
static int reply_both(const reading *r)
{
    mcp_str a = r->names.items[r->found[0]].uri, b = r->names.items[r->found[1]].uri;
    return mcp_reply_tool_error(r->req, "%.*s is in %zu sources. Read one by its URI: %.*s or %.*s",
                                r->given.len < 500 ? (int)r->given.len : 500, r->given.ptr,
                                r->n_found, (int)a.len, a.ptr, (int)b.len, b.ptr);
}

static int ask_name(reading *r)
{
    r->uri = r->names.items[r->name].uri;
    int rc = set_asked(r, false);
    return rc == MCP_OK ? ask(r, AT_NAME) : rc;
}

/* Reads the one that was meant; if there is none, the first, so that similar ones are looked for. */
static int ask_meant(reading *r)
{
    size_t meant = r->n_found ? r->found[0] : 0;
    r->uri = r->names.items[meant].uri;
    r->line = has_number(r, "line") ? 0 : r->names.items[meant].line;
    int rc = set_asked(r, true);
    return rc == MCP_OK ? ask(r, AT_RESOURCE) : rc;
}

/* A file that is too large to be read at once exists, too. */
static bool exists(const reading *r)
{
    return r->ask.result || mcp_json_get(mcp_json_get(r->ask.error, "data"), "limit");
}

/* Takes the answer about one URI that the name may mean. Files go before what else has the path, and
 * a name goes before the same name without its line. Returns MCP_EEXIST if there are several. */
static int take_name(reading *r)
{
    const bridge_names *n = &r->names;
    if (r->ask.rc != MCP_OK)
        return r->ask.rc;
    if (exists(r)) {
        if (r->n_found < 2)
            r->found[r->n_found] = r->name;
        r->n_found++;
    }
    size_t first = r->found[0], next = ++r->name;
    if (next < n->n && (!r->n_found || (n->items[next].file == n->items[first].file &&
                                        (n->items[next].line != 0) == (n->items[first].line != 0))))
        return ask_name(r);
    return r->n_found > 1 ? MCP_EEXIST : ask_meant(r);
}

/* Continues after an answer. */
static int advance(reading *r)
{
    int rc = MCP_OK;
    while (rc == MCP_OK && r->step == AT_NAME)
        rc = take_name(r);
    if (rc != MCP_OK) {
        if (rc == MCP_EEXIST)
            rc = reply_both(r);
        if (rc != MCP_PENDING)
            common_ask_clear(&r->ask);
        return rc;
    }
    do
        rc = ask_again(r);
    while (rc == MCP_OK);
    if (rc != MCP_ENOTFOUND)
        return rc;
    if (r->step < AT_FOLDER && !is_not_found(r)) {
        rc = reply(r);
    } else {
        do
            rc = r->ask.rc == MCP_OK ? find_similar(r) : r->ask.rc;
        while (rc == MCP_OK);
        if (rc == MCP_PENDING)
            return rc;
        if (rc == MCP_ENOTFOUND)
            rc = reply_not_found(r);
    }
    common_ask_clear(&r->ask);
    return rc;
}

static void later(void *user)
{
    reading *r = user;
    mcp_request *req = r->req;
    int rc = advance(r);
    if (rc != MCP_PENDING)
        mcp_reply_finish(req, rc);
}

int bridge_call_read(mcp_request *req, const mcp_json *arguments, void *user)
{
    mcp_str uri = mcp_json_string(mcp_json_get(arguments, "uri"));
    reading *r = mcp_request_alloc(req, sizeof(*r));
    if (!r)
        return MCP_ENOMEM;
    *r = (reading){.all = user,
                   .req = req,
                   .arguments = arguments,
                   .most = bridge_most_bytes(user, arguments),
                   .given = uri,
                   .uri = uri};
    if (memchr(uri.ptr, 0, uri.len))
        return mcp_reply_tool_error(
            req, "uri contains NUL, which is not allowed in a URI: encode it as %%00.");
    int rc = bridge_names_of(r->all, req, uri, &r->names);
    if (rc == MCP_OK && r->names.n)
        r->uri = r->names.items[0].uri;
    if (rc == MCP_OK)
        rc = set_asked(r, true);
    if (rc == MCP_OK)
        rc = r->names.n > 1 ? ask_name(r) : ask(r, AT_RESOURCE);
    return rc == MCP_OK ? advance(r) : rc;
}
