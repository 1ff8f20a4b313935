/* put.c: functions that write the parts of JSON answers. */
#define _GNU_SOURCE
#include "provider.h"

#include <stdio.h>
#include <time.h>

#include "text.h"

enum { SHORT = 1000, SMALL = 2 * REPO_PATH_MAX };

/* Writes Latin-1 as UTF-8. `room` has two bytes for each byte of the text. */
static void put_latin1(mcp_json_writer *w, mcp_str text, char *room)
{
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c < 0x80) {
            room[len++] = (char)c;
        } else {
            room[len++] = (char)(0xc0 | c >> 6);
            room[len++] = (char)(0x80 | (c & 0x3f));
        }
    }
    mcp_json_add_str(w, (mcp_str){room, len});
}

void repo_put_text(mcp_json_writer *w, mcp_str text)
{
    char small[SMALL];
    if (common_text_utf8(text))
        mcp_json_add_str(w, text);
    else
        put_latin1(w, (mcp_str){text.ptr, text.len < SMALL / 2 ? text.len : SMALL / 2}, small);
}

void repo_put_long_text(mcp_json_writer *w, const repo *r, mcp_str text)
{
    char *room;
    if (text.len <= SMALL / 2 || common_text_utf8(text)) {
        repo_put_text(w, text);
    } else if ((room = common_alloc(&r->base.alloc, 2 * text.len))) {
        put_latin1(w, text, room);
        common_release(&r->base.alloc, room);
    } else {
        mcp_json_add_null(w);
    }
}

/* Truncates names and subjects. The limit is longer than any real one, but a page may contain a
 * thousand of them. */
static mcp_str shortened(mcp_str text)
{
    if (text.len <= SHORT)
        return text;
    text.len = SHORT;
    while (text.len && ((unsigned char)text.ptr[text.len] & 0xc0) == 0x80)
        text.len--;
    return text;
}

void repo_put_id(mcp_json_writer *w, const git_oid *id)
{
    char hex[GIT_OID_HEXSZ + 1];
    git_oid_fmt(hex, id);
    mcp_json_add_str(w, (mcp_str){hex, GIT_OID_HEXSZ});
}

typedef struct spelled {
    char small[2048];
    char *text;
    mcp_str uri;
} spelled;

/* Builds the URI of a target. Returns false if memory is exhausted. */
static bool spell(const repo *r, const repo_target *t, spelled *ret)
{
    size_t prefix = strlen(r->base.prefix), room = prefix + repo_uri_room(t) + 1;
    ret->text = room <= sizeof(ret->small) ? ret->small : common_alloc(&r->base.alloc, room);
    if (!ret->text)
        return false;
    memcpy(ret->text, r->base.prefix, prefix);
    ret->uri = (mcp_str){ret->text, prefix + repo_uri_put(ret->text + prefix, t)};
    return true;
}

static void spelled_free(const repo *r, spelled *s)
{
    if (s->text != s->small)
        common_release(&r->base.alloc, s->text);
}

void repo_put_uri(mcp_json_writer *w, const repo *r, const repo_target *t)
{
    spelled s;
    if (!spell(r, t, &s)) {
        mcp_json_add_null(w);
        return;
    }
    mcp_json_add_str(w, s.uri);
    spelled_free(r, &s);
}

bool repo_job_may(repo_job *j, const repo_target *t)
{
    spelled s;
    if (!j->asking.needed)
        return true;
    if (!spell(j->r, t, &s)) {
        j->asking.rc = MCP_ENOMEM;
        return false;
    }
    bool may = common_asking_may(&j->asking, s.uri);
    spelled_free(j->r, &s);
    return may;
}

bool repo_job_may_commit(repo_job *j, const git_oid *id)
{
    char hex[GIT_OID_HEXSZ + 1];
    git_oid_tostr(hex, sizeof(hex), id);
    return repo_job_may(j, &(repo_target){.kind = REPO_KIND_COMMIT,
                                          .rev = {hex, GIT_OID_HEXSZ},
                                          .other = {"", 0},
                                          .path = {"", 0}});
}

void repo_put_link(repo_job *j, const char *key, const repo_target *t)
{
    if (repo_job_may(j, t))
        mcp_json_key(j->json, key), repo_put_uri(j->json, j->r, t);
}

/* Writes a time in the author's time zone. */
static void put_time(mcp_json_writer *w, int64_t seconds, int offset)
{
    char text[64];
    struct tm tm;
    time_t shifted = (time_t)(seconds + (int64_t)offset * 60);
    int minutes = offset < 0 ? -offset : offset;
    if (!gmtime_r(&shifted, &tm) || tm.tm_year > 9999 - 1900) { /* ISO 8601 has four digits */
        mcp_json_add_null(w);
        return;
    }
    size_t len = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
    if (offset == 0)
        snprintf(text + len, sizeof(text) - len, "Z");
    else
        snprintf(text + len, sizeof(text) - len, "%c%02d:%02d", offset < 0 ? '-' : '+',
                 minutes / 60 % 100, minutes % 60);
    mcp_json_add_string(w, text);
}

void repo_put_person(mcp_json_writer *w, const repo_person *p)
{
    mcp_json_begin_object(w);
    mcp_json_key(w, "name"), repo_put_text(w, shortened(p->name));
    mcp_json_key(w, "email"), repo_put_text(w, shortened(p->email));
    mcp_json_key(w, "time"), put_time(w, p->time, p->offset);
    mcp_json_end(w);
}

/* Removes a line and gives it without white space at its end. */
static mcp_str take_line(mcp_str *rest)
{
    const char *end = memchr(rest->ptr, '\n', rest->len);
    mcp_str line = {rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len};
    size_t used = line.len + (end != NULL);
    *rest = (mcp_str){rest->ptr + used, rest->len - used};
    while (line.len && strchr(" \t\r", line.ptr[line.len - 1]))
        line.len--;
    return line;
}

void repo_put_subject(mcp_json_writer *w, mcp_str message)
{
    char text[SHORT + 1];
    size_t len = 0;
    mcp_str line = {"", 0}, rest = {message.ptr, strnlen(message.ptr, message.len)};
    while (rest.len && !line.len)
        line = take_line(&rest);
    while (line.len && len < sizeof(text)) {
        size_t room = sizeof(text) - len, n = line.len < room ? line.len : room;
        memcpy(text + len, line.ptr, n);
        len += n;
        line = rest.len ? take_line(&rest) : (mcp_str){"", 0};
        if (line.len && len < sizeof(text))
            text[len++] = ' ';
    }
    repo_put_text(w, shortened((mcp_str){text, len}));
}

void repo_put_encoding(mcp_json_writer *w, const repo_commit *c)
{
    if (c->encoding.len)
        mcp_json_key(w, "encoding"), repo_put_text(w, shortened(c->encoding));
}

/* Returns the MIME type by the file name's suffix, only for types that are common
 * in source code. */
const char *repo_mime(mcp_str path)
{
    static const char *const types[][2] = {
        {".c", "text/x-csrc"},         {".h", "text/x-chdr"},
        {".cpp", "text/x-c++src"},     {".css", "text/css"},
        {".csv", "text/csv"},          {".gif", "image/gif"},
        {".go", "text/x-go"},          {".htm", "text/html"},
        {".html", "text/html"},        {".ico", "image/x-icon"},
        {".java", "text/x-java"},      {".jpeg", "image/jpeg"},
        {".jpg", "image/jpeg"},        {".js", "text/javascript"},
        {".json", "application/json"}, {".md", "text/markdown"},
        {".pdf", "application/pdf"},   {".png", "image/png"},
        {".py", "text/x-python"},      {".rb", "application/x-ruby"},
        {".rs", "text/x-rust"},        {".sh", "application/x-shellscript"},
        {".sql", "application/sql"},   {".svg", "image/svg+xml"},
        {".toml", "application/toml"}, {".ts", "text/x-typescript"},
        {".txt", "text/plain"},        {".wasm", "application/wasm"},
        {".webp", "image/webp"},       {".xml", "application/xml"},
        {".yaml", "application/yaml"}, {".yml", "application/yaml"},
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        size_t len = strlen(types[i][0]);
        if (path.len > len && memcmp(path.ptr + path.len - len, types[i][0], len) == 0)
            return types[i][1];
    }
    return NULL;
}
